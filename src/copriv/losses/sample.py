"""A sample: records reduced to numbers, one column after another so that a pass reads memory in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from copriv.errors import BadInput
from copriv.losses.records import Records, Work
from copriv.vectors import FloatArray, freeze, read_only

# Records to look at are as many as have so many numbers: 128 MiB.
_MOST_NUMBERS = 1 << 24
# No offset that a dictionary gives is larger.
LARGEST_OFFSET = 30.0
NO_OFFSETS: FloatArray = freeze(np.empty(0))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sample:
    """Features (parameters × records) and targets of some records, and their offsets where they have any.

    An offset is a part of a record's margin that no model changes: the margin is θᵀx plus the offset.

    >>> Sample.of_rows([[1.0, 2.0], [3.0, 4.0]], [0.5, 1.0])
    Sample(records=2, parameters=2)
    """

    columns: FloatArray
    targets: FloatArray
    offsets: FloatArray = field(default_factory=lambda: NO_OFFSETS)

    def __post_init__(self) -> None:
        if self.columns.ndim != 2 or self.targets.shape != self.columns.shape[1:] or self.targets.size == 0:
            raise BadInput(
                f"features of shape {self.columns.shape} with targets of shape {self.targets.shape}",
                remedy="give one target a record, and at least one record",
                value=self.columns.shape,
            )
        if self.offsets.shape not in (NO_OFFSETS.shape, self.targets.shape):
            raise BadInput(
                f"{self.offsets.size} offsets of {self.targets.size} records",
                remedy="give one offset a record, or none",
                value=self.offsets.size,
            )
        if not all(np.all(np.isfinite(numbers)) for numbers in (self.columns, self.targets, self.offsets)):
            raise BadInput("a feature or target that is NaN or infinite", remedy="remove or replace it before training")

    @classmethod
    def of_rows(cls, rows: object, targets: object, offsets: FloatArray = NO_OFFSETS) -> Sample:
        """From the usual records × parameters layout."""
        columns = read_only(np.asarray(rows, dtype=np.float64).T)
        return cls(columns, read_only(np.asarray(targets, dtype=np.float64)), read_only(offsets))

    @classmethod
    def join(cls, parts: Iterable[Sample]) -> Sample:
        """All records of several samples, in order."""
        found = list(parts)
        return cls(
            freeze(np.concatenate([part.columns for part in found], axis=1)),
            freeze(np.concatenate([part.targets for part in found])),
            freeze(np.concatenate([part.offsets for part in found])),
        )

    @property
    def records(self) -> int:
        """How many records there are (n)."""
        return int(self.targets.size)

    @property
    def parameters(self) -> int:
        """How many numbers a model has (p)."""
        return int(self.columns.shape[0])

    def take(self, index: npt.NDArray[np.bool_] | npt.NDArray[np.int64] | slice) -> Sample:
        """Some of the records.

        >>> Sample.of_rows([[1.0], [2.0]], [0.5, 1.0], np.array([0.1, 0.2])).take(np.array([1])).offsets.tolist()
        [0.2]
        """
        offsets = self.offsets[index] if self.offsets.size else NO_OFFSETS
        return Sample(read_only(self.columns[:, index]), read_only(self.targets[index]), read_only(offsets))

    def with_columns(self, columns: FloatArray) -> Sample:
        """The same records by other features."""
        return Sample(columns, self.targets, self.offsets)

    def margins(self, theta: FloatArray) -> FloatArray:
        """θᵀx of every record, with its offset; of several models, one a row."""
        margins = theta @ self.columns
        return np.asarray(margins + self.offsets if self.offsets.size else margins, dtype=np.float64)

    def each(self, work: Work) -> Iterator[FloatArray]:
        """What a pass makes of all records, which are one stretch."""
        yield work(self)

    def extremes(self) -> tuple[float, float]:
        """The length of the longest record, and the largest target.

        >>> Sample.of_rows([[3.0, 4.0], [0.0, 1.0]], [0.5, -1.0]).extremes()
        (5.0, 1.0)
        """
        with np.errstate(over="ignore"):
            longest = float(np.max(np.linalg.norm(self.columns, axis=0)))
        return longest, float(np.max(np.abs(self.targets)))

    def in_parts(self, rows: int) -> Records:
        """The same records, not more than so many a stretch."""
        return _Parts(self, rows) if self.records > rows else self

    @property
    def used(self) -> npt.NDArray[np.bool_]:
        """Which records say something; one that is all zeros only counts, because a usable one has an intercept."""
        return np.asarray(self.columns.any(axis=0), dtype=np.bool_)

    def usable(self) -> Sample:
        """The records that say something, for figures that a person looks at; an answer is always from all records.

        >>> Sample.of_rows([[1.0, 0.5], [0.0, 0.0]], [0.5, 0.0]).usable()
        Sample(records=1, parameters=2)
        """
        used = self.used
        if used.all():
            return self
        if not used.any():
            raise BadInput("no record has a usable target", remedy="check the column to predict", value=self.records)
        return self.take(used)

    def __repr__(self) -> str:
        return f"Sample(records={self.records}, parameters={self.parameters})"


def some_of(records: Records) -> Sample:
    """Records to look at in memory: all that are there already, else every so many of them.

    They are no more than 16 million numbers, in an even spread over the whole table.
    """
    if isinstance(records, Sample):
        return records
    every = -(-records.records * records.parameters // _MOST_NUMBERS)
    parts = list(records.each(partial(_every, every)))
    found, p = np.hstack(parts), records.parameters
    return Sample(read_only(found[:p]), read_only(found[p]), read_only(found[p + 1 :].ravel()))


def _every(step: int, sample: Sample) -> FloatArray:
    offsets = [sample.offsets[None, ::step]] if sample.offsets.size else []
    return np.vstack([sample.columns[:, ::step], sample.targets[None, ::step], *offsets])


@dataclass(frozen=True, slots=True)
class _Parts:
    """A sample in stretches of so many rows."""

    sample: Sample
    rows: int

    @property
    def records(self) -> int:
        return self.sample.records

    @property
    def parameters(self) -> int:
        return self.sample.parameters

    def extremes(self) -> tuple[float, float]:
        return self.sample.extremes()

    def each(self, work: Work) -> Iterator[FloatArray]:
        whole = self.sample
        for first in range(0, whole.records, self.rows):
            here = slice(first, first + self.rows)
            offsets = whole.offsets[here] if whole.offsets.size else NO_OFFSETS
            yield work(Sample(whole.columns[:, here], whole.targets[here], offsets))
