"""What every pass does with a block of records: measure it, hold each record within its clip or bound, add it up.

A clipped gradient is never longer than the clip, at the ends of the range of doubles too. Records whose length or
gradient is out of the ordinary are few, so they are looked at one by one, after the block has been measured as a whole
(`_shorten_odd`). docs/theory/sensitivity.md has the proof. It asks nothing of a slope, so it holds for every loss.
"""

from __future__ import annotations

import math

import numpy as np

from copriv.vectors import FloatArray, compiled, compiled_reordered

# Lengths in this range, and gradients at most this many clips long, lose nothing to underflow or overflow.
_SHORTEST, _LONGEST, _MOST_CLIPS = 1e-140, 1e140, 1e280
# Records beyond these lengths contribute nothing.
_TOO_SHORT, _TOO_LONG = 1e-290, 1e290


@compiled
def begin_block(offsets: FloatArray, first: int, last: int) -> FloatArray:
    """What the margins of a block begin with: the records' offsets, or zeros where records have none."""
    return offsets[first:last].copy() if offsets.size > 0 else np.zeros(last - first)


@compiled_reordered
def measure_block(
    columns: FloatArray, first: int, theta: FloatArray, power: int, margins: FloatArray, lengths: FloatArray
) -> None:
    """θᵀx and ‖x‖ of each record of a block, column by column, added to what margins and lengths begin with."""
    for j in range(theta.size):
        column = columns[j, first : first + margins.size]
        weight = theta[j]
        if power == 1:
            for b in range(margins.size):
                margins[b] += weight * column[b]
                lengths[b] += abs(column[b])
        else:
            for b in range(margins.size):
                margins[b] += weight * column[b]
                lengths[b] += column[b] * column[b]
    if power == 2:
        for b in range(margins.size):
            lengths[b] = math.sqrt(lengths[b])


@compiled_reordered
def hold_block(
    columns: FloatArray, first: int, clip: float, power: int, lengths: FloatArray, slopes: FloatArray
) -> None:
    """Shorten the slopes of a block where slope · ‖x‖ exceeds the clip; an infinite clip leaves them as they are."""
    if clip < math.inf:
        if _count_odd(clip, lengths, slopes) > 0:
            _shorten_odd(columns, first, clip, power, lengths, slopes)
        for b in range(slopes.size):
            slopes[b] *= clip / max(clip, abs(slopes[b]) * lengths[b])


@compiled
def _ordinary(clip: float, length: float, slope: float) -> bool:
    """Whether a plain length and a plain quotient are right to the last digits; NaN is not."""
    return (length >= _SHORTEST) & (length <= _LONGEST) & (abs(slope) * length < _MOST_CLIPS * clip)


@compiled_reordered
def _count_odd(clip: float, lengths: FloatArray, slopes: FloatArray) -> int:
    odd = 0
    for b in range(slopes.size):
        odd += not _ordinary(clip, lengths[b], slopes[b])
    return odd


@compiled
def _shorten_odd(
    columns: FloatArray, first: int, clip: float, power: int, lengths: FloatArray, slopes: FloatArray
) -> None:
    """Clip the records that are out of the ordinary, and take their lengths away: they are done."""
    for b in range(slopes.size):
        if not _ordinary(clip, lengths[b], slopes[b]):
            slopes[b] = _shortened(slopes[b], _scaled_length(columns, first + b, power), clip)
            lengths[b] = 0.0


@compiled
def _shortened(slope: float, length: float, clip: float) -> float:
    """The slope with slope · length at most the clip; 0 where doubles cannot tell."""
    if not (math.isfinite(slope) and _TOO_SHORT <= length <= _TOO_LONG):
        return 0.0
    most = clip / length
    if abs(slope) <= most:
        return slope
    return math.copysign(most, slope) if most > _TOO_SHORT else 0.0


@compiled
def _scaled_length(columns: FloatArray, record: int, power: int) -> float:
    """‖x‖ in units of its largest entry, so that squares neither overflow nor vanish."""
    largest = 0.0
    for j in range(columns.shape[0]):
        largest = max(largest, abs(columns[j, record]))
    if largest == 0.0:
        return 0.0
    total = 0.0
    for j in range(columns.shape[0]):
        share = abs(columns[j, record]) / largest
        total += share if power == 1 else share * share
    return largest * (total if power == 1 else math.sqrt(total))


@compiled_reordered
def fold_block(columns: FloatArray, first: int, slopes: FloatArray, out: FloatArray) -> None:
    """Σ slope · x over a block."""
    for j in range(out.size):
        column = columns[j, first : first + slopes.size]
        total = 0.0
        for b in range(slopes.size):
            total += slopes[b] * column[b]
        out[j] = total


@compiled
def average_rows(partial: FloatArray, records: int) -> FloatArray:
    """The sum of all rows, over the number of records."""
    average = np.zeros(partial.shape[1])
    for block in range(partial.shape[0]):
        for j in range(average.size):
            average[j] += partial[block, j]
    for j in range(average.size):
        average[j] /= records
    return average


@compiled
def margin_of(columns: FloatArray, offsets: FloatArray, theta: FloatArray, record: int) -> float:
    """θᵀx of one record, with its offset if it has one."""
    margin = offsets[record] if offsets.size > 0 else 0.0
    for j in range(theta.size):
        margin += theta[j] * columns[j, record]
    return margin


@compiled
def says_something(columns: FloatArray, record: int) -> bool:
    """Whether a record is not all zeros."""
    said = False
    for j in range(columns.shape[0]):
        said |= columns[j, record] != 0.0
    return said


@compiled
def hold(value: float, bound: float) -> float:
    """The nearest number within [0, B]; NaN is not below B, and becomes B."""
    return max(value, 0.0) if value < bound else bound
