"""The Poisson and Gamma losses: their formulas, and fits that equal those of statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm

from copriv.losses import gamma, poisson
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise, minimise_freely
from copriv.losses.passes import average_gradient, record_values
from copriv.losses.sample import Sample

RIDGE = 1e-12
FAMILIES = {"poisson": sm.families.Poisson(), "gamma": sm.families.Gamma(sm.families.links.Log())}


def made(name, records=2_000, seed=0, offsets=True):
    """Records whose targets follow the law of the loss, in units of the largest one."""
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(records, 4)) / 3
    rows[:, -1] = 0.5
    exposure = chance.uniform(0.2, 3.0, size=records) if offsets else np.ones(records)
    means = exposure * np.exp(rows @ np.array([0.8, -0.5, 0.3, 1.0]))
    drawn = chance.poisson(means) if name == "poisson" else means * chance.gamma(2.0, 0.5, size=records)
    scale = float(drawn.max())
    return Sample.of_rows(rows, drawn / scale, np.log(exposure / scale)), scale


@pytest.mark.parametrize("offsets", [True, False])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_fit_without_noise_equals_statsmodels(name, offsets):
    sample, _ = made(name, offsets=offsets)
    found = minimise_freely(choose(name), RIDGE, sample)
    model = sm.GLM(sample.targets, sample.columns.T, family=FAMILIES[name], offset=sample.offsets)
    assert np.max(np.abs(found - model.fit(tol=1e-12, maxiter=200).params)) < 1e-6


@pytest.mark.parametrize("name", FAMILIES)
def test_a_fit_that_forgets_offsets_does_not(name):
    sample, _ = made(name)
    forgetful = minimise_freely(choose(name), RIDGE, Sample(sample.columns, sample.targets))
    model = sm.GLM(sample.targets, sample.columns.T, family=FAMILIES[name], offset=sample.offsets)
    assert np.max(np.abs(forgetful - model.fit().params)) > 0.1


@pytest.mark.parametrize("name", FAMILIES)
def test_the_value_is_half_the_deviance(name):
    sample, _ = made(name, records=200)
    theta = np.array([0.5, 0.1, -0.2, 1.5])
    means = np.exp(sample.margins(theta))
    unit = FAMILIES[name]._resid_dev(sample.targets, means)
    assert np.allclose(record_values(choose(name), sample, theta), unit / 2, atol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_offsets_shift_what_a_constant_would(name):
    """A constant offset is an intercept."""
    sample, _ = made(name)
    plain = Sample(sample.columns, sample.targets)
    shifted = Sample(sample.columns, sample.targets, offsets=np.full(sample.records, 0.7))
    theta = np.array([0.2, -0.1, 0.3, -1.0])
    moved = theta + np.array([0.0, 0.0, 0.0, 1.4])
    assert np.allclose(average_gradient(choose(name), shifted, theta), average_gradient(choose(name), plain, moved))


def test_beyond_the_steepest_place_both_go_on_as_parabolas():
    top = poisson.STEEPEST
    for beyond in (0.5, 3.0, 50.0):
        assert poisson.curvature(top + beyond) == pytest.approx(np.exp(top))
        assert poisson.slope(top + beyond, 0.25) == pytest.approx(np.exp(top) * (1 + beyond) - 0.25)
        least = -gamma.STEEPEST - beyond
        assert gamma.curvature(least, 1.0) == pytest.approx(np.exp(gamma.STEEPEST))
        assert gamma.slope(least, 1.0) == pytest.approx(1 - np.exp(gamma.STEEPEST) * (1 + beyond))


def test_targets_that_are_none_count_as_the_nearest_that_is_one():
    assert poisson.value(0.3, -1.0) == poisson.value(0.3, 0.0) == pytest.approx(np.exp(0.3))
    assert gamma.value(0.3, -1.0) == gamma.value(0.3, gamma.SMALLEST)


@pytest.mark.parametrize("name", FAMILIES)
def test_in_a_box_the_fit_is_the_best_one_within(name):
    sample, _ = made(name)
    objective = Objective(choose(name), 1e-6, 0.4)
    theta = minimise(objective, sample)
    assert np.max(np.abs(theta)) == pytest.approx(0.4)
    chance = np.random.default_rng(1)
    others = [objective.project(theta + 0.05 * chance.normal(size=4)) for _ in range(20)]
    assert all(objective.fitness(sample, other) >= objective.fitness(sample, theta) - 1e-12 for other in others)
