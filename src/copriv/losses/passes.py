"""Passes over records: the average loss, plain or bounded, its clipped average gradient, its curvature.

`clipped_average_gradient` is an owner's hot path. Records are taken in blocks that stay in the cache: margins, slopes
and clip factors of a block are computed column by column, then multiplied back. One reading of the records, all cores,
and no temporary larger than a block (plus a row of partial sums for each, so that the result does not depend on the
number of cores).

A clipped gradient is never longer than the clip, at the ends of the range of doubles too. Records whose length or
gradient is out of the ordinary are few, so they are looked at one by one, after the block has been measured as a whole
(`_shorten_odd`). docs/theory/sensitivity.md has the proof.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange, set_num_threads

from copriv.errors import BadInput
from copriv.losses import huber, logistic, squared
from copriv.losses.loss import Loss
from copriv.losses.sample import Sample
from copriv.vectors import BLOCK, CORES, FloatArray, Norm, compiled, compiled_parallel, compiled_reordered

# Below this a core takes longer to wake than to do the work, and spins while it waits.
_RECORDS_PER_CORE = 16_384
_SQUARED, _HUBER = squared.CODE, huber.CODE
# Lengths in this range, and gradients at most this many clips long, lose nothing to underflow or overflow.
_SHORTEST, _LONGEST, _MOST_CLIPS = 1e-140, 1e140, 1e280
# Records beyond these lengths contribute nothing.
_TOO_SHORT, _TOO_LONG = 1e-290, 1e290
_SQUARED_CURVATURE = squared.SquaredLoss.curvature_bound


def average_value(loss: Loss, sample: Sample, theta: FloatArray) -> float:
    """(1/n) Σ ℓ(θᵀx, y)."""
    _prepare(sample, theta)
    return float(_value_sum(loss.code, loss.threshold, sample.columns, sample.targets, theta) / sample.records)


def bounded_average_value(loss: Loss, sample: Sample, theta: FloatArray, bound: float) -> float:
    """(1/n) Σ min(ℓ(θᵀx, y), B): each record's own loss is bounded.

    A record whose loss is no number counts as B, and so does one that is all zeros: it has no usable target.
    """
    _prepare(sample, theta)
    if not 0 < bound < math.inf:
        raise BadInput(f"the loss bound is {bound}", remedy="give a finite number greater than 0", value=bound)
    average = _bounded_value_average(loss.code, loss.threshold, sample.columns, sample.targets, theta, bound)
    return float(average[0])


def record_values(loss: Loss, sample: Sample, theta: FloatArray) -> FloatArray:
    """ℓ(θᵀx, y) of every record: what two models are compared by, at home."""
    _prepare(sample, theta)
    return _values(loss.code, loss.threshold, sample.columns, sample.targets, theta)


def average_gradient(loss: Loss, sample: Sample, theta: FloatArray) -> FloatArray:
    """(1/n) Σ ∇ℓ, the query of the paper without clipping."""
    _prepare(sample, theta)
    return _gradient_average(loss.code, loss.threshold, sample.columns, sample.targets, theta, math.inf, Norm.L2.value)


def clipped_average_gradient(loss: Loss, sample: Sample, theta: FloatArray, clip: float, norm: Norm) -> FloatArray:
    """(1/n) Σ ∇ℓ · min(1, C/‖∇ℓ‖): each record's own gradient is clipped, in the mechanism's norm.

    A record whose gradient is not finite, or whose length is beyond 1e±290, counts as a zero gradient.
    """
    _prepare(sample, theta)
    if not clip > 0:
        raise BadInput(f"the clip is {clip}", remedy="give a number greater than 0", value=clip)
    return _gradient_average(loss.code, loss.threshold, sample.columns, sample.targets, theta, clip, norm.value)


def clipped_average_gradients(loss: Loss, sample: Sample, thetas: FloatArray, clip: float, norm: Norm) -> FloatArray:
    """`clipped_average_gradient` at many models (one a row) in one reading of the records, to the last bit the same."""
    _prepare(sample, thetas[0])
    arguments = (loss.code, loss.threshold, sample.columns, sample.targets)
    return _gradient_averages(*arguments, np.ascontiguousarray(thetas), clip, norm.value)


def average_curvature(loss: Loss, sample: Sample, theta: FloatArray) -> FloatArray:
    """(1/n) Σ ∇²ℓ, the Hessian of the average loss."""
    _prepare(sample, theta)
    weights = _curvatures(loss.code, loss.threshold, sample.columns, sample.targets, theta)
    return (sample.columns * weights) @ sample.columns.T / sample.records


def record_slopes(loss: Loss, sample: Sample, theta: FloatArray) -> FloatArray:
    """∂ℓ/∂z of every record; its gradient is that times x."""
    _prepare(sample, theta)
    return _slopes(loss.code, loss.threshold, sample.columns, sample.targets, theta)


def record_curvatures(loss: Loss, sample: Sample, theta: FloatArray) -> FloatArray:
    """∂²ℓ/∂z² of every record; its Hessian is that times xxᵀ."""
    _prepare(sample, theta)
    return _curvatures(loss.code, loss.threshold, sample.columns, sample.targets, theta)


def gradient_norms(loss: Loss, sample: Sample, theta: FloatArray, norm: Norm) -> FloatArray:
    """‖∇ℓ‖ of every record: what a clip is chosen by, on public rows."""
    slopes = record_slopes(loss, sample, theta)
    return np.asarray(np.abs(slopes) * np.linalg.norm(sample.columns, ord=norm.value, axis=0), dtype=np.float64)


def _prepare(sample: Sample, theta: FloatArray) -> None:
    """Check that model and records fit, and take as many cores as the records are worth waking."""
    set_num_threads(min(CORES, max(1, sample.records // _RECORDS_PER_CORE)))
    if theta.shape != (sample.parameters,):
        raise BadInput(
            f"a model of shape {theta.shape} for records with {sample.parameters} features",
            remedy="use the model and the dictionary of one study",
            value=theta.shape,
        )


@compiled
def _slope(code: int, threshold: float, margin: float, target: float) -> float:
    if code == _SQUARED:
        return squared.slope(margin, target)
    if code == _HUBER:
        return huber.slope(margin, target, threshold)
    return logistic.slope(margin, target)


@compiled
def _value(code: int, threshold: float, margin: float, target: float) -> float:
    if code == _SQUARED:
        return squared.value(margin, target)
    if code == _HUBER:
        return huber.value(margin, target, threshold)
    return logistic.value(margin, target)


@compiled
def _curvature(code: int, threshold: float, margin: float, target: float) -> float:
    if code == _SQUARED:
        return _SQUARED_CURVATURE
    if code == _HUBER:
        return huber.curvature(margin, target, threshold)
    return logistic.curvature(margin, target)


@compiled_reordered
def measure_block(
    columns: FloatArray, first: int, theta: FloatArray, power: int, margins: FloatArray, lengths: FloatArray
) -> None:
    """θᵀx and ‖x‖ of each record of a block, column by column."""
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
def clip_block(
    loss: tuple[int, float],
    columns: FloatArray,
    first: int,
    targets: FloatArray,
    clip: float,
    power: int,
    lengths: FloatArray,
    slopes: FloatArray,
) -> None:
    """From margins to slopes of a loss (its code and threshold), shortened where slope · ‖x‖ exceeds the clip."""
    code, threshold = loss
    for b in range(slopes.size):
        slopes[b] = _slope(code, threshold, slopes[b], targets[b])
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
def _average_rows(partial: FloatArray, records: int) -> FloatArray:
    average = np.zeros(partial.shape[1])
    for block in range(partial.shape[0]):
        for j in range(average.size):
            average[j] += partial[block, j]
    for j in range(average.size):
        average[j] /= records
    return average


@compiled_parallel
def _gradient_average(
    code: int,
    threshold: float,
    columns: FloatArray,
    targets: FloatArray,
    theta: FloatArray,
    clip: float,
    power: int,
) -> FloatArray:
    parameters, records = columns.shape
    blocks = (records + BLOCK - 1) // BLOCK
    partial = np.empty((blocks, parameters))
    for block in prange(blocks):
        first = block * BLOCK
        last = min(first + BLOCK, records)
        slopes = np.zeros(last - first)
        lengths = np.zeros(last - first)
        measure_block(columns, first, theta, power, slopes, lengths)
        clip_block((code, threshold), columns, first, targets[first:last], clip, power, lengths, slopes)
        fold_block(columns, first, slopes, partial[block])
    return _average_rows(partial, records)


@compiled_parallel
def _gradient_averages(
    code: int,
    threshold: float,
    columns: FloatArray,
    targets: FloatArray,
    thetas: FloatArray,
    clip: float,
    power: int,
) -> FloatArray:
    parameters, records = columns.shape
    blocks = (records + BLOCK - 1) // BLOCK
    partial = np.empty((thetas.shape[0], blocks, parameters))
    for block in prange(blocks):
        first = block * BLOCK
        last = min(first + BLOCK, records)
        for r in range(thetas.shape[0]):
            slopes = np.zeros(last - first)
            lengths = np.zeros(last - first)
            measure_block(columns, first, thetas[r], power, slopes, lengths)
            clip_block((code, threshold), columns, first, targets[first:last], clip, power, lengths, slopes)
            fold_block(columns, first, slopes, partial[r, block])
    averages = np.empty(thetas.shape)
    for r in range(thetas.shape[0]):
        averages[r] = _average_rows(partial[r], records)
    return averages


@compiled
def _margin(columns: FloatArray, theta: FloatArray, record: int) -> float:
    margin = 0.0
    for j in range(theta.size):
        margin += theta[j] * columns[j, record]
    return margin


@compiled_parallel
def _value_sum(code: int, threshold: float, columns: FloatArray, targets: FloatArray, theta: FloatArray) -> float:
    records = targets.size
    blocks = (records + BLOCK - 1) // BLOCK
    partial = np.empty(blocks)
    for block in prange(blocks):
        total = 0.0
        for record in range(block * BLOCK, min((block + 1) * BLOCK, records)):
            total += _value(code, threshold, _margin(columns, theta, record), targets[record])
        partial[block] = total
    return float(partial.sum())


@compiled
def _says_something(columns: FloatArray, record: int) -> bool:
    """Whether a record is not all zeros."""
    said = False
    for j in range(columns.shape[0]):
        said |= columns[j, record] != 0.0
    return said


@compiled
def _hold(value: float, bound: float) -> float:
    """The nearest number within [0, B]; NaN is not below B, and becomes B."""
    return max(value, 0.0) if value < bound else bound


@compiled_parallel
def _bounded_value_average(
    code: int, threshold: float, columns: FloatArray, targets: FloatArray, theta: FloatArray, bound: float
) -> FloatArray:
    records = targets.size
    blocks = (records + BLOCK - 1) // BLOCK
    partial = np.empty((blocks, 1))
    for block in prange(blocks):
        total = 0.0
        for record in range(block * BLOCK, min((block + 1) * BLOCK, records)):
            value = _value(code, threshold, _margin(columns, theta, record), targets[record])
            total += _hold(value, bound) if _says_something(columns, record) else bound
        partial[block, 0] = total
    return _average_rows(partial, records)


@compiled_parallel
def _values(code: int, threshold: float, columns: FloatArray, targets: FloatArray, theta: FloatArray) -> FloatArray:
    values = np.empty(targets.size)
    for record in prange(targets.size):
        values[record] = _value(code, threshold, _margin(columns, theta, record), targets[record])
    return values


@compiled_parallel
def _slopes(code: int, threshold: float, columns: FloatArray, targets: FloatArray, theta: FloatArray) -> FloatArray:
    slopes = np.empty(targets.size)
    for record in prange(targets.size):
        slopes[record] = _slope(code, threshold, _margin(columns, theta, record), targets[record])
    return slopes


@compiled_parallel
def _curvatures(code: int, threshold: float, columns: FloatArray, targets: FloatArray, theta: FloatArray) -> FloatArray:
    curvatures = np.empty(targets.size)
    for record in prange(targets.size):
        curvatures[record] = _curvature(code, threshold, _margin(columns, theta, record), targets[record])
    return curvatures
