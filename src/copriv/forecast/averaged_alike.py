"""Averaged steps with one H for all owners: first and second moments of the path and of its mean.

In one direction, with u, d_i and v_i as for Algorithm 1 (`paper_alike`), an answer of owner i moves the one model by

    u ← G_i u + r_i + B_i (d_i + w),    G_i = 1 − s(2λ + N s_i h),  B_i = s N s_i,    s_i = n_i/n, s the step.

The model is the mean of the second half, so E S, E S², E S u and E S d_i of the running sum S are carried along.
"""

from __future__ import annotations

import numpy as np
from numba import prange, set_num_threads

from copriv.forecast.kinds import Kinds
from copriv.forecast.landscape import Landscape
from copriv.forecast.path import Path, worth_waking
from copriv.rules.averaged import AveragedRule
from copriv.vectors import FloatArray, compiled_parallel, compiled_reordered


def follow_averaged(rule: AveragedRule, landscape: Landscape, kinds: Kinds) -> Path:
    """Moments of the model minus θ* after every answer of the rule's horizon, and how far θ wanders."""
    lam, theta = landscape.regularization, landscape.optimum
    pulls = rule.step * kinds.owners * kinds.shares
    slopes = 1 - 2 * lam * rule.step - np.outer(landscape.curvatures, pulls)
    shifts = 2 * lam * np.outer(theta, pulls - rule.step)
    mean, second = np.empty((2, rule.horizon, theta.size))
    wander = np.empty((theta.size, 1))
    set_num_threads(worth_waking(rule.horizon * theta.size * kinds.counts.size))
    _directions(
        kinds.counts,
        kinds.availability,
        kinds.shares,
        slopes,
        shifts,
        pulls,
        (pulls * kinds.deviations) ** 2,
        np.outer(landscape.spread, kinds.differences),
        theta,
        landscape.stiffness,
        rule.horizon // 2,
        mean,
        second,
        wander,
    )
    return Path(mean, second, wander)


@compiled_parallel
def _directions(
    counts: FloatArray,
    gammas: FloatArray,
    shares: FloatArray,
    slopes: FloatArray,
    shifts: FloatArray,
    pulls: FloatArray,
    noise: FloatArray,
    variances: FloatArray,
    optimum: FloatArray,
    stiffness: FloatArray,
    skipped: int,
    mean: FloatArray,
    second: FloatArray,
    wander: FloatArray,
) -> None:
    for j in prange(optimum.size):
        settings = (counts, gammas, shares, slopes[j], shifts[j], pulls, noise, variances[j])
        _follow(settings, optimum[j], stiffness[j], skipped, mean[:, j], second[:, j], wander[j])


@compiled_reordered
def _follow(
    settings: tuple[FloatArray, ...],
    optimum: float,
    stiffness: float,
    skipped: int,
    mean: FloatArray,
    second: FloatArray,
    wander: FloatArray,
) -> None:
    """One direction. Names: m and q moments of u, c those with d; total, square, cross and kept those of the sum S."""
    counts, gammas, shares, slopes, shifts, pulls, noise, variances = settings
    met = counts * gammas
    moved = np.sum(shares**2 * counts * variances) / stiffness**2
    slope, shift = np.sum(met * slopes), np.sum(met * shifts)
    steady = np.sum(met * (shifts**2 + pulls**2 * variances + noise))
    squared, mixed = np.sum(met * slopes**2), 2 * np.sum(met * slopes * shifts)
    m, q, total, square, cross = -optimum, optimum**2, 0.0, 0.0, 0.0
    c, kept = np.zeros((2, counts.size))
    wander[0] = 0.0
    for k in range(mean.size):
        cross = slope * cross + shift * total + np.sum(met * pulls * kept)
        q = squared * q + mixed * m + 2 * np.sum(met * slopes * pulls * c) + steady
        m = slope * m + shift
        c[:] = slope * c + gammas * pulls * variances
        wander[0] = max(wander[0], q - m**2)
        if k >= skipped:
            square += 2 * cross + q
            cross += q
            total += m
            kept += c
            counted = k + 1 - skipped
            found, power, known = total / counted, square / counted**2, np.sum(counts * shares * kept) / counted
        else:
            found, power, known = m, q, np.sum(counts * shares * c)
        mean[k] = found
        second[k] = power - 2 * known / stiffness + moved
