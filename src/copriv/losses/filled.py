"""Gradients with second moments in the room that the clip leaves.

The noise of a clipped average gradient hides that any record's gradient is as long as the clip, and most are shorter. A
record whose clipped gradient is c also tells w·xxᵀ, packed as second moments are (`losses.moments`), with a weight w so
small that both together are no longer than the clip:

    w = min(fill, room/‖xxᵀ‖),    room = C − ‖c‖ in L1, √(C² − ‖c‖²) in L2.

So one record moves gradient and second moments together by no more than it moves a gradient alone: they need no further
noise and cost no further ε. A record with a gradient beyond the clip has no room, and tells none.
docs/theory/sensitivity.md has the proof.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numba import prange

from copriv.errors import BadInput
from copriv.losses.blocks import fold_block, hold_block
from copriv.losses.loss import Loss
from copriv.losses.moments import off_diagonal_weight, second_moment_count
from copriv.losses.outside_passes import row_lengths
from copriv.losses.passes import record_slopes
from copriv.losses.records import Records, add_up
from copriv.losses.sample import Sample
from copriv.losses.turned import Turned
from copriv.vectors import BLOCK, FloatArray, Norm, compiled, compiled_parallel, compiled_reordered

# Rows outside of these lengths tell no second moments: their squares would overflow, or have lost their digits.
_SHORTEST, _LONGEST = 1e-140, 1e140
# The numbers of so many blocks are held at a time: 64 MiB.
_MOST_NUMBERS = 1 << 23


def filled_count(parameters: int) -> int:
    """How many numbers a filled gradient has: p, and p(p + 1)/2 second moments.

    >>> filled_count(9)
    54
    """
    return parameters + second_moment_count(parameters)


def filled_average_gradient(
    loss: Loss, records: Records, theta: FloatArray, clip: float, norm: Norm, fill: float
) -> FloatArray:
    """The clipped average gradient, and behind it the average of w·xxᵀ, packed.

    >>> from copriv.losses.squared import SquaredLoss
    >>> sample = Sample.of_rows([[0.5], [1.0]], [1.0, 9.0])
    >>> filled_average_gradient(SquaredLoss(), sample, np.zeros(1), 2.0, Norm.L1, 0.1).tolist()
    [-1.5, 0.0125]
    """
    if not (clip > 0 and fill > 0 and np.isfinite(clip) and np.isfinite(fill)):
        raise BadInput(
            f"a clip of {clip} and a fill of {fill}", remedy="give finite numbers greater than 0", value=(clip, fill)
        )
    stretches = _in_parts(records, filled_count(records.parameters))
    return add_up(stretches, partial(filled_block_gradients, loss, theta, (clip, fill), norm)) / records.records


def _in_parts(records: Records, numbers: int) -> Records:
    """Records in memory so many at a time that the numbers of their blocks take little memory beside them."""
    if not isinstance(records, Sample | Turned):
        return records
    return records.in_parts(BLOCK * max(1, _MOST_NUMBERS // numbers))


def filled_block_gradients(
    loss: Loss, theta: FloatArray, bounds: tuple[float, float], norm: Norm, sample: Sample
) -> FloatArray:
    """The sum of both over every block of a stretch, one block a row; `bounds` are clip and fill."""
    if sample.people is not None:
        raise BadInput("second moments in the room of a person's gradient", remedy="fill gradients of records alone")
    if not sample.columns.flags.c_contiguous:
        # A stretch of a sample: where numbers lie otherwise, sums are taken in another order.
        sample = sample.with_columns(sample.columns)
    slopes = record_slopes(loss, sample, theta)
    lengths = row_lengths(sample, theta, norm)
    clip, fill = bounds
    above = off_diagonal_weight(norm)
    return np.asarray(_filled_blocks(sample.columns, slopes, lengths, clip, fill, norm.value, above))


def room_over_size(loss: Loss, sample: Sample, theta: FloatArray, clip: float, norm: Norm) -> FloatArray:
    """The largest weight that the room of each record allows; 0 where it has none."""
    lengths = np.abs(record_slopes(loss, sample, theta)) * np.linalg.norm(sample.columns, ord=norm.value, axis=0)
    short = np.minimum(lengths, clip)
    room = clip - short if norm is Norm.L1 else np.sqrt(clip**2 - short**2)
    size = second_moment_lengths(sample, norm)
    return np.asarray(np.divide(room, size, out=np.zeros_like(room), where=size > 0))


def second_moment_lengths(sample: Sample, norm: Norm) -> FloatArray:
    """‖xxᵀ‖ of every record, packed."""
    squares = np.sum(sample.columns**2, axis=0)
    return np.asarray((np.sum(np.abs(sample.columns), axis=0) ** 2 + squares) / 2 if norm is Norm.L1 else squares)


def seen_second_moments(
    loss: Loss, sample: Sample, theta: FloatArray, bounds: tuple[float, float], norm: Norm
) -> FloatArray:
    """The average of (w/fill)·xxᵀ: what of the second moments fits into the room; `bounds` are clip and fill."""
    clip, fill = bounds
    part = np.minimum(1.0, room_over_size(loss, sample, theta, clip, norm) / fill)
    return np.asarray((sample.columns * part) @ sample.columns.T / sample.records)


@compiled
def _weigh(clip: float, fill: float, power: int, held: float, length: float, squares: float) -> float:
    """The weight of a record whose clipped gradient has the length `held`; 0 where doubles cannot tell."""
    if not _SHORTEST <= length <= _LONGEST or not held < clip:
        return 0.0
    if power == 1:
        return min(fill, (clip - held) / ((length * length + squares) / 2))
    return min(fill, math.sqrt((clip - held) * (clip + held)) / squares)


@compiled_reordered
def _sum_squares(columns: FloatArray, first: int, squares: FloatArray) -> None:
    for j in range(columns.shape[0]):
        column = columns[j, first : first + squares.size]
        for b in range(squares.size):
            squares[b] += column[b] * column[b]


@compiled
def _scale(column: FloatArray, weights: FloatArray, scaled: FloatArray) -> None:
    """w·x before it meets another entry: a weight of 0 leaves nothing of it, where x·x might overflow."""
    for b in range(weights.size):
        scaled[b] = weights[b] * column[b]


@compiled_reordered
def _fold_moments(columns: FloatArray, first: int, weights: FloatArray, above: float, out: FloatArray) -> None:
    """Σ w·xxᵀ over a block: the diagonal, and what lies above it times its weight."""
    place, scaled = columns.shape[0], np.empty(weights.size)
    for j in range(columns.shape[0]):
        _scale(columns[j, first : first + weights.size], weights, scaled)
        for k in range(j, columns.shape[0]):
            other = columns[k, first : first + weights.size]
            total = 0.0
            for b in range(weights.size):
                total += scaled[b] * other[b]
            if k == j:
                out[j] = total
            else:
                out[place] = total * above
                place += 1


@compiled_parallel
def _filled_blocks(
    columns: FloatArray, slopes: FloatArray, lengths: FloatArray, clip: float, fill: float, power: int, above: float
) -> FloatArray:
    parameters, records = columns.shape
    blocks = (records + BLOCK - 1) // BLOCK
    partial_sums = np.empty((blocks, parameters + parameters * (parameters + 1) // 2))
    for block in prange(blocks):
        first = block * BLOCK
        last = min(first + BLOCK, records)
        held, squares, weights = slopes[first:last].copy(), np.zeros(last - first), np.empty(last - first)
        measured = lengths[first:last].copy()
        hold_block(columns, first, clip, power, measured, held)
        _sum_squares(columns, first, squares)
        for b in range(last - first):
            # The length of a record that is out of the ordinary was taken away when it was held.
            weights[b] = _weigh(clip, fill, power, abs(held[b]) * measured[b], measured[b], squares[b])
        fold_block(columns, first, held, partial_sums[block, :parameters])
        _fold_moments(columns, first, weights, above, partial_sums[block, parameters:])
    return partial_sums
