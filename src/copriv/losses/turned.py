"""Records along other axes: Tx in place of x, and the model that has the same margins there.

A model θ is T⁻ᵀθ there, so that θᵀx = (T⁻ᵀθ)ᵀTx. Losses are the same, and so are slopes; a gradient is Tg in place of g
and is clipped as such. The squares of T's entries add up to at most 1 (`require_axes`), so that no row becomes longer.

Rows are turned as they are read, each by itself: what a record becomes depends on no other record, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numba import prange

from copriv.errors import BadInput
from copriv.losses.records import Records, Work
from copriv.losses.sample import Sample
from copriv.vectors import BLOCK, Axes, FloatArray, compiled_rows, freeze

# What the squares of all entries may add up to, and how much longer one axis may be than another. Longer models are
# not turned: every number of an answer would cost as much as all numbers of a row.
_LEAST, _MOST, STEEPEST, MOST_TURNED = 0.25, 1.0, 1e4, 200


def require_axes(axes: Axes, parameters: int) -> None:
    """Refuse axes that rows cannot be turned to, or that could make a row longer; none is allowed."""
    if not axes:
        return
    if parameters > MOST_TURNED or len(axes) != parameters or any(len(axis) != parameters for axis in axes):
        raise BadInput(
            f"{len(axes):,} axes for models of {parameters:,} numbers",
            remedy=f"give as many axes as a model has numbers, each of as many numbers, at most {MOST_TURNED}; or none",
            value=len(axes),
        )
    entries = [entry for axis in axes for entry in axis]
    squares = math.fsum(entry * entry for entry in entries) if all(abs(entry) <= 1 for entry in entries) else math.inf
    if not _LEAST <= squares <= _MOST:
        raise BadInput(
            f"axes whose entries have squares that add up to {squares:g}",
            remedy=f"divide all of them by one number, so that their squares add up to {_LEAST:g} to {_MOST:g}",
            value=squares,
        )
    steepness = float(np.linalg.cond(np.asarray(axes)))
    if not steepness <= STEEPEST:
        raise BadInput(
            f"axes of which one is {steepness:.3g} times as long as another, seen from the best side",
            remedy=f"give axes that lie apart: at most {STEEPEST:g} times",
            value=steepness,
        )


@dataclass(frozen=True, slots=True)
class Turned:
    """Records along other axes (T, one axis a row); they are turned stretch by stretch."""

    plain: Records
    axes: FloatArray

    @property
    def records(self) -> int:
        """How many records there are."""
        return self.plain.records

    @property
    def parameters(self) -> int:
        """How many numbers a model has."""
        return self.plain.parameters

    @property
    def most_rows(self) -> int:
        """How many rows the person with most has; 0 if a record is a row."""
        return self.plain.most_rows

    def extremes(self) -> tuple[float, float]:
        """Of the plain records: no turned one is longer than the longest of these."""
        return self.plain.extremes()

    def each(self, work: Work) -> Iterator[FloatArray]:
        """What `work` makes of every stretch, turned."""
        return self.plain.each(partial(_work_turned, work, self.axes))

    def in_parts(self, records: int) -> Records:
        """The same, not more than so many records a stretch where they lie in memory."""
        plain = self.plain.in_parts(records) if isinstance(self.plain, Sample) else self.plain
        return Turned(plain, self.axes)


def turned(records: Records, axes: Axes) -> Records:
    """The records along these axes; as they are if there are none."""
    if not axes:
        return records
    return Turned(records, np.asarray(axes)).in_parts(BLOCK * max(1, _MOST_NUMBERS // (BLOCK * records.parameters)))


def turned_model(theta: FloatArray, axes: Sequence[Sequence[float]] | FloatArray) -> FloatArray:
    """The model there that has the margins of θ; θ itself if there are no axes."""
    return np.asarray(np.linalg.solve(np.asarray(axes).T, theta)) if len(axes) else theta


def turn(sample: Sample, axes: Sequence[Sequence[float]] | FloatArray) -> Sample:
    """A sample along these axes, all of it at once; as it is if there are none."""
    if not len(axes):
        return sample
    columns = freeze(_turn(sample.columns, np.asarray(axes, dtype=np.float64)))
    return Sample(columns, sample.targets, sample.people, sample.offsets)


# So many numbers of records in memory are turned at a time: 8 MiB.
_MOST_NUMBERS = 1 << 20


def _work_turned(work: Work, axes: FloatArray, sample: Sample) -> FloatArray:
    return work(turn(sample, axes))


@compiled_rows
def _turn(columns: FloatArray, axes: FloatArray) -> FloatArray:
    """TX, every number added up in the order of the features: its bits depend on nothing else."""
    parameters, records = columns.shape
    found = np.zeros((parameters, records))
    for block in prange((records + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        last = min(first + BLOCK, records)
        for j in range(parameters):
            told = found[j, first:last]
            for k in range(parameters):
                entry, column = axes[j, k], columns[k, first:last]
                for b in range(told.size):
                    told[b] += entry * column[b]
    return found
