"""Passes over records: the average loss, plain or bounded, its clipped average gradient, its curvature.

`clipped_average_gradient` is an owner's hot path. Records are taken in blocks that stay in the cache: margins, slopes
and clip factors of a block are computed column by column, then multiplied back. One reading of the records, all cores,
and no temporary larger than a block (plus a row of partial sums for each, so that the result does not depend on the
number of cores).

What is done with a block is in `losses.blocks`; a loss from another package takes `losses.outside_passes`.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numba import prange, set_num_threads

from copriv.errors import BadInput
from copriv.losses import huber, logistic, outside_passes, squared
from copriv.losses.blocks import average_rows, fold_block, hold, hold_block, margin_of, measure_block, says_something
from copriv.losses.loss import Loss
from copriv.losses.outside import OutsideLoss
from copriv.losses.people_passes import people_gradients, people_values
from copriv.losses.records import Records, add_up
from copriv.losses.sample import Sample
from copriv.vectors import BLOCK, CORES, FloatArray, Norm, compiled, compiled_parallel, compiled_reordered

# Below this a core takes longer to wake than to do the work, and spins while it waits.
_RECORDS_PER_CORE = 16_384
_SQUARED, _HUBER = squared.CODE, huber.CODE
_SQUARED_CURVATURE = squared.SquaredLoss.curvature_bound


def average_value(loss: Loss, sample: Sample, theta: FloatArray) -> float:
    """(1/n) Σ ℓ(θᵀx, y)."""
    _prepare(sample, theta)
    if isinstance(loss, OutsideLoss) or sample.people is not None:
        return sample.mean(record_values(loss, sample, theta))
    return float(_value_sum(loss.code, loss.threshold, sample.columns, sample.targets, theta) / sample.records)


def bounded_average_value(loss: Loss, records: Records, theta: FloatArray, bound: float) -> float:
    """(1/n) Σ min(ℓ(θᵀx, y), B): each record's own loss is bounded.

    A record whose loss is no number counts as B, and so does one that is all zeros: it has no usable target.
    """
    _require_fit(records, theta)
    if not 0 < bound < math.inf:
        raise BadInput(f"the loss bound is {bound}", remedy="give a finite number greater than 0", value=bound)
    return float(add_up(records, partial(bounded_block_values, loss, theta, bound))[0] / records.records)


def record_values(loss: Loss, sample: Sample, theta: FloatArray) -> FloatArray:
    """ℓ(θᵀx, y) of every row: what two models are compared by, at home."""
    _prepare(sample, theta)
    if isinstance(loss, OutsideLoss):
        return outside_passes.values(loss, sample, theta)
    return _values(loss.code, loss.threshold, sample.columns, sample.targets, theta)


def average_gradient(loss: Loss, records: Records, theta: FloatArray) -> FloatArray:
    """(1/n) Σ ∇ℓ, the query of the paper without clipping."""
    return clipped_average_gradient(loss, records, theta, math.inf, Norm.L2)


def clipped_average_gradient(loss: Loss, records: Records, theta: FloatArray, clip: float, norm: Norm) -> FloatArray:
    """(1/n) Σ ∇ℓ · min(1, C/‖∇ℓ‖): each record's own gradient is clipped, in the mechanism's norm.

    Where a record is a person, its gradient is that of all its rows together, and is clipped as one. A record whose
    gradient is not finite, or whose length is beyond 1e±290, counts as a zero gradient.
    """
    _require_fit(records, theta)
    if not clip > 0:
        raise BadInput(f"the clip is {clip}", remedy="give a number greater than 0", value=clip)
    return add_up(records, partial(clipped_block_gradients, loss, theta, clip, norm)) / records.records


def clipped_block_gradients(loss: Loss, theta: FloatArray, clip: float, norm: Norm, sample: Sample) -> FloatArray:
    """The sum of clipped gradients of every block of a stretch, one block a row."""
    _prepare(sample, theta)
    if sample.people is not None:
        slopes = record_slopes(loss, sample, theta) * sample.people.weights
        return people_gradients(sample.columns, slopes, sample.people.starts, clip, norm.value)
    if isinstance(loss, OutsideLoss):
        return outside_passes.clipped_blocks(loss, sample, theta, clip, norm.value)
    return _gradient_blocks(loss.code, loss.threshold, sample.columns, sample.targets, theta, clip, norm.value)


def bounded_block_values(loss: Loss, theta: FloatArray, bound: float, sample: Sample) -> FloatArray:
    """The sum of bounded losses of every block of a stretch, one block a row."""
    _prepare(sample, theta)
    if sample.people is not None:
        values = np.where(sample.columns.any(axis=0), record_values(loss, sample, theta), bound)
        return people_values(values * sample.people.weights, sample.people.starts, bound)
    if isinstance(loss, OutsideLoss):
        return outside_passes.bounded_blocks(loss, sample, theta, bound)
    return _bounded_value_blocks(loss.code, loss.threshold, sample.columns, sample.targets, theta, bound)


def clipped_average_gradients(loss: Loss, sample: Sample, thetas: FloatArray, clip: float, norm: Norm) -> FloatArray:
    """`clipped_average_gradient` at many models (one a row) in one reading of the records, to the last bit the same."""
    _prepare(sample, thetas[0])
    if isinstance(loss, OutsideLoss) or sample.people is not None:
        return np.stack([clipped_average_gradient(loss, sample, theta, clip, norm) for theta in thetas])
    arguments = (loss.code, loss.threshold, sample.columns, sample.targets)
    return _gradient_averages(*arguments, np.ascontiguousarray(thetas), clip, norm.value)


def average_curvature(loss: Loss, sample: Sample, theta: FloatArray) -> FloatArray:
    """(1/n) Σ ∇²ℓ, the Hessian of the average loss."""
    if isinstance(loss, squared.SquaredLoss):
        return loss.curvature_bound * (sample.weighted @ sample.columns.T) / sample.records
    return weighted_outer(sample.columns, sample.weights * record_curvatures(loss, sample, theta)) / sample.records


def weighted_outer(columns: FloatArray, weights: FloatArray) -> FloatArray:
    """Σ weight · xxᵀ over rows; weights from 0 take half the work of any."""
    if weights.min(initial=0.0) < 0:
        return np.asarray((columns * weights) @ columns.T)
    scaled = columns * np.sqrt(weights)
    return np.asarray(scaled @ scaled.T)


def record_slopes(loss: Loss, sample: Sample, theta: FloatArray) -> FloatArray:
    """∂ℓ/∂z of every row; its gradient is that times x."""
    _prepare(sample, theta)
    if isinstance(loss, OutsideLoss):
        return outside_passes.slopes(loss, sample, theta)
    return _slopes(loss.code, loss.threshold, sample.columns, sample.targets, theta)


def record_curvatures(loss: Loss, sample: Sample, theta: FloatArray) -> FloatArray:
    """∂²ℓ/∂z² of every row; its Hessian is that times xxᵀ."""
    _prepare(sample, theta)
    if isinstance(loss, OutsideLoss):
        return outside_passes.curvatures(loss, sample, theta)
    return _curvatures(loss.code, loss.threshold, sample.columns, sample.targets, theta)


def gradient_norms(loss: Loss, sample: Sample, theta: FloatArray, norm: Norm) -> FloatArray:
    """‖∇ℓ‖ of every record: what a clip is chosen by, on public rows."""
    return gradient_lengths(sample, record_slopes(loss, sample, theta), norm)


def gradient_lengths(sample: Sample, slopes: FloatArray, norm: Norm) -> FloatArray:
    """‖∇ℓ‖ of every record, from ∂ℓ/∂z of every row."""
    if sample.people is None:
        return np.asarray(np.abs(slopes) * np.linalg.norm(sample.columns, ord=norm.value, axis=0), dtype=np.float64)
    return np.asarray(np.linalg.norm(sample.by_record(sample.columns * slopes), ord=norm.value, axis=0))


def _prepare(sample: Sample, theta: FloatArray) -> None:
    """Check that model and records fit, and take as many cores as the records are worth waking."""
    set_num_threads(min(CORES, max(1, sample.rows // _RECORDS_PER_CORE)))
    _require_fit(sample, theta)


def _require_fit(records: Records, theta: FloatArray) -> None:
    if theta.shape != (records.parameters,):
        raise BadInput(
            f"a model of shape {theta.shape} for records with {records.parameters} features",
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
    hold_block(columns, first, clip, power, lengths, slopes)


@compiled_parallel
def _gradient_blocks(
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
    return partial


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
        averages[r] = average_rows(partial[r], records)
    return averages


@compiled_parallel
def _value_sum(code: int, threshold: float, columns: FloatArray, targets: FloatArray, theta: FloatArray) -> float:
    records = targets.size
    blocks = (records + BLOCK - 1) // BLOCK
    partial = np.empty(blocks)
    for block in prange(blocks):
        total = 0.0
        for record in range(block * BLOCK, min((block + 1) * BLOCK, records)):
            total += _value(code, threshold, margin_of(columns, theta, record), targets[record])
        partial[block] = total
    return float(partial.sum())


@compiled_parallel
def _bounded_value_blocks(
    code: int, threshold: float, columns: FloatArray, targets: FloatArray, theta: FloatArray, bound: float
) -> FloatArray:
    records = targets.size
    blocks = (records + BLOCK - 1) // BLOCK
    partial = np.empty((blocks, 1))
    for block in prange(blocks):
        total = 0.0
        for record in range(block * BLOCK, min((block + 1) * BLOCK, records)):
            value = _value(code, threshold, margin_of(columns, theta, record), targets[record])
            total += hold(value, bound) if says_something(columns, record) else bound
        partial[block, 0] = total
    return partial


@compiled_parallel
def _values(code: int, threshold: float, columns: FloatArray, targets: FloatArray, theta: FloatArray) -> FloatArray:
    values = np.empty(targets.size)
    for record in prange(targets.size):
        values[record] = _value(code, threshold, margin_of(columns, theta, record), targets[record])
    return values


@compiled_parallel
def _slopes(code: int, threshold: float, columns: FloatArray, targets: FloatArray, theta: FloatArray) -> FloatArray:
    slopes = np.empty(targets.size)
    for record in prange(targets.size):
        slopes[record] = _slope(code, threshold, margin_of(columns, theta, record), targets[record])
    return slopes


@compiled_parallel
def _curvatures(code: int, threshold: float, columns: FloatArray, targets: FloatArray, theta: FloatArray) -> FloatArray:
    curvatures = np.empty(targets.size)
    for record in prange(targets.size):
        curvatures[record] = _curvature(code, threshold, margin_of(columns, theta, record), targets[record])
    return curvatures
