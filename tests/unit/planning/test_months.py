"""A lifetime ε over retrainings: nobody above it, and the last no worse than a one-off study."""

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.planning.months import combine, in_window, plan_months
from copriv.planning.scenario import Scenario
from copriv.privacy.accounting import allowed_rho


def laplace(scenario):
    """Noise of one answer for all of ε, on an average."""
    return float(np.mean([1e4 / (n * e) ** 2 for n, e in zip(scenario.records, scenario.epsilons, strict=True)]))


def gaussian(scenario):
    rho = [allowed_rho(each, "zcdp") / 1e9 for each in scenario.guarantees]
    return float(np.mean([1e2 / (n * n * r) for n, r in zip(scenario.records, rho, strict=True)]))


def public(records):
    return 1.0 + 10 / records


@pytest.mark.parametrize(("delta", "cost"), [(0.0, laplace), (1e-6, gaussian)])
def test_the_last_retraining_is_no_worse_than_a_one_off_study(delta, cost):
    who = Scenario([1000, 500], epsilon=1.0, delta=delta, accountant="zcdp")
    life = plan_months(cost, public, who, 24)
    assert life.window.ratio <= 1.5
    assert len(life.months) == 24
    assert life.months[-1].combined < life.months[-1].fresh < life.public
    assert [month.month for month in life.months] == list(range(1, 25))


@pytest.mark.parametrize("window", [1, 3, 7, 24])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_no_block_ever_loses_more_than_the_lifetime_epsilon(window, delta):
    who = Scenario([1000, 500], epsilon=[1.0, 0.3], delta=delta, accountant="zcdp")
    for one, lifetime in zip(in_window(who, window, 2).guarantees, who.guarantees, strict=True):
        if delta:
            assert window * allowed_rho(one, "zcdp") <= allowed_rho(lifetime, "zcdp")
        else:
            assert window * one.nano_epsilon <= lifetime.nano_epsilon
    life = plan_months(laplace, public, who, 24, window=window)
    read = dict.fromkeys(range(1, 25), 0)
    for month in life.months:
        for block in range(month.first, month.month + 1):
            read[block] += 1
        assert month.spent <= 1.0
    assert max(read.values()) == window


def test_windows_cost_what_theory_says():
    who = Scenario([1000], epsilon=1.0)
    ratios = {w: plan_months(laplace, public, who, 24, window=w).window.ratio for w in (1, 2, 4)}
    assert ratios == pytest.approx({1: 1, 2: 4, 4: 16})
    noisy = Scenario([1000], epsilon=1.0, delta=1e-6, accountant="zcdp")
    assert plan_months(gaussian, public, noisy, 24, window=4).window.ratio == pytest.approx(4, rel=1e-3)


def test_the_combination_is_as_good_as_it_says():
    chance, tau, v, months, times = np.random.default_rng(3), 1.0, 2.0, 6, 40_000
    start = chance.normal(0, np.sqrt(tau), times)
    answers = chance.normal(0, np.sqrt(v), (months, times))
    shrunk = start + (answers - start) * tau / (tau + v)
    mixed = combine([tau * v / (tau + v)] * months, tau)
    error = np.asarray(mixed.weights) @ shrunk
    assert np.mean(error**2) == pytest.approx(mixed.predicted, rel=0.03)
    assert min(mixed.weights) >= 0
    assert sum(mixed.weights) == pytest.approx(1)


def test_what_is_old_may_count_less():
    assert combine([0.1, 0.1], public=1e9, keep=0.5).weights == pytest.approx((1 / 3, 2 / 3))
    assert combine([0.1, 0.1], public=1e9, keep=0.0).weights == pytest.approx((0, 1))


@pytest.mark.parametrize(
    ("given", "words"),
    [((0, None, 1.0), "0 months"), ((5, 6, 1.0), "6 of 5 months"), ((5, None, 1.5), "1.5 of a model's weight")],
)
def test_numbers_that_make_no_sense_are_refused(given, words):
    with pytest.raises(BadInput, match=words):
        plan_months(laplace, public, Scenario([10]), *given)
