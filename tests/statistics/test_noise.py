"""Is the noise of the promised size? Accepts the true scale, rejects 0.7 and 1.3 times it.

The sum of |w|/b over m Laplace draws is Gamma(m, 1), that of (w/s)² over m Gaussian draws is χ²(m): exact two-sided
tests at level 1e-6, so the secure draws, which cannot be seeded, fail by chance once in a million runs of each test.
"""

import numpy as np
import pytest
from scipy import stats

from copriv.privacy.exact import PrivateVector, SimulatedVector
from copriv.privacy.gaussian import Gaussian
from copriv.privacy.laplace import Laplace

LEVEL = 1e-6
DRAWS, PARAMETERS = 400, 10
EXACT = np.linspace(-3.0, 5.0, PARAMETERS)


def _noise(mechanism, secure):
    generator = np.random.default_rng(7)
    draw = (
        (lambda: mechanism.release(PrivateVector(EXACT)))
        if secure
        else (lambda: mechanism.simulate_noise(SimulatedVector(EXACT), generator))
    )
    return np.concatenate([draw() - EXACT for _ in range(DRAWS)])


def _plausible(noise, kind, scale):
    """Whether the noise could have this scale."""
    if kind is Laplace:
        statistic, law = np.sum(np.abs(noise)) / scale, stats.gamma(noise.size)
    else:
        statistic, law = np.sum(noise**2) / scale**2, stats.chi2(noise.size)
    return law.ppf(LEVEL / 2) <= statistic <= law.isf(LEVEL / 2)


@pytest.mark.parametrize("secure", [True, False], ids=["secure", "seeded"])
@pytest.mark.parametrize("scale", [1e-6, 0.37, 5000.0])
@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_the_scale_is_the_promised_one(kind, scale, secure):
    noise = _noise(kind(scale), secure)
    assert _plausible(noise, kind, scale)
    assert not _plausible(noise, kind, 0.7 * scale)
    assert not _plausible(noise, kind, 1.3 * scale)


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_the_shape_is_the_promised_one(kind):
    """Kolmogorov–Smirnov accepts the right family and rejects the other one of the same deviation."""
    noise = _noise(kind(1.0), secure=True)
    laplace, gaussian = stats.laplace(scale=1.0), stats.norm(scale=1.0)
    right, wrong = (laplace, stats.norm(scale=2**0.5)) if kind is Laplace else (gaussian, stats.laplace(scale=0.5**0.5))
    assert stats.kstest(noise, right.cdf).pvalue > LEVEL
    assert stats.kstest(noise, wrong.cdf).pvalue < LEVEL


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_coordinates_and_answers_are_independent(kind):
    noise = _noise(kind(1.0), secure=True).reshape(DRAWS, PARAMETERS)
    limit = stats.norm.isf(LEVEL / 200) / DRAWS**0.5
    correlations = np.corrcoef(noise, rowvar=False) - np.eye(PARAMETERS)
    assert np.max(np.abs(correlations)) < limit
    copied = np.column_stack([noise[:, :1].repeat(2, axis=1), noise[:, 2:]])
    assert np.max(np.abs(np.corrcoef(copied, rowvar=False) - np.eye(PARAMETERS))) > limit


def test_secure_noise_ignores_seeds():
    """Two answers to one question differ, whatever is seeded before."""
    answers = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002
        answers.append(Laplace(1.0).release(PrivateVector(EXACT)))
    assert not np.array_equal(*answers)
