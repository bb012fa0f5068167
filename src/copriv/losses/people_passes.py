"""Passes over people: what a person's rows add up to is held within its clip or bound as one, and then added up.

Slopes and values of every row come from the passes over rows, times what each row counts. The result of a person is a
number or a vector that depends on its own rows alone, and is no longer than the clip, whatever they are: so a block of
people has the rounding of a block of records (`privacy.sensitivity`).
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from copriv.losses.blocks import hold
from copriv.vectors import BLOCK, FloatArray, IntArray, compiled, compiled_parallel


@compiled_parallel
def people_gradients(columns: FloatArray, slopes: FloatArray, starts: IntArray, clip: float, power: int) -> FloatArray:
    """Of every block of people, Σ of Σ slope · x over a person's rows, shortened to the clip; no clip if infinite."""
    people = starts.size - 1
    blocks = (people + BLOCK - 1) // BLOCK
    partial = np.zeros((blocks, columns.shape[0]))
    for block in prange(blocks):
        last = min((block + 1) * BLOCK, people)
        add_people(columns, slopes, starts[block * BLOCK : last + 1], clip, power, partial[block])
    return partial


@compiled
def add_people(
    columns: FloatArray, slopes: FloatArray, starts: IntArray, clip: float, power: int, total: FloatArray
) -> None:
    """Add up some people: of each, Σ slope · x over its rows, shortened to the clip."""
    gradient = np.empty(columns.shape[0])
    for person in range(starts.size - 1):
        _gradient_of(columns, slopes, starts[person], starts[person + 1], gradient)
        kept = kept_of(gradient, clip, power)
        if kept > 0.0:
            for j in range(gradient.size):
                total[j] += gradient[j] * kept


@compiled_parallel
def people_values(values: FloatArray, starts: IntArray, bound: float) -> FloatArray:
    """Of every block of people, Σ of a person's losses, each sum within [0, bound]; no number counts as the bound."""
    people = starts.size - 1
    blocks = (people + BLOCK - 1) // BLOCK
    partial = np.zeros((blocks, 1))
    for block in prange(blocks):
        for person in range(block * BLOCK, min((block + 1) * BLOCK, people)):
            total = 0.0
            for row in range(starts[person], starts[person + 1]):
                total += values[row]
            partial[block, 0] += hold(total, bound)
    return partial


@compiled
def _gradient_of(columns: FloatArray, slopes: FloatArray, first: int, last: int, gradient: FloatArray) -> None:
    for j in range(gradient.size):
        total = 0.0
        for row in range(first, last):
            total += slopes[row] * columns[j, row]
        gradient[j] = total


@compiled
def kept_of(gradient: FloatArray, clip: float, power: int) -> float:
    """The share of a gradient that the clip leaves; 0 if it is no number. Lengths are in units of the largest entry."""
    largest = 0.0
    for j in range(gradient.size):
        if not math.isfinite(gradient[j]):
            return 0.0
        largest = max(largest, abs(gradient[j]))
    if largest == 0.0 or clip == math.inf:
        return 1.0
    total = 0.0
    for j in range(gradient.size):
        share = abs(gradient[j]) / largest
        total += share if power == 1 else share * share
    length = largest * (total if power == 1 else math.sqrt(total))
    return clip / max(clip, length)
