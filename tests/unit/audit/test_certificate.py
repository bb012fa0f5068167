"""Certificates hold as often as they say, and are not empty. Seeded: these tests do not flake."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from copriv.audit.certificate import Evidence, lowest

RUNS = 400


def _evidence(generator, first, second, draws=2000, delta=0.0, events=1):
    """Answers of two tables, in which independent events happen with these probabilities."""
    shape = (draws // 2, events)
    return Evidence(generator.random(shape) < first, generator.random(shape) < second, delta)


@pytest.mark.parametrize("events", [1, 10])
@pytest.mark.parametrize(("first", "second"), [(0.1, 0.2), (0.02, 0.02), (0.5, 0.25), (0.004, 0.02)])
def test_a_certificate_exceeds_the_truth_in_at_most_one_of_twenty_runs(generator, first, second, events):
    truth = abs(np.log(second / first))
    found = np.array([_evidence(generator, first, second, events=events).epsilon() for _ in range(RUNS)])
    assert np.mean(found > truth) <= 0.05


@pytest.mark.parametrize(("first", "second"), [(0.1, 0.2), (0.5, 0.25), (0.004, 0.02)])
def test_with_many_draws_it_comes_close_to_the_truth(generator, first, second):
    found = _evidence(generator, first, second, draws=200_000, events=10).epsilon()
    assert found == pytest.approx(abs(np.log(second / first)), abs=0.2)


@pytest.mark.parametrize("error", [0.05, 0.0025])
@pytest.mark.parametrize("draws", [20, 200])
def test_the_bound_of_a_ratio_errs_on_the_safe_side(draws, error):
    """Every outcome of both tables, for rates of all sizes: the bound is too large no more often than it says."""
    counts = np.arange(draws + 1.0)
    share = lowest(counts[:, None], counts[:, None] + counts, error)
    rates = (0.005, 0.05, 0.18, 0.5, 0.95, 1.0)
    chances = {rate: stats.binom.pmf(counts, draws, rate) for rate in rates}
    for likely, unlikely in product(rates, rates):
        wrong = share / (1 - share) > likely / unlikely * (1 + 1e-12)
        assert chances[likely] @ wrong @ chances[unlikely] <= error


def test_a_ratio_without_bounds_would_exceed_it_often(generator):
    """The broken twin: estimates in the place of bounds."""
    counts = [_evidence(generator, 0.1, 0.2) for _ in range(RUNS)]
    naive = np.array([np.log(seen.second.mean() / seen.first.mean()) for seen in counts])
    assert np.mean(naive > np.log(2)) > 0.3


def test_delta_is_subtracted(generator):
    """What happens with probability δ under one table and never under the other is allowed."""
    seen = _evidence(generator, 0.0, 0.05, draws=20_000)
    assert seen.epsilon() > 3
    assert Evidence(seen.first, seen.second, delta=0.06).epsilon() == 0
    assert 0 < Evidence(seen.first, seen.second, delta=0.02).epsilon() < seen.epsilon()


def test_as_gaussian_finds_mu(generator):
    thresholds = np.array([0.0, 0.5, 1.0, 2.0])
    first = generator.normal(size=(20_000, 1)) >= thresholds
    second = generator.normal(loc=0.5, size=(20_000, 1)) >= thresholds
    seen = Evidence(first, second, delta=1e-6)
    assert seen.epsilon() < 1.5 < seen.epsilon_if_gaussian() < 2.31


def test_what_never_or_always_happens_certifies_nothing():
    never, always = np.zeros((50, 2), dtype=bool), np.ones((50, 2), dtype=bool)
    for same in (never, always):
        seen = Evidence(same, same, delta=1e-6)
        assert seen.epsilon() == seen.epsilon_if_gaussian() == seen.betrayed() == 0
    seen = Evidence(never, always, delta=0.0)
    assert seen.epsilon() > 2
    assert seen.betrayed() > 0.8
