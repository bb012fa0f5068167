"""The calibration slope from noisy counts: β of the logistic regression of labels on α + β·margin.

At little ε noisy counts may have no such regression at all. So the interval is that of a test. For every β there is
T(β) = Σ (y − π)(m − m̄), with π at α + βm and α such that as many positives are expected as were told. It is linear in
the counts, its noise is therefore known exactly, and m̄, the average weighted by π(1 − π), keeps it from depending on α
to first order. The interval has the β at which T(β) may be 0.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from copriv.forecast.label_figures import CellRows, Places
from copriv.vectors import FloatArray

Ends: TypeAlias = tuple[float | None, float | None]

LOWEST, HIGHEST = -10.0, 12.0
_GRID, _ROUNDS, _STEPS = 17, 4, 40
_LARGEST_MARGIN = 30.0


def slope_between(
    known: CellRows, likely: FloatArray, counts: FloatArray, draws: FloatArray, places: Places, *, tail: float
) -> tuple[float | None, Ends]:
    """The slope, and the ends of its interval; None where it is beyond −10 or 12.

    Args:
        known: how public rows lie in the cells.
        likely: counts without noise, as they may be; they weigh, and need not be exact.
        counts: as they were told (2 × bins).
        draws: what the exact counts may have been, or those of the population (draws × 2 × bins).
        places: where records lie within cells, drawn as often.
        tail: how many draws may lie beyond each end.
    """
    slopes = np.linspace(LOWEST, HIGHEST, _GRID)
    found = [_crossing(known, likely, counts, draws, places, slopes, level) for level in (0.5, 1 - tail, tail)]
    return found[0], (found[1], found[2])


def _crossing(
    known: CellRows,
    likely: FloatArray,
    counts: FloatArray,
    draws: FloatArray,
    places: Places,
    slopes: FloatArray,
    level: float,
) -> float | None:
    """Where the share of draws with T(β) > 0 comes below a level; at one half, where T of what was told does."""
    for _ in range(_ROUNDS):
        if level == 0.5:
            above = (_statistic(known, likely, slopes)[0] @ counts.reshape(-1) > 0).astype(np.float64)
        else:
            above = _shares(known, likely, draws, places, slopes)
        below = np.flatnonzero(above < level)
        if below.size == 0 or below[0] == 0:
            return None
        place = int(below[0])
        slopes = np.linspace(slopes[place - 1], slopes[place], _GRID)
    return float(slopes[_GRID // 2])


def _shares(known: CellRows, likely: FloatArray, draws: FloatArray, places: Places, slopes: FloatArray) -> FloatArray:
    values, leans = _statistic(known, likely, slopes)
    told = draws.reshape(len(draws), -1) @ values.T
    told += (likely * places.shift).reshape(len(draws), -1) @ leans.T
    return np.asarray((told > 0).mean(axis=0), dtype=np.float64)


def _statistic(known: CellRows, likely: FloatArray, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What a record of each cell adds to T at each β, and how that changes with its margin (β × cells)."""
    margins = known.points.reshape(1, -1)
    points = known.points.shape[2]
    weights = np.repeat(likely.reshape(-1) / points, points)
    labels = np.repeat([0.0, 1.0], known.points[0].size)
    alphas = _intercepts(margins, weights, float(likely[1].sum()), slopes)
    chance = _chance(alphas[:, None] + slopes[:, None] * margins)
    bend = weights * chance * (1 - chance)
    middle = (bend * margins).sum(axis=1, keepdims=True) / np.maximum(bend.sum(axis=1, keepdims=True), 1e-12)
    values = (labels - chance) * (margins - middle)
    leans = (labels - chance) - slopes[:, None] * chance * (1 - chance) * (margins - middle)
    cells = (slopes.size, likely.size, points)
    return values.reshape(cells).mean(axis=2), leans.reshape(cells).mean(axis=2)


def _intercepts(margins: FloatArray, weights: FloatArray, positives: float, slopes: FloatArray) -> FloatArray:
    """α at each β: as many positives as there are, by bisection."""
    low, high = np.full(slopes.size, -300.0), np.full(slopes.size, 300.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        expected = _chance(middle[:, None] + slopes[:, None] * margins) @ weights
        low, high = np.where(expected < positives, middle, low), np.where(expected < positives, high, middle)
    return np.asarray((low + high) / 2, dtype=np.float64)


def _chance(margins: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-np.clip(margins, -_LARGEST_MARGIN, _LARGEST_MARGIN))), dtype=np.float64)
