"""Passes over records for a loss from outside: its own functions, and the same clipping and bounding as everywhere.

Margins and lengths are measured block by block, the loss's function maps every record by itself, and what it returns is
clipped by `hold_block`, the very function that clips for the losses of this project. It takes a row or two of numbers
as long as there are records, which the built-in passes do without.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numba import njit, prange
from numba.core.errors import NumbaError

from copriv.errors import BadInput
from copriv.losses.blocks import begin_block, fold_block, hold, hold_block, margin_of, measure_block, says_something
from copriv.losses.outside import OutsideLoss, Scalar
from copriv.losses.plain_function import require_plain
from copriv.losses.sample import Sample
from copriv.vectors import BLOCK, FloatArray, Norm, compiled_parallel

Mapped: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]

# What numba says of code that it cannot do; the code itself raises nothing (`_compile`).
_NOT_COMPILED = (NumbaError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError)


def values(loss: OutsideLoss, sample: Sample, theta: FloatArray) -> FloatArray:
    """ℓ(θᵀx, y) of every record."""
    return _apply(loss, loss.value, sample, theta)


def slopes(loss: OutsideLoss, sample: Sample, theta: FloatArray) -> FloatArray:
    """∂ℓ/∂z of every record."""
    return _apply(loss, loss.slope, sample, theta)


def curvatures(loss: OutsideLoss, sample: Sample, theta: FloatArray) -> FloatArray:
    """∂²ℓ/∂z² of every record."""
    return _apply(loss, loss.curvature, sample, theta)


def bounded_blocks(loss: OutsideLoss, sample: Sample, theta: FloatArray, bound: float) -> FloatArray:
    """Σ min(ℓ(θᵀx, y), B) of every block, as `passes.bounded_average_value` has it."""
    return _bounded_blocks(sample.columns, values(loss, sample, theta), bound)


def clipped_blocks(loss: OutsideLoss, sample: Sample, theta: FloatArray, clip: float, power: int) -> FloatArray:
    """Σ ∇ℓ · min(1, C/‖∇ℓ‖) of every block, as `passes.clipped_average_gradient` has it; no clip if it is infinite."""
    margins, lengths = _measure(sample.columns, sample.offsets, theta, power)
    found = _map(loss, loss.slope, margins, sample.targets)
    return _clipped_blocks(sample.columns, found, lengths, clip, power)


def row_lengths(sample: Sample, theta: FloatArray, norm: Norm) -> FloatArray:
    """‖x‖ of every record, as clipping measures it."""
    return _measure(sample.columns, sample.offsets, theta, norm.value)[1]


def _apply(loss: OutsideLoss, function: Scalar, sample: Sample, theta: FloatArray) -> FloatArray:
    return _map(loss, function, _margins(sample.columns, sample.offsets, theta), sample.targets)


def _map(loss: OutsideLoss, function: Scalar, margins: FloatArray, targets: FloatArray) -> FloatArray:
    try:
        return _compile(function)(margins, targets)
    except _NOT_COMPILED as problem:
        raise BadInput(
            f"a function of the loss {loss.name!r} cannot be compiled: {str(problem).strip().splitlines()[0]}",
            remedy="write it with numbers and the functions of `math`, for one margin and one target",
            value=loss.name,
        ) from problem


@lru_cache(maxsize=64)
def _compile(function: Scalar) -> Mapped:
    """A loop over records around a function of one record.

    What raises is no number, which counts as a zero gradient or as the whole bound: an error would tell of a record.
    """
    scalar = njit(nogil=True, error_model="numpy")(require_plain(function))

    def each(margins: FloatArray, targets: FloatArray) -> FloatArray:
        out = np.empty(margins.size)
        for record in range(margins.size):
            try:
                out[record] = scalar(margins[record], targets[record])
            except Exception:  # noqa: BLE001
                out[record] = np.nan
        return out

    compiled: Mapped = njit(nogil=True, error_model="numpy")(each)
    return compiled


@compiled_parallel
def _margins(columns: FloatArray, offsets: FloatArray, theta: FloatArray) -> FloatArray:
    margins = np.empty(columns.shape[1])
    for record in prange(margins.size):
        margins[record] = margin_of(columns, offsets, theta, record)
    return margins


@compiled_parallel
def _measure(columns: FloatArray, offsets: FloatArray, theta: FloatArray, power: int) -> tuple[FloatArray, FloatArray]:
    records = columns.shape[1]
    margins, lengths = begin_block(offsets, 0, records), np.zeros(records)
    for block in prange((records + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        last = min(first + BLOCK, records)
        measure_block(columns, first, theta, power, margins[first:last], lengths[first:last])
    return margins, lengths


@compiled_parallel
def _clipped_blocks(
    columns: FloatArray, slopes: FloatArray, lengths: FloatArray, clip: float, power: int
) -> FloatArray:
    parameters, records = columns.shape
    blocks = (records + BLOCK - 1) // BLOCK
    partial = np.empty((blocks, parameters))
    for block in prange(blocks):
        first = block * BLOCK
        last = min(first + BLOCK, records)
        hold_block(columns, first, clip, power, lengths[first:last], slopes[first:last])
        fold_block(columns, first, slopes[first:last], partial[block])
    return partial


@compiled_parallel
def _bounded_blocks(columns: FloatArray, values: FloatArray, bound: float) -> FloatArray:
    records = values.size
    blocks = (records + BLOCK - 1) // BLOCK
    partial = np.empty((blocks, 1))
    for block in prange(blocks):
        total = 0.0
        for record in range(block * BLOCK, min((block + 1) * BLOCK, records)):
            total += hold(values[record], bound) if says_something(columns, record) else bound
        partial[block, 0] = total
    return partial
