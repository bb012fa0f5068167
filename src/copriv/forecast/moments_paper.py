"""Algorithm 1 with one H for all owners: its first and second moments, direction by direction.

In one direction write u for θ − θ*, with θ* the optimum of the nominal c. Owner i's gradient at θ is hθ − c − d_i, with
d_i fixed for the whole run, of mean 0 and variance v_i, independent between owners: that is how owners differ by
sampling. Meeting owner i, with ū = (u_L + u_i)/2,

    u_i ← A_i ū + r_i + B_i (d_i + w),    u_L ← a ū + r_L,
    A_i = 1 − α_i(λ/N + s_i h),  B_i = α_i s_i,  a = 1 − 2λα_L c_N,    s_i = n_i/n,

where r collects what is constant. So these close: E u, E u u and E u d, one of each for a kind of owners, and for two
*different* owners of two kinds. Equal owners leave four second moments: of (L, L), (L, i), (i, i) and (i, j).

ψ is measured from the optimum of all records, which the differences move by t = Σ s_i d_i/(h + 2λ).
"""

from __future__ import annotations

import numpy as np
from numba import prange, set_num_threads

from copriv.forecast.moment_path import MomentPath, worth_waking
from copriv.forecast.owner_groups import OwnerGroups
from copriv.forecast.spectrum import Spectrum
from copriv.rules.paper import PaperRule
from copriv.vectors import FloatArray, compiled_parallel, compiled_reordered


def follow_paper(rule: PaperRule, landscape: Spectrum, kinds: OwnerGroups, horizon: int) -> MomentPath:
    """Moments of θ_L − θ* after every meeting, and how far the copies wander."""
    steps = rule.step / kinds.availability
    pull = steps * kinds.shares
    lam, theta = landscape.regularization, landscape.optimum
    slopes = 1 - steps[:, None] * (lam / rule.owners + np.outer(kinds.shares, landscape.curvatures))
    shift = -steps[:, None] * (lam / rule.owners - 2 * lam * kinds.shares[:, None]) * theta
    central = 1 - 2 * lam * rule.step * rule.central.factor(rule.owners)
    mean, second = np.empty((2, horizon, theta.size))
    wander = np.empty((theta.size, kinds.counts.size))
    set_num_threads(worth_waking(horizon * theta.size * kinds.counts.size**2))
    _directions(
        (kinds.counts, kinds.availability, kinds.shares, pull, (pull * kinds.deviations) ** 2),
        (np.ascontiguousarray(slopes.T), np.ascontiguousarray(shift.T), np.outer(landscape.spread, kinds.differences)),
        central,
        (theta, landscape.stiffness),
        (mean, second, wander),
    )
    return MomentPath(mean, second, wander)


@compiled_parallel
def _directions(
    owners: tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray],
    moves: tuple[FloatArray, FloatArray, FloatArray],
    central: float,
    place: tuple[FloatArray, FloatArray],
    path: tuple[FloatArray, FloatArray, FloatArray],
) -> None:
    """Every direction, in place on the path (mean, second moment, wander)."""
    counts, gammas, shares, pulls, noise = owners
    slopes, shifts, variances = moves
    optimum, stiffness = place
    mean, second, wander = path
    for j in prange(optimum.size):
        drift = (central - 1) * optimum[j]
        settings = (counts, gammas, shares, slopes[j], shifts[j], pulls, noise, variances[j])
        _follow(settings, central, drift, optimum[j], stiffness[j], mean[:, j], second[:, j], wander[j])


@compiled_reordered
def _follow(
    settings: tuple[FloatArray, ...],
    central: float,
    drift: float,
    optimum: float,
    stiffness: float,
    mean: FloatArray,
    second: FloatArray,
    wander: FloatArray,
) -> None:
    """One direction. Names: m means, P and M second moments, C those with the owners' differences d."""
    counts, gammas, shares, slopes, shifts, pulls, noise, variances = settings
    kinds, met = counts.size, counts * gammas
    turned, pushed, drawn = gammas * slopes / 2, gammas * shifts, gammas * pulls
    left = turned - gammas
    moves = (gammas, met, turned, left)
    moved = np.sum(shares**2 * counts * variances) / stiffness**2
    m_l, p_l = -optimum, optimum**2
    m, p, m_lo = np.full(kinds, m_l), np.full(kinds, p_l), np.full(kinds, p_l)
    c_own, c_lo, seen, known = np.zeros((4, kinds))
    pairs, c, c_back = np.full((kinds, kinds), p_l), np.zeros((kinds, kinds)), np.zeros((kinds, kinds))
    wander[:] = 0.0
    for k in range(mean.size):
        _meet_pairs(pairs, moves, pushed, m, m_lo, seen)
        if moved > 0:
            _differ(pairs, c, c_back, moves, drawn, c_lo, known)
        next_m, next_p, told = drift, drift**2, moved
        for a in range(kinds):
            g, slope, shift, pull = gammas[a], slopes[a], shifts[a], pulls[a]
            half, q, d = (m_l + m[a]) / 2, (p_l + 2 * m_lo[a] + p[a]) / 4, (c_lo[a] + c_own[a]) / 2
            together, answered = slope * q + shift * half + pull * d, slope * half + shift
            learnt = slope * d + pull * variances[a]
            next_m += central * met[a] * half
            next_p += central * met[a] * (central * q + 2 * drift * half)
            p[a] += g * (slope * together + shift * answered + pull * learnt + noise[a] - p[a])
            unmet = (1 - g) * (central / 2 * m_lo[a] + drift * m[a]) + central / 2 * seen[a]
            m_lo[a] = g * (central * together + drift * answered) + unmet
            m[a] += g * (answered - m[a])
            c_lo[a] = central / 2 * (c_lo[a] + g * c_own[a] + known[a])
            c_own[a] += g * (learnt - c_own[a])
            told -= 2 * counts[a] * shares[a] * c_lo[a] / stiffness
            wander[a] = max(wander[a], p[a] - m[a] ** 2)
        m_l, p_l = next_m, next_p
        mean[k] = m_l
        second[k] = p_l + told


# Loops over few arrays are ones that the compiler dares to vectorise.


@compiled_reordered
def _meet_pairs(
    pairs: FloatArray,
    moves: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    pushed: FloatArray,
    m: FloatArray,
    m_lo: FloatArray,
    seen: FloatArray,
) -> None:
    """E u_i u_j of different owners of kinds a and b; what an owner's pairs were, over those met instead of it."""
    gammas, met, turned, left = moves
    for a in range(m.size):
        row = pairs[a]
        stay, turn, push, mine, mine_l = 1 + left[a], turned[a], pushed[a], m[a], m_lo[a]
        total = -gammas[a] * row[a]
        for b in range(m.size):
            total += met[b] * row[b]
        for b in range(m.size):
            row[b] = (stay + left[b]) * row[b] + turn * m_lo[b] + turned[b] * mine_l + push * m[b] + pushed[b] * mine
        seen[a] = total


@compiled_reordered
def _differ(
    pairs: FloatArray,
    c: FloatArray,
    c_back: FloatArray,
    moves: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    drawn: FloatArray,
    c_lo: FloatArray,
    known: FloatArray,
) -> None:
    """What owners' differences add to pairs, and E u_i d_j itself: c, and c_back with its kinds exchanged."""
    gammas, met, turned, left = moves
    for a in range(c_lo.size):
        row, there, back, stay, turn, draw, mine = pairs[a], c[a], c_back[a], 1 + left[a], turned[a], drawn[a], c_lo[a]
        total = -gammas[a] * there[a]
        for b in range(c_lo.size):
            row[b] += draw * back[b] + drawn[b] * there[b]
        for b in range(c_lo.size):
            total += met[b] * back[b]
        for b in range(c_lo.size):
            there[b] = stay * there[b] + turn * c_lo[b]
        for b in range(c_lo.size):
            back[b] = (1 + left[b]) * back[b] + turned[b] * mine
        known[a] = total
