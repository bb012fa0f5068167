"""Averaged steps with one H for all owners: first and second moments of the path and of its mean.

In one direction, with u, d_i and v_i as for Algorithm 1 (`paper_alike`), an answer of owner i moves the one model by

    u ← G_i u + r_i + B_i (d_i + w),    G_i = 1 − s(2λ + N s_i h),  B_i = s N s_i,    s_i = n_i/n, s the step.

The model is the mean of the second half, so E S, E S², E S u and E S d_i of the running sum S are carried along. All
E u d_i grow by one factor, so E u d_i = γ_i B_i v_i φ with one φ for all owners: a hundred kinds cost what one costs.
"""

from __future__ import annotations

import numpy as np
from numba import prange, set_num_threads

from copriv.forecast.moment_path import MomentPath, worth_waking
from copriv.forecast.owner_groups import OwnerGroups
from copriv.forecast.spectrum import Spectrum
from copriv.rules.averaged import AveragedRule
from copriv.vectors import FloatArray, compiled_parallel, compiled_reordered


def follow_averaged(rule: AveragedRule, landscape: Spectrum, kinds: OwnerGroups) -> MomentPath:
    """Moments of the model minus θ* after every answer of the rule's horizon, and how far θ wanders."""
    theta, motion = landscape.optimum, motion_of(rule, landscape, kinds)
    mean, second = np.empty((2, theta.size, rule.horizon))
    wander = np.empty((theta.size, 1))
    set_num_threads(worth_waking(rule.horizon * theta.size))
    _directions(motion, theta, landscape.stiffness, rule.horizon // 2, mean, second, wander)
    return MomentPath(mean.T, second.T, wander)


def motion_of(rule: AveragedRule, landscape: Spectrum, kinds: OwnerGroups) -> FloatArray:
    """All that an answer does to moments (one row a direction): sums over owners of what each one does.

    Columns: G, r, G², 2Gr, the constant of E u², E u d in E u², E S d in E S u, how far θ* moves, Σ s_i d_i in E u d.
    """
    lam, theta, met = landscape.regularization, landscape.optimum, kinds.counts * kinds.availability
    pulls = rule.step * kinds.owners * kinds.shares
    slopes = 1 - 2 * lam * rule.step - np.outer(landscape.curvatures, pulls)
    shifts = 2 * lam * np.outer(theta, pulls - rule.step)
    noise, variances = (pulls * kinds.deviations) ** 2, np.outer(landscape.spread, kinds.differences)
    learnt = kinds.availability * pulls * variances
    columns = (
        slopes @ met,
        shifts @ met,
        slopes**2 @ met,
        2 * (slopes * shifts) @ met,
        (shifts**2 + pulls**2 * variances + noise) @ met,
        2 * (slopes * learnt) @ (met * pulls),
        learnt @ (met * pulls),
        variances @ (kinds.shares**2 * kinds.counts) / landscape.stiffness**2,
        learnt @ (kinds.counts * kinds.shares),
    )
    return np.stack(columns, axis=1)


@compiled_parallel
def _directions(
    motion: FloatArray,
    optimum: FloatArray,
    stiffness: FloatArray,
    skipped: int,
    mean: FloatArray,
    second: FloatArray,
    wander: FloatArray,
) -> None:
    for j in prange(optimum.size):
        _follow(motion[j], optimum[j], stiffness[j], skipped, mean[j], second[j], wander[j])


@compiled_reordered
def _follow(
    motion: FloatArray,
    optimum: float,
    stiffness: float,
    skipped: int,
    mean: FloatArray,
    second: FloatArray,
    wander: FloatArray,
) -> None:
    """One direction. Names: m and q moments of u, c those with d; total, square, cross and kept those of the sum S."""
    slope, shift, squared, mixed, steady, felt, carried, moved, shared = motion
    m, q, total, square, cross, c, kept = -optimum, optimum**2, 0.0, 0.0, 0.0, 0.0, 0.0
    wander[0] = 0.0
    for k in range(mean.size):
        cross = slope * cross + shift * total + carried * kept
        q = squared * q + mixed * m + felt * c + steady
        m = slope * m + shift
        c = slope * c + 1
        wander[0] = max(wander[0], q - m**2)
        if k >= skipped:
            square += 2 * cross + q
            cross += q
            total += m
            kept += c
            counted = k + 1 - skipped
            found, power, known = total / counted, square / counted**2, shared * kept / counted
        else:
            found, power, known = m, q, shared * c
        mean[k] = found
        second[k] = power - 2 * known / stiffness + moved
