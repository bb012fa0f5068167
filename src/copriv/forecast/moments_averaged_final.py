"""The end of averaged steps without the way there: repeated squaring of what one answer does to the moments.

An answer changes (1, E u, E u d, E u², E S, E S d, E S u, E S²) by one triangular matrix in the first half and by
another in the second. T answers are powers of these, so their price is the logarithm of T: a search over steps and
horizons asks for hundreds of ends and for no way.
"""

from __future__ import annotations

import numpy as np

from copriv.forecast.moments_averaged import motion_of
from copriv.forecast.owner_groups import OwnerGroups
from copriv.forecast.spectrum import Spectrum
from copriv.rules.averaged import AveragedRule
from copriv.vectors import FloatArray, compiled

_SIZE = 8


def end_averaged(rule: AveragedRule, landscape: Spectrum, kinds: OwnerGroups) -> float:
    """E ψ after the last answer: the last number of `follow_averaged(…).expected(…)`."""
    second = np.empty(landscape.optimum.size)
    _ends(motion_of(rule, landscape, kinds), landscape.optimum, landscape.stiffness, rule.horizon, second)
    return float(second @ landscape.stiffness / (2 * landscape.best))


@compiled
def _ends(motion: FloatArray, optimum: FloatArray, stiffness: FloatArray, horizon: int, second: FloatArray) -> None:
    skipped = horizon // 2
    counted = horizon - skipped
    for j in range(optimum.size):
        state = np.zeros(_SIZE)
        state[0], state[1], state[3] = 1.0, -optimum[j], optimum[j] ** 2
        _advance(state, _answer(motion[j], False), skipped)
        _advance(state, _answer(motion[j], True), counted)
        known = motion[j, 8] * state[5] / counted
        second[j] = state[7] / counted**2 - 2 * known / stiffness[j] + motion[j, 7]


@compiled
def _answer(motion: FloatArray, summed: bool) -> FloatArray:
    """What one answer does; places: 1, m, c, q, total, kept, cross, square, as `averaged_alike` calls them."""
    slope, shift, squared, mixed, steady, felt, carried = motion[:7]
    step = np.zeros((_SIZE, _SIZE))
    step[0, 0] = 1.0
    step[1, 0], step[1, 1] = shift, slope
    step[2, 0], step[2, 2] = 1.0, slope
    step[3, 0], step[3, 1], step[3, 2], step[3, 3] = steady, mixed, felt, squared
    if summed:
        step[4, :] = step[1, :]
        step[4, 4] = 1.0
        step[5, :] = step[2, :]
        step[5, 5] = 1.0
        step[6, 4], step[6, 5], step[6, 6] = shift, carried, slope
        step[7, :] = 2 * step[6, :] + step[3, :]
        step[7, 7] = 1.0
        step[6, :] += step[3, :]
    return step


@compiled
def _advance(state: FloatArray, step: FloatArray, times: int) -> None:
    """The state after so many answers."""
    left = times
    while left > 0:
        if left % 2 == 1:
            state[:] = _apply(step, state)
        step = _square(step)
        left //= 2


@compiled
def _apply(step: FloatArray, state: FloatArray) -> FloatArray:
    found = np.zeros(_SIZE)
    for a in range(_SIZE):
        for b in range(a + 1):
            found[a] += step[a, b] * state[b]
    return found


@compiled
def _square(step: FloatArray) -> FloatArray:
    """Of a lower triangular matrix."""
    found = np.zeros((_SIZE, _SIZE))
    for a in range(_SIZE):
        for b in range(a + 1):
            for c in range(b, a + 1):
                found[a, b] += step[a, c] * step[c, b]
    return found
