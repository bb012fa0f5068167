"""Weighing: against the posterior of the whole Gaussian model, and κ found where it is."""

import numpy as np
import pytest

from copriv.rules.evidence import Evidence, estimate_difference, pool, weigh


def make(owners, generator, *, spread, public, records=1000, noise=1e-3, among=0.0, apart=0.0, silent=0):
    """Answers drawn from the model, and the D that was meant."""
    sizes = np.full(owners + silent, float(records))
    centre = generator.normal(size=spread.size) * np.sqrt(spread * (1 / public + apart))
    own = generator.normal(size=(sizes.size, spread.size)) * np.sqrt(spread * (1 / records + among))
    meant = centre + own
    answers = meant[:owners] + noise * generator.normal(size=(owners, spread.size))
    variances = np.full((owners, spread.size), noise**2)
    return Evidence(answers, variances, sizes[:owners], sizes[owners:]), meant.mean(axis=0)


def dense_pool(evidence, spread, among):
    """D by brute force: generalised least squares for μ, then the best linear guess of every m_i."""
    n = np.concatenate([evidence.records, evidence.silent])
    weights, heard = n / n.sum(), evidence.records.size
    out, variance = [], []
    for j, s in enumerate(spread):
        prior = np.diag(s * (1 / n + among)) + 1e3 * s
        seen = prior[:heard, :heard] + np.diag(evidence.variances[:, j])
        gain = weights @ prior[:, :heard] @ np.linalg.inv(seen)
        out.append(gain @ evidence.deviations[:, j])
        left = weights - np.pad(gain, (0, n.size - heard))
        variance.append(left @ prior @ left + gain**2 @ evidence.variances[:, j])
    return np.asarray(out), np.asarray(variance)


@pytest.mark.parametrize("silent", [0, 3])
@pytest.mark.parametrize("among", [0.0, 1e-2])
def test_pooling_is_the_posterior_of_the_whole_model(silent, among):
    generator, spread = np.random.default_rng(0), np.array([1e-3, 2e-2, 0.5])
    evidence, _ = make(4, generator, spread=spread, public=500, among=among, silent=silent)
    unequal = Evidence(
        evidence.deviations,
        evidence.variances * np.array([[1.0], [9.0], [100.0], [0.01]]),
        evidence.records * np.array([1.0, 2.0, 0.5, 4.0]),
        evidence.silent,
    )
    mean, variance = pool(unequal, spread, among)
    expected, spreads = dense_pool(unequal, spread, among)
    np.testing.assert_allclose(mean, expected, rtol=1e-3, atol=1e-7)
    np.testing.assert_allclose(variance, spreads, rtol=1e-2)


@pytest.mark.parametrize("among", [0.0, 1e-3, 1e-1])
def test_how_much_owners_differ_is_found(among):
    generator, spread = np.random.default_rng(1), np.full(8, 1e-2)
    evidence, _ = make(40, generator, spread=spread, public=10_000, among=among, noise=1e-4)
    found = estimate_difference(evidence, spread, 10_000)
    assert found == pytest.approx(among, rel=1.0, abs=2e-4)


def test_noise_is_not_taken_for_difference():
    generator, spread = np.random.default_rng(2), np.full(8, 1e-2)
    evidence, _ = make(40, generator, spread=spread, public=10_000, noise=0.1)
    assert estimate_difference(evidence, spread, 10_000) < 0.2
    overlooked = Evidence(evidence.deviations, evidence.variances / 100, evidence.records, evidence.silent)
    assert estimate_difference(overlooked, spread, 10_000) > 0.3


@pytest.mark.parametrize("apart", [0.0, 1e-2, 1.0])
@pytest.mark.parametrize("noise", [1e-5, 1e-3, 1e-1])
def test_the_weighed_deviation_beats_both_kinds_of_evidence(noise, apart):
    """Mean squared error over draws: at most 1.15 times the better of 0 (public) and the plain mean (private)."""
    generator, spread = np.random.default_rng(3), np.geomspace(1e-3, 1e-1, 9)
    errors = np.zeros(3)
    for _ in range(60):
        evidence, meant = make(5, generator, spread=spread, public=1000, noise=noise, apart=apart)
        guesses = (weigh(evidence, spread, 1000).deviation, 0 * spread, evidence.deviations.mean(axis=0))
        errors += [np.sum((guess - meant) ** 2 / spread) for guess in guesses]
    assert errors[0] <= 1.15 * min(errors[1:])


def test_another_population_is_recognised():
    generator, spread = np.random.default_rng(4), np.full(9, 1e-2)
    same, _ = make(5, generator, spread=spread, public=1000, noise=1e-4)
    other, _ = make(5, generator, spread=spread, public=1000, noise=1e-4, apart=1.0)
    assert weigh(same, spread, 1000).apart < 0.6
    assert weigh(other, spread, 1000).apart > 0.95
