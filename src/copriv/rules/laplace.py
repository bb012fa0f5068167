"""Laplace noise tells more than Gaussian noise of the same variance: as much as a Gaussian tells that fits it best.

A Gaussian of variance 2b² stands for Laplace noise of scale b only while nothing else is known. Near what is expected a
Laplace likelihood has a corner: if many owners answer about the same number, most of them close to it, their median is
nearly twice as good as their mean. Far from it the slope is 1/b and no more: an outlier is noise.

Expectation propagation uses both. Each likelihood is replaced by the Gaussian that has the same effect on the mean and
variance of what all others say (`fitting`). Laplace likelihoods are log-concave, so these Gaussians have variances
above 0, and for one number and many owners the result is the posterior mean to a per cent (tests). All that follows an
answer can stay Gaussian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from copriv.vectors import FloatArray

_ROUNDS, _FIRST, _LATER = 12, 1.0, 0.7
# Where others leave open so many times the scale, the likelihood is as good as a Gaussian of its own variance.
_BROAD = 30.0
# The least that a Gaussian counts, beside that of the same variance; and the least variance, beside the scale's square.
_LEAST, _NARROWEST = 1e-7, 1e-9
# What others say counts at least for this share of what was expected.
_OTHERS = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Gaussians:
    """Means and variances, one for each likelihood."""

    means: FloatArray
    variances: FloatArray


def fitting(answers: FloatArray, scales: FloatArray, before: Gaussians) -> Gaussians:
    """The Gaussians that do to what was known before what Laplace likelihoods of these answers and scales do.

    >>> narrow, broad = (Gaussians(np.array([0.0]), np.array([v])) for v in (0.01, 1e4))
    >>> [fitting(np.array([5.0]), np.array([1.0]), known).variances.round(2).item() for known in (narrow, broad)]
    [20099999.99, 2.0]
    """
    from scipy.special import log_ndtr

    deviation = np.sqrt(before.variances)
    off, drift = (answers - before.means) / deviation, deviation / scales
    below = -drift * off + drift**2 / 2 + log_ndtr(off - drift)
    above = drift * off + drift**2 / 2 + log_ndtr(-off - drift)
    either = np.logaddexp(below, above)
    density = np.exp(-0.5 * off**2 - 0.5 * math.log(2 * math.pi) - either)
    chance = np.exp(below - either)
    slope = (2 * chance - 1) / scales
    bend = 2 * density / (scales * deviation) - 4 * chance * (1 - chance) / scales**2
    bend = np.maximum(bend, _LEAST / (before.variances + 2 * scales**2))
    means = before.means + slope / bend
    variances = np.maximum(1 / bend - before.variances, _NARROWEST * scales**2)
    is_broad = drift > _BROAD
    return Gaussians(np.where(is_broad, answers, means), np.where(is_broad, 2 * scales**2, variances))


def told_by_owners(answers: FloatArray, scales: FloatArray, own: FloatArray, expected: Gaussians) -> Gaussians:
    """One Gaussian for every answer (owners × numbers), each fitted to what the others and the expectation say.

    Args:
        answers: one row an owner.
        scales: of each answer's noise.
        own: the variance by which an owner's number differs from the one they share.
        expected: of the shared numbers, before these answers.
    """
    precision = np.broadcast_to(1 / (2 * scales**2), answers.shape)
    weighted = answers * precision
    for turn in range(_ROUNDS):
        told = 1 / (own + 1 / precision)
        drawn = told * weighted / precision
        rest = np.maximum(told.sum(axis=0) - told + 1 / expected.variances, _OTHERS / expected.variances)
        others = (drawn.sum(axis=0) - drawn + expected.means / expected.variances) / rest
        found = fitting(answers, scales, Gaussians(others, 1 / rest + own))
        share = _FIRST if turn == 0 else _LATER
        precision = (1 - share) * precision + share / found.variances
        weighted = (1 - share) * weighted + share * found.means / found.variances
    return Gaussians(weighted / precision, 1 / precision)
