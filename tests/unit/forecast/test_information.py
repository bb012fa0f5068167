"""The information limit: mechanisms tell no more than it says, one tells as much, and it is well spent."""

import numpy as np
import pytest

from copriv.forecast import information
from copriv.forecast.information import binding, information_limit, of_gaussian_promise, of_pure_promise

RECORDS = 20


def told(noise, spread):
    """Fisher information about the mean of 20 records of ±1, by the density of their sum with noise, at mean 0."""
    places = np.linspace(-RECORDS - 30 * spread, RECORDS + 30 * spread, 60_001)
    width = places[1] - places[0]
    heads = np.arange(RECORDS + 1)
    chances = np.ones(1)
    for _ in range(RECORDS):
        chances = np.convolve(chances, [0.5, 0.5])
    sums = 2.0 * heads - RECORDS
    shifted = np.stack([noise(places - value) for value in sums])
    density = chances @ shifted
    # The score of 20 records at mean 0 is their sum.
    slope = (chances * sums) @ shifted
    return float(np.sum(slope**2 / np.maximum(density, 1e-300)) * width)


def laplace(epsilon):
    """Replacing a record moves the sum by 2."""
    scale = 2 / epsilon
    return told(lambda x: np.exp(-np.abs(x) / scale) / (2 * scale), scale)


def gaussian(rho):
    std = 2 / np.sqrt(2 * rho)
    return told(lambda x: np.exp(-(x**2) / (2 * std**2)) / (std * np.sqrt(2 * np.pi)), std)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 2.0])
def test_laplace_answers_tell_no_more_than_the_limit_allows(epsilon):
    assert laplace(epsilon) <= RECORDS**2 * of_pure_promise(epsilon)


def test_with_little_epsilon_they_tell_as_much_so_that_no_lower_limit_would_hold(mistaken):
    assert laplace(0.005) > 0.97 * RECORDS**2 * of_pure_promise(0.005)
    twin = mistaken(information, "min(epsilon, _LARGE) / 2)", "min(epsilon, _LARGE) / 2.1)")
    assert laplace(0.005) > RECORDS**2 * twin.of_pure_promise(0.005)


@pytest.mark.parametrize("rho", [1e-5, 1e-3, 0.1, 1.0])
def test_gaussian_answers_tell_no_more_than_the_limit_allows(rho):
    assert gaussian(rho) <= RECORDS**2 * of_gaussian_promise(rho)


def test_equal_directions_give_the_formula():
    records, epsilons, p, public = [100, 5000, 20_000], [0.05, 0.01, 1.0], 7, 300
    promised = [of_pure_promise(epsilon) for epsilon in epsilons]
    summed = sum(min(p * n, n**2 * np.sinh(e / 2) ** 2) for n, e in zip(records, epsilons, strict=True))
    found = information_limit(np.full(p, 2.0), public, records, promised)
    assert found == pytest.approx(p**2 / (p * public + summed), rel=1e-9)
    assert binding(p, records, promised) == 2


def test_without_a_promise_that_binds_it_is_what_all_records_together_reach():
    weights = np.array([0.5, 1.0, 4.0])
    assert information_limit(weights, 100, [400, 500], [1e300, 1.0]) == pytest.approx(weights.sum() / 2 / 1000)


def test_no_other_way_to_spend_what_may_be_told_costs_less():
    generator = np.random.default_rng(0)
    weights, public, records, promised = np.array([0.0, 0.1, 1.0, 5.0, 30.0]), 50, [100, 200], [0.01, 0.004]
    may_tell = sum(n**2 * most for n, most in zip(records, promised, strict=True))
    best = information_limit(weights, public, records, promised)
    spent = may_tell * generator.dirichlet(np.ones(5), size=2000)
    others = np.sum(weights / (public + spent[np.all(spent <= 300, axis=1)]), axis=1) / 2
    assert best <= float(np.min(others)) < 1.1 * best
