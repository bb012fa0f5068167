"""Records as a pass sees them: stretches of whole blocks, in order, in memory or read again for every pass.

A pass makes a few numbers of every block of `BLOCK` records, and adds up the blocks in order. So a sum has the same
bits however many blocks a stretch has, wherever it was worked on, and whether the records are kept or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from copriv.vectors import FloatArray, compiled

if TYPE_CHECKING:
    from copriv.losses.sample import Sample

# What a pass makes of a stretch of records; it may run in another process, so it holds all that it needs.
Work: TypeAlias = "Callable[[Sample], FloatArray]"


class Records(Protocol):
    """Records that can be passed over as often as one likes."""

    @property
    def records(self) -> int:
        """How many records there are (n): rows, or people."""

    @property
    def parameters(self) -> int:
        """How many numbers a model has (p)."""

    @property
    def most_rows(self) -> int:
        """How many rows the person with most has; 0 if a record is a row."""

    def extremes(self) -> tuple[float, float]:
        """The length of the longest record, and the largest target."""

    def each(self, work: Work) -> Iterator[FloatArray]:
        """What `work` makes of every stretch, in order; all stretches but the last are whole blocks."""


def add_up(records: Records, work: Work) -> FloatArray:
    """The sum of all rows that `work` makes of the stretches, one row after another."""
    total: FloatArray | None = None
    for rows in records.each(work):
        total = np.zeros(rows.shape[1]) if total is None else total
        _add_rows(total, rows)
    if total is None:
        raise ValueError("there are no records")
    return total


@compiled
def _add_rows(total: FloatArray, rows: FloatArray) -> None:
    for row in range(rows.shape[0]):
        for j in range(total.size):
            total[j] += rows[row, j]
