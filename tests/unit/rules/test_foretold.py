"""What every number of an answer should have been: against regressions on all the others, one by one."""

import numpy as np
import pytest
from tests.shifted import CLIP, OBJECTIVE, P, population

from copriv.rules.difference import ALPHAS, BETAS, Observation, infer
from copriv.rules.foretold import foretold
from copriv.rules.geometry import PublicGeometry
from copriv.vectors import Norm

PLACES = (np.zeros(P), np.array([0.3, -0.2, 0.1, 0.4]))
NOISE = np.array([[0.02, 0.03, 0.01, 0.05], [0.1, 0.02, 0.03, 0.04]])


@pytest.fixture(scope="module")
def geometry():
    return PublicGeometry.of(population(1500, 0), OBJECTIVE, CLIP, Norm.L1)


@pytest.fixture(scope="module")
def found(geometry):
    generator = np.random.default_rng(2)
    seen = [
        Observation(place, generator.normal(size=P), geometry.whiten.T @ np.diag(noise) @ geometry.whiten, np.zeros(3))
        for place, noise in zip(PLACES, NOISE, strict=True)
    ]
    only = np.full((ALPHAS.size, BETAS.size), -np.inf)
    only[8, 9] = 0.0
    return infer(geometry, 20_000.0, seen, None, only)


def _left_out(found, geometry, index):
    """The mean and variance of one number, noise aside, by regression on the others as owners send them."""
    whole = np.kron(np.eye(len(PLACES)), geometry.unwhiten.T)
    covariance = whole @ found.scales[9].covariance[8] @ whole.T
    told = whole @ np.concatenate([one.deviation for one in found.observations])
    others = np.delete(np.arange(told.size), index)
    weights = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, index])
    return weights @ told[others], covariance[index, index] - weights @ covariance[others, index] - NOISE.ravel()[index]


@pytest.mark.parametrize("index", range(2 * P))
def test_each_number_is_foretold_by_all_others(found, geometry, index):
    told = foretold(found, geometry, NOISE)
    mean, variance = _left_out(found, geometry, index)
    assert told.means.ravel()[index] == pytest.approx(mean, rel=1e-6)
    assert told.variances.ravel()[index] == pytest.approx(variance, rel=1e-6)


def test_a_number_does_not_foretell_itself(found, geometry):
    """The twin is the posterior with the number among the others: it moves with it."""
    changed = list(found.observations)
    moved = geometry.whiten.T @ (np.eye(P)[2] * 5.0)
    changed[0] = Observation(changed[0].place, changed[0].deviation + moved, changed[0].noise, changed[0].aside)
    again = infer(geometry, 20_000.0, changed, None, np.zeros_like(found.chances), found.chances)
    before, after = (foretold(each, geometry, NOISE).means for each in (found, again))
    assert after[0, 2] == pytest.approx(before[0, 2], abs=1e-8)
    assert np.max(np.abs(after - before)) > 0.1
