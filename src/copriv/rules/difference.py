"""How private gradients differ from public ones: a Gaussian model with two scales, learned from the answers.

In the coordinates of `rules.geometry` the difference at a place u is

    d(u) = d_0 + Δu,

with d_0 a vector and Δ a symmetric matrix. Sampling alone lets d_0 vary with covariance Σ(1/n_pub + 1/n) and the
entries of Δ with variances V_ij(1/n_pub + 1/n). Another population adds α to the first bracket and β to the second.
Both are unknown: they lie on a grid, weighed by how likely they make the answers (`GRID`, `prior`). For one α and β the
answers are Gaussian observations of d, and bought second moments are Gaussian observations of Δ. So everything is exact
linear algebra in (answers × parameters) dimensions.

The expected fitness at u is ½uᵀ(I + E Δ)u + E d_0ᵀu plus a constant: only the two means matter, averaged over the grid.
But the Hessian I + Δ of records has no negative eigenvalues. What is known of it along each of its directions is cut
off at 0 (`_truncated_mean`): where little is known, it is expected to be larger than 1, and steps become short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copriv.rules.geometry import PublicGeometry
from copriv.vectors import FloatArray

# α and β: nothing, and from what a large public file can hardly see to beyond anything measured.
ALPHAS = np.concatenate([[0.0], np.geomspace(1e-4, 10.0, 11)])
BETAS = np.concatenate([[0.0], np.geomspace(1e-4, 1e3, 15)])
_NEGLIGIBLE, _STEEPEST = 1e-6, 1e6
_TINY = 1e-16
# Answers at nearly one place with nearly no noise have a covariance that is singular in double precision, but for this.
_ROUNDING = 1e-12
# Steps are of one direction if the others are shorter than this share; curvature along a step is at least that.
_STRAIGHT, _FLATTEST = 1e-6, 0.001
# Under a shift the clip takes another part of private gradients than of public ones: they differ by so many times it.
_MISREAD = 0.7
# So many deviations below 0 a mean is as good as any further down.
_FURTHEST = -1e3


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """The pooled answers to one question: where it was asked, the deviation, and the covariance of the noise in it.

    `aside` says by how much those who answered differ from all owners: its products with that of other observations
    are covariances in units of one record's variance.
    """

    place: FloatArray
    deviation: FloatArray
    noise: FloatArray
    aside: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class HessianObservation:
    """What second moments told of Δ, and the variance of the noise in each entry."""

    change: FloatArray
    variance: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Scales:
    """What one value of β comes to: the mean and variances of Δ before the answers, and the answers' covariance."""

    mean: FloatArray
    variance: FloatArray
    covariance: FloatArray
    weights: FloatArray
    likelihood: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """What the answers say of the difference.

    Args:
        chances: of every α (row) and β (column).
        intercept: the expected d_0, of full gradients.
        change: the expected Δ.
        hessian: the expected I + Δ, with what is known of its eigenvalues cut off at 0.
        scales: what each β comes to.
        observations: the answers.
        evidence: the logarithm of how likely answers and second moments are together, up to a constant.
    """

    chances: FloatArray
    intercept: FloatArray
    change: FloatArray
    hessian: FloatArray
    scales: tuple[Scales, ...]
    observations: tuple[Observation, ...]
    evidence: float

    @property
    def alpha(self) -> float:
        """The expected α."""
        return float(self.chances.sum(axis=1) @ ALPHAS)

    def exceeds(self, alpha: float) -> float:
        """The chance that α is larger than this."""
        return float(self.chances[alpha < ALPHAS].sum())

    @property
    def beta(self) -> float:
        """The expected β."""
        return float(self.chances.sum(axis=0) @ BETAS)


def prior(unshifted: float = 0.5, least: float = 0.0) -> FloatArray:
    """Logarithms of the chances of every α and β before any answer: `unshifted` is that of the same population.

    Larger shifts are a little rarer. β is of the order of α, give or take a factor of ten, and now and then nothing: so
    it is for years, regions, grades and days of the tables that constants were chosen on. Without a shift of gradients
    there is hardly one of Hessians. Where a shift of size `least` is known of that no answer about gradients shows any
    more (`rules.relabelled`), Hessians are expected to differ as under that.
    """
    known = np.maximum(ALPHAS, least)
    steps = np.arange(ALPHAS.size - 1)
    first = np.concatenate([[0.0], -_FALL * steps])
    first[1:] += math.log((1 - unshifted) / np.exp(first[1:]).sum())
    first[0] = math.log(unshifted)
    centres = np.log10(np.where(known > 0, known, _NOTHING))
    places = np.log10(np.where(BETAS > 0, BETAS, _NOTHING))
    off = places - centres[:, None] - _CENTRE
    second = -0.5 * (off / np.where(off > 0, _ABOVE, _BELOW)) ** 2
    second -= np.log(np.exp(second).sum(axis=1, keepdims=True))
    same = np.where(known > 0, _OFTEN_SAME, _SAME_HESSIAN)
    second += np.log(1 - same)[:, None]
    second[:, 0] = np.logaddexp(second[:, 0], np.log(same))
    return np.asarray(first[:, None] + second)


_SAME_HESSIAN, _OFTEN_SAME = 0.9, 0.2
_FALL, _NOTHING, _CENTRE, _ABOVE, _BELOW = 0.2, 10**-4.5, 0.2, 1.1, 1.1


def chances_of_shifts() -> dict[float, float]:
    """The chance of every α before any answer."""
    return dict(zip(ALPHAS.tolist(), np.exp(prior()).sum(axis=1).tolist(), strict=True))


def infer(
    geometry: PublicGeometry,
    records: float,
    observations: Sequence[Observation],
    hessian: HessianObservation | None,
    expected: FloatArray,
    chances: FloatArray | None = None,
) -> Difference:
    """The difference, given the answers; `expected` are the logarithms of `prior`, `records` is n.

    The chances of every α and β follow from both, unless they are given.
    """
    sampling = 1 / geometry.public.records + 1 / records
    seen = tuple(observations)
    scales = tuple(_at_scale(geometry, sampling, beta, seen, hessian) for beta in BETAS)
    likelihood = expected + np.stack([scale.likelihood for scale in scales], axis=1)
    weights = np.exp(likelihood - likelihood.max())
    evidence = float(likelihood.max() + math.log(weights.sum()))
    if chances is None:
        chances = weights / weights.sum()
    intercept, change = _means(geometry, sampling, chances, scales, seen)
    hessian_mean = _cut_off(geometry, chances, scales, seen, change)
    return Difference(chances, intercept, change, hessian_mean, scales, seen, evidence)


def _at_scale(
    geometry: PublicGeometry,
    sampling: float,
    beta: float,
    seen: tuple[Observation, ...],
    hessian: HessianObservation | None,
) -> Scales:
    """Everything for one β: Δ after the second moments, and the answers' covariance and likelihood for every α."""
    variance = (sampling + beta) * geometry.unevenness
    mean, told = np.zeros_like(variance), 0.0
    if hessian is not None:
        total = variance + hessian.variance
        upper = np.triu_indices(mean.shape[0])
        told = -0.5 * float(np.sum((np.log(total) + hessian.change**2 / total)[upper]))
        mean, variance = variance / total * hessian.change, variance * hessian.variance / total
    if not seen:
        nothing = np.zeros((ALPHAS.size, 0))
        return Scales(mean, variance, np.zeros((ALPHAS.size, 0, 0)), nothing, np.full(ALPHAS.size, told))
    fixed = np.block([[_shared(geometry, variance, one, other) for other in seen] for one in seen])
    count, p = len(seen), geometry.parameters
    for place, one in enumerate(seen):
        fixed[place * p : (place + 1) * p, place * p : (place + 1) * p] += one.noise
    covariance = fixed + (sampling + ALPHAS)[:, None, None] * np.tile(geometry.spread, (count, count))
    covariance += _misread(geometry)[:, None, None] * np.tile(np.eye(p), (count, count))
    covariance += _ROUNDING * covariance * np.eye(fixed.shape[0])
    rest = np.concatenate([one.deviation - mean @ one.place for one in seen])
    weights = np.linalg.solve(covariance, np.broadcast_to(rest[:, None], (ALPHAS.size, rest.size, 1)))[..., 0]
    likelihood = told - 0.5 * (weights @ rest + np.linalg.slogdet(covariance)[1])
    return Scales(mean, variance, covariance, weights, likelihood)


def _misread(geometry: PublicGeometry) -> FloatArray:
    """How much more the clip may take from private gradients than from public ones: a variance for every α."""
    taken = geometry.clipping_bias
    return np.asarray(np.where(ALPHAS > 0, _MISREAD**2 * float(taken @ taken) / taken.size, 0.0))


def _shared(geometry: PublicGeometry, variance: FloatArray, one: Observation, other: Observation) -> FloatArray:
    """Covariance of two observations, apart from d_0 and noise: by Δ, and by who has answered both."""
    common = float(one.aside @ other.aside)
    own = geometry.spread + kernel(geometry.unevenness, one.place, other.place)
    return kernel(variance, one.place, other.place) + common * own


def kernel(variance: FloatArray, one: FloatArray, other: FloatArray) -> FloatArray:
    """Covariance of Δu and Δw for a symmetric Δ with independent entries of these variances.

    >>> kernel(np.ones((2, 2)), np.array([1.0, 2.0]), np.array([3.0, 5.0]))
    array([[13.,  6.],
           [ 5., 13.]])
    """
    found = variance * np.outer(other, one)
    np.fill_diagonal(found, variance @ (one * other))
    return np.asarray(found)


def _means(
    geometry: PublicGeometry,
    sampling: float,
    chances: FloatArray,
    scales: tuple[Scales, ...],
    seen: tuple[Observation, ...],
) -> tuple[FloatArray, FloatArray]:
    """The expected d_0, turned into one of full gradients, and the expected Δ."""
    p = geometry.parameters
    intercept, change = np.zeros(p), np.zeros((p, p))
    apart = ALPHAS / (ALPHAS + sampling)
    for scale, chance in zip(scales, chances.T, strict=True):
        change += chance.sum() * scale.mean
        if seen:
            weights = scale.weights.reshape(ALPHAS.size, len(seen), p)
            clipped = (weights.sum(axis=1) @ geometry.spread) * (sampling + ALPHAS)[:, None]
            intercept += (chance * (1 - apart)) @ clipped @ geometry.restoring.T + (chance * apart) @ clipped
            places = np.stack([one.place for one in seen])
            change += _symmetric(np.einsum("a,aki->ki", chance, weights).T @ places, scale.variance)
    return intercept, change


def _symmetric(product: FloatArray, variance: FloatArray) -> FloatArray:
    """V ∘ (P + Pᵀ), with the diagonal counted once: the mean of Δ for weights that come to P = Σ w_k u_kᵀ."""
    both = product + product.T
    both[np.diag_indices_from(both)] /= 2
    return np.asarray(variance * both)


def _cut_off(
    geometry: PublicGeometry,
    chances: FloatArray,
    scales: tuple[Scales, ...],
    seen: tuple[Observation, ...],
    change: FloatArray,
) -> FloatArray:
    """The expected Hessian, completed, and in each of its directions cut off at 0 for every α and β."""
    before = np.eye(geometry.parameters) + np.einsum("ab,bij->ij", chances, np.stack([each.mean for each in scales]))
    whole = _complete(np.eye(geometry.parameters) + change, before, [one.place for one in seen])
    means, basis = np.linalg.eigh(whole)
    values = np.zeros(geometry.parameters)
    for scale, chance in zip(scales, chances.T, strict=True):
        if chance.sum() > _NEGLIGIBLE:
            values += chance @ _truncated_mean(means, _deviation_along(scale, seen, basis))
    return np.asarray((basis * np.clip(values, _NEGLIGIBLE, _STEEPEST)) @ basis.T)


def _complete(mean: FloatArray, before: FloatArray, places: Sequence[FloatArray]) -> FloatArray:
    """The mean Hessian with what its known part implies for the unknown one, as in the update of Broyden et al.

    Answers at several places tell Hs for the steps s between them. A Hessian has no negative eigenvalues, so where it
    couples a step with another direction w, it is at least (wᵀHs)²/sᵀHs along w. What is known from elsewhere
    (`before`) has such a part already.
    """
    if len(places) < 2:
        return mean
    steps = np.stack(places[1:]) - places[0]
    _, lengths, turned = np.linalg.svd(steps)
    rank = int(np.sum(lengths > _STRAIGHT * max(float(lengths[0]), _TINY)))
    along, across = turned[:rank].T, turned[rank:].T
    values, basis = np.linalg.eigh(along.T @ mean @ along)
    raised = along @ (basis * (np.maximum(values, _FLATTEST) - values)) @ basis.T @ along.T
    implied, extra = np.linalg.eigh(_implied(mean, along, across) - _implied(before, along, across))
    added = across @ (extra * np.maximum(implied, 0.0)) @ extra.T @ across.T
    return np.asarray(mean + raised + added)


def _implied(matrix: FloatArray, along: FloatArray, across: FloatArray) -> FloatArray:
    """H_ws H_ss⁻¹ H_sw, with H_ss kept away from 0."""
    values, basis = np.linalg.eigh(along.T @ matrix @ along)
    coupling = across.T @ matrix @ along @ basis
    return np.asarray((coupling / np.maximum(values, _FLATTEST)) @ coupling.T)


def _deviation_along(scale: Scales, seen: tuple[Observation, ...], basis: FloatArray) -> FloatArray:
    """The deviation of bᵀΔb for every direction b of a basis and every α (α × directions)."""
    squares, variance = basis**2, scale.variance
    prior_variance = 2 * np.sum(squares * (variance @ squares), axis=0) - np.diag(variance) @ squares**2
    if not seen:
        return np.tile(np.sqrt(prior_variance), (ALPHAS.size, 1))
    diagonal = np.diag(variance)[:, None]
    across = np.vstack(
        [
            2 * basis * (variance @ (one.place[:, None] * basis)) - diagonal * one.place[:, None] * squares
            for one in seen
        ]
    )
    solved = np.linalg.solve(scale.covariance, np.broadcast_to(across, (ALPHAS.size, *across.shape)))
    left = prior_variance - np.einsum("kj,akj->aj", across, solved)
    return np.asarray(np.sqrt(np.maximum(left, _TINY)))


def _truncated_mean(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """The mean of a Gaussian that is known to be positive.

    >>> _truncated_mean(np.array([3.0, 0.0]), np.array([0.1, 1.0])).round(4)
    array([3.    , 0.7979])
    """
    from scipy.special import log_ndtr

    ratio = np.maximum(mean / deviation, _FURTHEST)
    density = np.exp(-0.5 * ratio**2 - 0.5 * math.log(2 * math.pi) - log_ndtr(ratio))
    return np.asarray(deviation * (ratio + density))


def gradient_left(difference: Difference, geometry: PublicGeometry, records: float, place: FloatArray) -> FloatArray:
    """The expected square of the private gradient at a place, in each coordinate, for every α and β."""
    sampling = 1 / geometry.public.records + 1 / records
    found = [_gradient_at(scale, difference.observations, geometry, sampling, place) for scale in difference.scales]
    return np.stack(found, axis=1)


def _gradient_at(
    scale: Scales, seen: tuple[Observation, ...], geometry: PublicGeometry, sampling: float, place: FloatArray
) -> FloatArray:
    """Of u + d_0 + Δu for every α: the squared mean plus the variance."""
    spread = (sampling + ALPHAS)[:, None] * np.diag(geometry.spread)
    variance = spread + np.diag(kernel(scale.variance, place, place))
    mean = np.tile(place + scale.mean @ place, (ALPHAS.size, 1))
    if seen:
        fixed = np.vstack([kernel(scale.variance, one.place, place) for one in seen])
        shared = np.tile(geometry.spread, (len(seen), 1))
        across = fixed + (sampling + ALPHAS)[:, None, None] * shared
        mean = mean + np.einsum("ak,akj->aj", scale.weights, across)
        variance = variance - np.einsum("akj,akj->aj", across, np.linalg.solve(scale.covariance, across))
    return np.asarray(mean**2 + np.maximum(variance, 0.0))
