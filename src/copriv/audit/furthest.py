"""The two records that move second moments furthest, as far as anyone knows: found here, not taken from `privacy`.

In L2 they are unit vectors at 60° with opposite targets, and nothing lies beyond (docs/theory/rules.md has the proof).
In L1 they are what a general search ends at (tests/unit/rules/test_statistics.py): features in two parts, alike within
each part, so that a size and two angles say it all and a grid of them finds the best. Nobody has proved that nothing
lies beyond in L1; a certificate only needs that these two can be reached.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from copriv.audit.reference import reference_moments
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray, Norm, read_only

TARGETS = (1.0, -1.0)
_ANGLES = np.linspace(-np.pi / 2, np.pi / 2, 361)
_SIZES_TRIED = 4


@cache
def furthest_rows(parameters: int, norm: Norm) -> FloatArray:
    """The features of both records, of length 1; their targets are 1 and −1.

    >>> rows = furthest_rows(9, Norm.L2)
    >>> (rows @ rows.T).round(9).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    if parameters == 1:
        return read_only([[1.0], [1.0]])
    if norm is Norm.L1:
        return read_only(_two_parts(parameters))
    rows = np.zeros((2, parameters))
    rows[0, 0], rows[1, :2] = 1.0, (0.5, np.sqrt(0.75))
    return read_only(rows)


@cache
def furthest_change(parameters: int, norm: Norm) -> float:
    """How far apart their moments are.

    >>> round(furthest_change(9, Norm.L2) ** 2, 9), round(furthest_change(9, Norm.L1), 3)
    (4.5, 11.443)
    """
    first, second = (
        reference_moments(Sample.of_rows([row], [target]), norm)
        for row, target in zip(furthest_rows(parameters, norm), TARGETS, strict=True)
    )
    return norm.of(second - first)


def _two_parts(parameters: int) -> FloatArray:
    """Unit vectors with one value on each part: the best of a few sizes of the parts and all angles on a grid."""
    middle = parameters // 2
    lefts = range(middle, min(middle + _SIZES_TRIED, parameters))
    return max((_best_angles(left, parameters - left) for left in lefts), key=lambda found: found[0])[1]


def _best_angles(left: int, right: int) -> tuple[float, FloatArray]:
    a, b = np.cos(_ANGLES) / np.sqrt(left), np.sin(_ANGLES) / np.sqrt(right)
    squares = left * (left + 1) / 2 * _differences(a * a) + right * (right + 1) / 2 * _differences(b * b)
    mixed = left * right * _differences(a * b)
    targets = left * np.abs(a[:, None] + a) + right * np.abs(b[:, None] + b)
    changes = squares + mixed + targets
    best = np.unravel_index(np.argmax(changes), changes.shape)
    return float(changes[best]), np.array([np.repeat([a[i], b[i]], [left, right]) for i in best])


def _differences(values: FloatArray) -> FloatArray:
    return np.asarray(np.abs(values[:, None] - values))
