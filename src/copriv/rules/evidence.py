"""Weighing public against private evidence, one direction at a time.

In direction j owner i's clipped gradient differs from that of the public rows by m_i, and its answer by

    e_i = m_i + w_i,    w_i ~ N(0, v_i),    m_i ~ N(μ, s_j(1/n_i + κ)),

and what is wanted is D = Σ (n_i/n) m_i over all owners, heard from or not. s_j is known from the public rows, v_i from
the mechanism, nothing is presumed of μ. The answers alone give D with some variance P_j. The public rows say that D is
0, with variance u_j = s_j(1/n_pub + 1/n + κ_pub). So the answers count for the share u_j/(u_j + P_j): little noise
makes them count, much noise leaves the public model as it is.

κ tells how much owners truly differ from each other, κ_pub how much all of them together differ from the public rows,
both in units of one record's variance: empirical Bayes estimates them from the answers. κ has the largest restricted
likelihood on a grid. κ_pub rests on one number a direction, so no value is singled out: the grid is averaged over, with
half of the prior on 0 and the rest falling off beyond 1/n_pub + 1/n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copriv.vectors import FloatArray

_GRID = np.concatenate([[0.0], np.geomspace(1e-7, 10.0, 25)])


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What the owners heard from have said: one row an owner, one column a direction.

    Args:
        deviations: e_i.
        variances: v_i, of noise and of everything else that an answer is wrong by.
        records: n_i of the owners heard from.
        silent: n_i of the others.
    """

    deviations: FloatArray
    variances: FloatArray
    records: FloatArray
    silent: FloatArray

    @property
    def total(self) -> float:
        """How many records all owners have (n)."""
        return float(np.sum(self.records) + np.sum(self.silent))


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The expected D in every direction, and what it rests on.

    Args:
        deviation: the expected D.
        among: κ, how much owners differ from each other.
        apart: from 0 to 1, how much of D is due to another population rather than to sampling.
    """

    deviation: FloatArray
    among: float
    apart: float


def weigh(evidence: Evidence, spread: FloatArray, public_records: int) -> Posterior:
    """The expected D, given the answers and the public rows with spread s_j."""
    among = estimate_difference(evidence, spread, public_records)
    mean, variance = pool(evidence, spread, among)
    sampling = 1 / public_records + 1 / evidence.total
    public = spread * (sampling + _GRID[:, None])
    chances = _chances(mean, public + variance, sampling)
    trust = chances @ (public / (public + variance))
    return Posterior(trust * mean, among, float(chances @ (_GRID / (_GRID + sampling))))


def pool(evidence: Evidence, spread: FloatArray, among: float) -> tuple[FloatArray, FloatArray]:
    """D and its variance from the answers alone, for one κ."""
    weights = evidence.records[:, None] / evidence.total
    own = spread * (1 / evidence.records[:, None] + among)
    mean, variance = _mean(evidence.deviations, own + evidence.variances)
    kept = own / (own + evidence.variances)
    pooled = mean + np.sum(weights * kept * (evidence.deviations - mean), axis=0)
    unheard = spread * np.sum((evidence.silent / evidence.total) ** 2 * (1 / evidence.silent + among))
    left = np.sum(weights**2 * kept * evidence.variances, axis=0)
    return pooled, (1 - np.sum(weights * kept, axis=0)) ** 2 * variance + left + unheard


def estimate_difference(evidence: Evidence, spread: FloatArray, public_records: int) -> float:
    """The κ of largest restricted likelihood, from how far apart the answers lie.

    The public rows take part as one more owner that deviates from itself by 0, so that a first answer far from them is
    put down to owners that differ, until others confirm it.
    """
    deviations = np.vstack([evidence.deviations, np.zeros_like(spread)])
    noise = np.vstack([evidence.variances, np.zeros_like(spread)])
    inverse = 1 / np.append(evidence.records, public_records)
    variances = spread * (inverse[:, None] + _GRID[:, None, None]) + noise
    mean, variance = _mean(deviations, variances)
    around = np.log(variances) + (deviations - mean[:, None]) ** 2 / variances
    likelihood = np.sum(np.log(variance), axis=1) - np.sum(around, axis=(1, 2))
    return float(_GRID[int(np.argmax(likelihood))])


@dataclass(frozen=True, slots=True, eq=False)
class Among:
    """How much owners differ from each other: the chance of every κ of a grid."""

    chances: FloatArray

    @property
    def expected(self) -> float:
        """The exponential of the expected logarithm of κ."""
        return float(np.exp(self.chances @ np.log(np.maximum(_GRID, _GRID[1]))))

    def exceeds(self, among: float) -> float:
        """The chance that κ is larger than this."""
        return float(self.chances[among < _GRID].sum())


def difference_among(groups: Sequence[Evidence], spreads: Sequence[FloatArray]) -> Among:
    """From how far apart answers to the same question lie; before, every κ of the grid is as likely as another."""
    likelihood = np.zeros(_GRID.size)
    for one, spread in zip(groups, spreads, strict=True):
        likelihood += _likelihoods(one, spread) / 2
    chances = np.exp(likelihood - likelihood.max())
    return Among(chances / chances.sum())


def _likelihoods(evidence: Evidence, spread: FloatArray) -> FloatArray:
    variances = spread * (1 / evidence.records[:, None] + _GRID[:, None, None]) + evidence.variances
    mean, variance = _mean(evidence.deviations, variances)
    around = np.log(variances) + (evidence.deviations - mean[:, None]) ** 2 / variances
    return np.asarray(np.sum(np.log(variance), axis=1) - np.sum(around, axis=(1, 2)))


def _mean(deviations: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean over owners weighted by precision, and its variance."""
    precision = np.sum(1 / variances, axis=-2)
    return np.sum(deviations / variances, axis=-2) / precision, 1 / precision


def _chances(mean: FloatArray, variances: FloatArray, sampling: float) -> FloatArray:
    """The posterior probability of every κ_pub of the grid."""
    prior = 1 / (1 + _GRID / sampling)
    prior[0] = np.sum(prior[1:])
    likelihood = -np.sum(np.log(variances) + mean**2 / variances, axis=1) / 2
    chances = prior * np.exp(likelihood - np.max(likelihood))
    return np.asarray(chances / np.sum(chances))
