"""What is bought next: the rest where nothing differs, second moments where the Hessian does."""

from dataclasses import replace

import numpy as np
import pytest

from copriv.rules import purchase
from copriv.rules.adaptive_newton import SHARES
from copriv.rules.purchase import Budget, Outlook, Purchase, choose, gain

P = 3
REST = Purchase("gradient", 0, 10)


def outlook(alpha=0.0, beta=0.0):
    """One scale: gradients of square α (and a little), entries of the Hessian of variance β (and a little)."""
    return Outlook(
        chances=np.ones(1),
        gradient=np.full((1, P), alpha + 1e-4),
        openness=np.full((1, P, P), beta + 1e-4),
        hessian=np.ones(P),
        values=np.ones(P),
        lift=np.ones((P, P)),
        spread=np.ones(P),
        unevenness=np.ones((P, P)),
    )


def budget(noise=1e-3, squares=1e-3, owners=10, **changes):
    ours = Budget(
        left=np.full(owners, 100.0),
        gradient=np.full(owners, 1 / noise**2),
        second_moments=np.full(owners, 1 / squares**2),
        power=2,
        among=1e-7,
        shares=SHARES,
        fewest=2,
        purchases=6,
        alike=True,
        must_look=False,
    )
    return replace(ours, **changes)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("noise", [1e-1, 1.0, 10.0])
def test_without_a_shift_the_rest_is_bought_at_once(noise, power):
    assert choose(outlook(), budget(noise, noise, power=power)) == REST


@pytest.mark.parametrize("power", [1, 2])
def test_with_another_hessian_and_little_noise_second_moments_are_bought(power):
    bought = choose(outlook(alpha=0.1, beta=3.0), budget(power=power))
    assert bought.kind == "second_moments"
    assert bought.share in SHARES
    assert 0 < bought.owners <= 10


def test_second_moments_that_are_not_on_sale_are_not_bought():
    closed = budget(second_moments=np.zeros(10))
    bought = choose(outlook(alpha=0.1, beta=3.0), closed)
    assert bought.kind == "gradient"
    assert bought != REST
    assert choose(outlook(alpha=0.1, beta=3.0), budget(squares=1e3)).kind == "gradient"


def test_what_must_be_looked_at_is_looked_at_even_if_it_does_not_pay():
    looked = choose(outlook(), budget(must_look=True))
    assert looked != REST
    assert looked.kind == "second_moments" or looked.share <= 40


def test_nothing_left_is_nothing_to_buy():
    spent = budget(left=np.zeros(10))
    assert choose(outlook(alpha=0.1, beta=3.0), spent) == Purchase("gradient", 0, 0)


def test_with_one_question_to_go_it_is_for_the_rest():
    assert choose(outlook(alpha=0.1, beta=3.0), budget(purchases=1)) == REST


def test_only_owners_with_something_left_are_counted():
    some = budget(left=np.array([0.0] * 4 + [50.0] * 6))
    assert choose(outlook(), replace(some, purchases=1)) == Purchase("gradient", 0, 6)


def expected_cost(plan, view, money):
    """The logarithm of what is left after some purchases and then the rest."""
    whole = float(np.sum(money.gradient * (money.left / 100) ** money.power))
    stage = purchase._Stage(view.gradient, view.openness, whole, float(np.sum(money.left > 0)))
    for each in plan:
        stage = purchase._after(each, stage, view, money)
    return float(view.chances @ purchase._log_cost(purchase._finish(stage, view, money), view))


@pytest.mark.parametrize("power", [1, 2])
def test_costs_fall_with_the_budget(power):
    view, plan = outlook(alpha=0.1, beta=1.0), [Purchase("second_moments", 20, 10)]
    costs = [expected_cost(plan, view, budget(noise, noise, power=power)) for noise in (1e-1, 1e-2, 1e-3, 1e-4)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1] + 1


def test_splitting_a_pure_budget_costs_quadratically_and_a_gaussian_one_nothing():
    """Half of ε twice has half the precision of ε once; half of ρ twice has all of it."""
    start = purchase._Stage(np.ones((1, P)), np.zeros((1, P, P)), 10 / 1e-6, 10.0)
    half = Purchase("gradient", 50, 10)
    pure, gaussian = (purchase._after(half, start, outlook(), budget(power=power)).precision for power in (2, 1))
    assert pure == pytest.approx(0.25 * start.precision)
    assert gaussian == pytest.approx(0.5 * start.precision)


def test_what_is_chosen_costs_no_more_than_the_rest_at_once():
    for alpha, beta, noise in [(0.1, 1.0, 1e-3), (1.0, 0.1, 1e-2), (0.01, 10.0, 1e-2), (3.0, 30.0, 1e-1)]:
        view, money = outlook(alpha, beta), budget(noise, noise)
        best = choose(view, money)
        if best != REST:
            assert expected_cost([best], view, money) < expected_cost([], view, money)


def test_unlikely_scales_do_not_count():
    both = outlook(alpha=0.1, beta=3.0)
    doubled = replace(
        both,
        chances=np.array([1 - 1e-6, 1e-6]),
        gradient=np.vstack([both.gradient, np.full((1, P), np.nan)]),
        openness=np.concatenate([both.openness, both.openness]),
    )
    assert choose(doubled, budget()) == choose(both, budget())


def test_a_purchase_is_worth_it_under_a_shift_and_not_without():
    little = Purchase("gradient", 10, 10)
    assert gain(little, outlook(alpha=1.0, beta=0.3), budget()) > 0
    assert gain(little, outlook(), budget(noise=0.1)) < 0


def test_the_few_that_are_asked_stand_for_all_only_up_to_their_difference():
    assert purchase._apart(budget(among=0.5), 10) == 0
    assert purchase._apart(budget(among=0.5), 2) == pytest.approx(0.5 * (1 / 2 - 1 / 10))
