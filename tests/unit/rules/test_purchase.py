"""What is bought next: the rest where nothing differs, second moments where the Hessian does."""

from dataclasses import replace

import numpy as np
import pytest

from copriv.rules import purchase
from copriv.rules.adaptive_newton import SHARES
from copriv.rules.purchase import Asked, Budget, Outlook, Purchase, choose, choose_look, gain_of_finer

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
    )
    return replace(ours, **changes)


def asked(level=0.0, moved=0.0, owners=10):
    """All owners were asked for so much at a place so far from the model; by default nobody anywhere."""
    return Asked(np.full(owners, level), np.full(P, moved))


def bought(view, money, where=None):
    return choose(view, money, where or asked(owners=money.left.size))


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("noise", [1e-1, 1.0, 10.0])
def test_without_a_shift_the_rest_is_bought_at_once(noise, power):
    best = bought(outlook(), budget(noise, noise, power=power))
    assert best == REST or (best.kind == "gradient" and best.share == 100)


@pytest.mark.parametrize("power", [1, 2])
def test_with_another_hessian_and_little_noise_second_moments_are_bought(power):
    best = bought(outlook(alpha=0.1, beta=3.0), budget(power=power))
    assert best.kind == "second_moments"
    assert best.share in SHARES
    assert 0 < best.owners <= 10


def test_second_moments_that_are_not_on_sale_are_not_bought():
    closed = budget(second_moments=np.zeros(10))
    best = bought(outlook(alpha=0.1, beta=3.0), closed)
    assert best.kind == "gradient"
    assert best != REST
    assert bought(outlook(alpha=0.1, beta=3.0), budget(squares=1e3)).kind == "gradient"


@pytest.mark.parametrize("power", [1, 2])
def test_second_moments_never_take_more_than_a_fifth_of_all_budgets(power):
    for beta in (0.3, 3.0, 30.0):
        best = bought(outlook(alpha=0.1, beta=beta), budget(power=power))
        assert best.kind != "second_moments" or best.share * best.owners <= 20 * 10


@pytest.mark.parametrize(("shares", "most"), [(SHARES, 20), ((30, 90), 30), ((7, 11, 90), 7)])
def test_a_look_is_little_of_everybody(shares, most):
    for alpha, beta in ((0.0, 0.0), (0.1, 1.0)):
        best = choose_look(outlook(alpha, beta), budget(shares=shares))
        assert (best.kind, best.owners) == ("gradient", 10)
        assert best.share <= most
        assert best.share in shares


@pytest.mark.parametrize("level", [10.0, 40.0])
def test_answers_are_made_finer_where_owners_were_if_the_model_is_near_and_not_if_it_is_far(level):
    """Under pure ε; otherwise precision adds up wherever it is bought, and the model is the better place."""
    left = budget(noise=0.03, left=np.full(10, 100 - level))
    view = outlook(beta=0.1)
    assert gain_of_finer(view, left, asked(level, moved=1e-6)) > 0
    assert gain_of_finer(view, left, asked(level, moved=1.0)) < 0
    assert gain_of_finer(view, replace(left, power=1), asked(level, moved=1e-6)) < 0


def test_a_look_costs_nothing_if_its_answers_are_made_finer():
    """The rest after a look tells as much, but for the look, as everything at once: no budget is split."""
    view, whole = outlook(alpha=0.1), budget(noise=0.1)
    at_once, _ = purchase._ends(purchase._begin(view, whole, asked()), view, whole)
    left = budget(noise=0.1, left=np.full(10, 80.0))
    fresh, finer = purchase._ends(purchase._begin(view, left, asked(20.0)), view, left)
    assert finer[0] == pytest.approx(at_once[0], abs=0.05)
    assert fresh[0] > finer[0] + 0.1


def test_nothing_left_is_nothing_to_buy():
    spent = budget(left=np.zeros(10))
    assert bought(outlook(alpha=0.1, beta=3.0), spent) == Purchase("gradient", 0, 0)


def test_with_one_question_to_go_it_is_for_the_rest():
    assert bought(outlook(alpha=0.1, beta=3.0), budget(purchases=1)) == REST


def test_only_owners_with_something_left_are_counted():
    some = budget(left=np.array([0.0] * 4 + [50.0] * 6))
    assert bought(outlook(), replace(some, purchases=1)) == Purchase("gradient", 0, 6)


def expected_cost(plan, view, money):
    """The logarithm of what is left after some purchases and then the rest."""
    stage = purchase._begin(view, money, asked(owners=money.left.size))
    for each in plan:
        stage = purchase._after(each, stage, view, money)
    return min(float(view.chances @ cost) for cost in purchase._ends(stage, view, money))


@pytest.mark.parametrize("power", [1, 2])
def test_costs_fall_with_the_budget(power):
    view, plan = outlook(alpha=0.1, beta=1.0), [Purchase("second_moments", 20, 10)]
    costs = [expected_cost(plan, view, budget(noise, noise, power=power)) for noise in (1e-1, 1e-2, 1e-3, 1e-4)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1] + 1


def test_splitting_a_pure_budget_costs_quadratically_and_a_gaussian_one_nothing():
    """Half of ε twice has half the precision of ε once; half of ρ twice has all of it."""
    start = purchase._begin(outlook(alpha=1.0), budget(), asked())
    half = Purchase("gradient", 50, 10)
    pure, gaussian = (purchase._after(half, start, outlook(), budget(power=power)).precision for power in (2, 1))
    assert pure == pytest.approx(0.25 * start.precision)
    assert gaussian == pytest.approx(0.5 * start.precision)


def test_what_is_chosen_costs_no_more_than_the_rest_at_once():
    for alpha, beta, noise in [(0.1, 1.0, 1e-3), (1.0, 0.1, 1e-2), (0.01, 10.0, 1e-2), (3.0, 30.0, 1e-1)]:
        view, money = outlook(alpha, beta), budget(noise, noise)
        best = bought(view, money)
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
    assert bought(doubled, budget()) == bought(both, budget())


def test_the_few_that_are_asked_stand_for_all_only_up_to_their_difference():
    assert purchase._apart(budget(among=0.5), 10) == 0
    assert purchase._apart(budget(among=0.5), 2) == pytest.approx(0.5 * (1 / 2 - 1 / 10))
