"""The model of the difference: against sampling, and against the whole Gaussian posterior by brute force."""

import math

import numpy as np
import pytest
from scipy.stats import truncnorm
from tests.shifted import CLIP, OBJECTIVE, P, population

from copriv.rules import difference
from copriv.rules.difference import ALPHAS, BETAS, HessianObservation, Observation, infer, kernel, prior
from copriv.rules.geometry import PublicGeometry
from copriv.vectors import Norm

RECORDS = 20_000.0
UPPER = np.triu_indices(P)


@pytest.fixture(scope="module")
def geometry():
    return PublicGeometry.of(population(1500, 0), OBJECTIVE, CLIP, Norm.L1)


def sampling(geometry):
    return 1 / geometry.public.records + 1 / RECORDS


def symmetric(entries):
    matrix = np.zeros((P, P))
    matrix[UPPER] = entries
    return matrix + np.triu(matrix, 1).T


def only(alpha, beta):
    """A prior of one scale."""
    chances = np.full((ALPHAS.size, BETAS.size), -np.inf)
    chances[alpha, beta] = 0.0
    return chances


def drawn(geometry, alpha, beta, generator):
    """d_0 and Δ, as the model has them."""
    d = np.linalg.cholesky((sampling(geometry) + alpha) * geometry.spread) @ generator.normal(size=P)
    deviations = np.sqrt((sampling(geometry) + beta) * geometry.unevenness[UPPER])
    return d, symmetric(deviations * generator.normal(size=deviations.size))


def observe(d, change, places, noise, generator):
    """Answers at some places with noise of this variance, from owners that stand for all."""
    return [
        Observation(
            place,
            d + change @ place + math.sqrt(noise) * generator.normal(size=P),
            noise * np.eye(P),
            np.zeros(3),
        )
        for place in places
    ]


PLACES = (np.zeros(P), np.array([0.3, -0.2, 0.1, 0.4]), np.array([0.1, 0.5, -0.3, 0.0]))


def _one_sided(variance, one, other):
    """The twin that forgets that Δ is symmetric."""
    return np.diag(variance @ (one * other))


def _sampled_covariance(variance, one, other):
    drawn_entries = np.random.default_rng(1).normal(size=(30_000, P, P)) * np.sqrt(variance)
    matrices = np.triu(drawn_entries) + np.triu(drawn_entries, 1).transpose(0, 2, 1)
    return (matrices @ one).T @ (matrices @ other) / len(matrices)


def test_the_kernel_is_the_covariance_of_a_symmetric_matrix_times_two_vectors():
    generator = np.random.default_rng(0)
    variance = symmetric(generator.uniform(0.5, 2.0, size=UPPER[0].size))
    one, other = generator.normal(size=(2, P))
    found = _sampled_covariance(variance, one, other)
    np.testing.assert_allclose(kernel(variance, one, other), found, atol=0.15)
    assert np.max(np.abs(_one_sided(variance, one, other) - found)) > 0.3
    np.testing.assert_allclose(kernel(variance, one, other), kernel(variance, other, one).T)


def _brute_force(geometry, alpha, beta, seen, hessian):
    """The posterior means of d_0 and Δ, by regression on all of their entries at once."""
    count = UPPER[0].size
    prior_covariance = np.zeros((P + count, P + count))
    prior_covariance[:P, :P] = (sampling(geometry) + alpha) * geometry.spread
    prior_covariance[P:, P:] = np.diag((sampling(geometry) + beta) * geometry.unevenness[UPPER])
    rows, told, noise = [], [], []
    for one in seen:
        of_change = np.stack([symmetric(unit) @ one.place for unit in np.eye(count)], axis=1)
        rows.append(np.hstack([np.eye(P), of_change]))
        told.append(one.deviation)
        noise.append(np.diag(one.noise))
    if hessian is not None:
        rows.append(np.hstack([np.zeros((count, P)), np.eye(count)]))
        told.append(hessian.change[UPPER])
        noise.append(hessian.variance[UPPER])
    design, answers = np.vstack(rows), np.concatenate(told)
    covariance = design @ prior_covariance @ design.T + np.diag(np.concatenate(noise))
    mean = prior_covariance @ design.T @ np.linalg.solve(covariance, answers)
    left = prior_covariance - prior_covariance @ design.T @ np.linalg.solve(covariance, design @ prior_covariance)
    likelihood = -0.5 * (answers @ np.linalg.solve(covariance, answers) + np.linalg.slogdet(covariance)[1])
    return mean, left, likelihood


def _case(geometry, bought, seed=3, noise=1e-4):
    generator = np.random.default_rng(seed)
    d, change = drawn(geometry, 0.1, 0.3, generator)
    seen = observe(d, change, PLACES, noise, generator)
    if not bought:
        return seen, None
    told = symmetric(change[UPPER] + 0.1 * generator.normal(size=UPPER[0].size))
    return seen, HessianObservation(told, np.full((P, P), 0.01))


@pytest.mark.parametrize("bought", [False, True])
@pytest.mark.parametrize(("alpha", "beta"), [(0, 0), (6, 8), (9, 12)])
def test_for_one_scale_it_is_the_whole_gaussian_posterior(geometry, bought, alpha, beta):
    seen, hessian = _case(geometry, bought)
    found = infer(geometry, RECORDS, seen, hessian, only(alpha, beta))
    mean, left, _ = _brute_force(geometry, ALPHAS[alpha], BETAS[beta], seen, hessian)
    apart = ALPHAS[alpha] / (ALPHAS[alpha] + sampling(geometry))
    full = (1 - apart) * geometry.restoring @ mean[:P] + apart * mean[:P]
    np.testing.assert_allclose(found.intercept, full, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.change, symmetric(mean[P:]), rtol=1e-6, atol=1e-9)
    direction = np.array([[0.5, 0.1, -0.7, 0.2]]).T
    told = np.array([float(direction[:, 0] @ symmetric(unit) @ direction[:, 0]) for unit in np.eye(mean.size - P)])
    deviation = difference._deviation_along(found.scales[beta], tuple(seen), direction)[alpha, 0]
    assert deviation == pytest.approx(math.sqrt(told @ left[P:, P:] @ told), rel=1e-6)


def test_a_twin_that_forgets_symmetry_is_caught(geometry, monkeypatch):
    seen, _ = _case(geometry, bought=False)
    monkeypatch.setattr(difference, "kernel", _one_sided)
    found = infer(geometry, RECORDS, seen, None, only(6, 8))
    mean, _, _ = _brute_force(geometry, ALPHAS[6], BETAS[8], seen, None)
    assert np.max(np.abs(found.change - symmetric(mean[P:]))) > 1e-3


def test_what_is_left_of_the_gradient_is_the_posterior_square(geometry):
    seen, hessian = _case(geometry, bought=True)
    found = infer(geometry, RECORDS, seen, hessian, prior())
    place = np.array([-0.2, 0.3, 0.3, 0.1])
    left = difference.gradient_left(found, geometry, RECORDS, place)
    mean, covariance, _ = _brute_force(geometry, ALPHAS[6], BETAS[8], seen, hessian)
    of_change = np.stack([symmetric(unit) @ place for unit in np.eye(UPPER[0].size)], axis=1)
    design = np.hstack([np.eye(P), of_change])
    expected = (place + design @ mean) ** 2 + np.diag(design @ covariance @ design.T)
    np.testing.assert_allclose(left[6, 8], expected, rtol=1e-6)


@pytest.mark.parametrize("bought", [False, True])
def test_scales_are_weighed_by_how_likely_they_make_the_answers(geometry, bought):
    seen, hessian = _case(geometry, bought)
    found = infer(geometry, RECORDS, seen, hessian, prior())
    assert found.chances.sum() == pytest.approx(1)
    (a, b), (c, d) = (3, 5), (8, 11)
    one, other = (
        _brute_force(geometry, ALPHAS[i], BETAS[j], seen, hessian)[2] + prior()[i, j] for i, j in ((a, b), (c, d))
    )
    assert math.log(found.chances[a, b] / found.chances[c, d]) == pytest.approx(one - other, rel=1e-6)


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 0.0), (0.3, 0.03), (0.01, 10.0)])
def test_the_scales_that_made_the_answers_are_found(geometry, alpha, beta):
    """On average over draws, to within the factor of four that twenty numbers leave open."""
    logs = []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        d, change = drawn(geometry, alpha, beta, generator)
        seen = observe(d, change, PLACES, 1e-9, generator)
        found = infer(geometry, RECORDS, seen, None, prior())
        logs.append([found.chances.sum(axis=1) @ _logs(ALPHAS), found.chances.sum(axis=0) @ _logs(BETAS)])
    means = np.mean(logs, axis=0)
    if alpha == 0:
        assert np.all(means < math.log10(3 * sampling(geometry)))
    else:
        np.testing.assert_allclose(means, np.log10([alpha, beta]), atol=0.6)


def _logs(scales):
    return np.log10(np.maximum(scales, 1e-5))


def test_the_prior_sums_to_one_and_half_of_it_is_no_shift():
    for unshifted in (0.5, 0.1):
        chances = np.exp(prior(unshifted))
        assert chances.sum() == pytest.approx(1)
        assert chances[0].sum() == pytest.approx(unshifted)
    shifts = difference.chances_of_shifts()
    assert sum(shifts.values()) == pytest.approx(1)
    assert list(shifts) == ALPHAS.tolist()


def test_without_answers_there_is_no_difference(geometry):
    found = infer(geometry, RECORDS, [], None, prior())
    np.testing.assert_allclose(found.chances, np.exp(prior()))
    assert not found.intercept.any()
    assert not found.change.any()
    assert found.exceeds(1.0) < 0.5 == pytest.approx(found.exceeds(0.0))


def test_a_gaussian_that_is_known_to_be_positive_has_the_mean_of_a_truncated_one():
    means, deviations = np.array([2.0, 0.3, -1.0, -3.0, 1e-3]), np.array([0.5, 1.0, 1.0, 0.7, 10.0])
    expected = truncnorm.mean(-means / deviations, np.inf, loc=means, scale=deviations)
    np.testing.assert_allclose(difference._truncated_mean(means, deviations), expected, rtol=1e-7)


def test_far_below_zero_the_mean_is_nearly_zero_and_never_negative():
    far = difference._truncated_mean(np.array([-1.0, -1.0, -50.0]), np.array([1e-8, 1e-4, 1e-2]))
    assert np.all(far >= 0)
    assert np.all(far < 1e-4)


def test_a_hessian_of_which_little_is_known_is_expected_to_be_larger_than_the_public_one(geometry):
    """Steps become short: where β may be anything, the expected curvature is above 1 in every direction."""
    d, change = drawn(geometry, 1.0, 0.0, np.random.default_rng(5))
    far = infer(geometry, RECORDS, observe(d, change, PLACES[:1], 1e-9, np.random.default_rng(6)), None, prior())
    assert np.min(np.linalg.eigvalsh(far.hessian)) > 1.05
    alike = infer(geometry, RECORDS, [], None, only(0, 0))
    np.testing.assert_allclose(alike.hessian, np.eye(P), atol=1e-3)


def _records_hessian(generator):
    """One that records can have: the identity, and something positive that couples everything."""
    factor = generator.normal(size=(P, P))
    return factor @ factor.T / 2


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_what_is_known_of_a_hessian_is_completed_to_one_of_records(seed, steps):
    """Of I + Δ only Δs is known, the rest is a guess of least change: it may have negative eigenvalues."""
    generator = np.random.default_rng(seed)
    true, places = _records_hessian(generator), [np.zeros(P), *generator.normal(size=(steps, P))]
    known = np.stack(places[1:]).T
    guess = _least_change(true - np.eye(P), known)
    completed = difference._complete(np.eye(P) + guess, np.eye(P), places)
    assert np.min(np.linalg.eigvalsh(completed)) > -1e-9
    np.testing.assert_allclose(completed, completed.T, atol=1e-12)
    if np.min(np.linalg.eigvalsh(_within(true, known))) > 0.05:
        np.testing.assert_allclose(completed @ known, true @ known, rtol=1e-6, atol=1e-8)


def test_without_completion_the_guess_would_be_no_hessian_of_records():
    generator = np.random.default_rng(2)
    lowest = []
    for _ in range(5):
        true, known = 4 * _records_hessian(generator), generator.normal(size=(P, 1))
        lowest.append(np.min(np.linalg.eigvalsh(np.eye(P) + _least_change(true - np.eye(P), known))))
    assert min(lowest) < -0.5


def _within(matrix, known):
    basis = np.linalg.svd(known, full_matrices=False)[0]
    return basis.T @ matrix @ basis


def _least_change(change, known):
    """The symmetric matrix of least Frobenius length that agrees with Δ on some vectors."""
    basis = np.linalg.svd(known, full_matrices=False)[0]
    along = basis @ basis.T
    return change @ along + along @ change - along @ change @ along


def test_one_place_tells_nothing_to_complete():
    mean = np.diag([1.0, 2.0, 3.0, -1.0])
    assert difference._complete(mean, np.eye(P), [np.ones(P)]) is mean
