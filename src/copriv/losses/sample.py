"""A sample: records reduced to numbers, one column after another so that a pass reads memory in order.

A record is a row, or a person with all of its rows (`losses.people`). `records` counts people then, and whatever is
told of every record is told of every person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from copriv.errors import BadInput
from copriv.losses.people import People, Whose, group
from copriv.losses.records import Records, Work
from copriv.vectors import FloatArray, IntArray, freeze, read_only

# Records to look at are as many as have so many numbers: 128 MiB.
_MOST_NUMBERS = 1 << 24
# No offset that a dictionary gives is larger.
LARGEST_OFFSET = 30.0
NO_OFFSETS: FloatArray = freeze(np.empty(0))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sample:
    """Features (parameters × rows) and targets of some rows, and whose they are if a record is a person.

    An offset, where rows have one, is a part of the margin that no model changes: the margin is θᵀx plus the offset.

    >>> Sample.of_rows([[1.0, 2.0], [3.0, 4.0]], [0.5, 1.0])
    Sample(records=2, parameters=2)
    """

    columns: FloatArray
    targets: FloatArray
    people: People | None = None
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
        if self.people is not None and self.people.weights.size != self.targets.size:
            raise BadInput(
                f"people with {self.people.weights.size} rows, and {self.targets.size} rows",
                remedy="say of each row whose it is",
                value=self.people.weights.size,
            )

    @classmethod
    def of_rows(cls, rows: object, targets: object, offsets: FloatArray = NO_OFFSETS) -> Sample:
        """From the usual records × parameters layout."""
        columns = read_only(np.asarray(rows, dtype=np.float64).T)
        return cls(columns, read_only(np.asarray(targets, dtype=np.float64)), None, read_only(offsets))

    @classmethod
    def join(cls, parts: Iterable[Sample]) -> Sample:
        """All records of several samples, in order."""
        found = list(parts)
        people = [part.people for part in found if part.people is not None]
        if people and len(people) < len(found):
            raise BadInput("records and people in one sample", remedy="group all rows by person, or none")
        return cls(
            freeze(np.concatenate([part.columns for part in found], axis=1)),
            freeze(np.concatenate([part.targets for part in found])),
            People.join(people) if people else None,
            freeze(np.concatenate([part.offsets for part in found])),
        )

    def grouped(self, whose: Whose | None) -> Sample:
        """The same rows, a record being a person (`people.group`); as they are if nobody says whose they are.

        >>> Sample.of_rows([[1.0], [2.0], [3.0]], [0.0, 0.0, 0.0]).grouped(Whose(np.array([4, 9, 4]), 5, "person"))
        Sample(records=2, parameters=1)
        """
        if whose is None:
            return self
        rows, people = group(whose)
        return self._some(rows, people)

    @property
    def records(self) -> int:
        """How many records there are (n): rows, or people."""
        return self.rows if self.people is None else self.people.count

    @property
    def effective_records(self) -> float:
        """How many records that weigh alike would say as much; all, where they do."""
        return float(self.rows) if self.people is None else self.people.effective

    @property
    def rows(self) -> int:
        """How many rows there are. If a record is a person, that number is private."""
        return int(self.targets.size)

    @property
    def most_rows(self) -> int:
        """How many rows the person with most has; 0 if a record is a row."""
        return 0 if self.people is None else self.people.most_rows

    @property
    def parameters(self) -> int:
        """How many numbers a model has (p)."""
        return int(self.columns.shape[0])

    @property
    def weights(self) -> FloatArray:
        """How much each row counts."""
        return np.ones(self.rows) if self.people is None else self.people.weights

    @property
    def weighted(self) -> FloatArray:
        """Features, each row times what it counts."""
        return self.columns if self.people is None else self.columns * self.people.weights

    def by_record(self, values: FloatArray) -> FloatArray:
        """From something of every row to that of every record; rows are the last axis."""
        return values if self.people is None else self.people.add_up(values)

    def by_row(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """From something of every record to the same of each of its rows."""
        return values if self.people is None else np.repeat(values, self.people.sizes)

    def mean(self, values: FloatArray) -> float:
        """The average over records of something of every row."""
        return float(np.sum(values if self.people is None else values * self.people.weights) / self.records)

    def take(self, chosen: IntArray) -> Sample:
        """Some records, in this order.

        >>> Sample.of_rows([[1.0], [2.0], [3.0]], [0.1, 0.2, 0.3]).take(np.array([2, 0])).targets.tolist()
        [0.3, 0.1]
        """
        people = None if self.people is None else self.people.take(chosen)
        return self._some(self.rows_of(chosen), people)

    def rows_of(self, chosen: IntArray) -> IntArray:
        """The rows of some records, one record after another."""
        return chosen if self.people is None else self.people.rows_of(chosen)

    def with_columns(self, columns: FloatArray) -> Sample:
        """The same records with other features."""
        return Sample(read_only(columns), self.targets, self.people, self.offsets)

    def margins(self, theta: FloatArray) -> FloatArray:
        """θᵀx of every row, with its offset; of several models, one a row."""
        margins = theta @ self.columns
        return np.asarray(margins + self.offsets if self.offsets.size else margins, dtype=np.float64)

    def _some(self, rows: IntArray | npt.NDArray[np.bool_], people: People | None) -> Sample:
        """Some rows, of these people."""
        offsets = self.offsets[rows] if self.offsets.size else NO_OFFSETS
        return Sample(read_only(self.columns[:, rows]), read_only(self.targets[rows]), people, read_only(offsets))

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

    def in_parts(self, records: int) -> Records:
        """The same records, not more than so many a stretch."""
        return _Parts(self, records) if self.records > records else self

    @property
    def used(self) -> npt.NDArray[np.bool_]:
        """Which records say something; a row that is all zeros only counts, because a usable one has an intercept."""
        rows = self._used_rows
        return rows if self.people is None else np.logical_or.reduceat(rows, self.people.starts[:-1])

    def usable(self) -> Sample:
        """The records that say something, for figures that a person looks at; an answer is always from all records.

        >>> Sample.of_rows([[1.0, 0.5], [0.0, 0.0]], [0.5, 0.0]).usable()
        Sample(records=1, parameters=2)
        """
        used = self._used_rows
        if used.all():
            return self
        if not used.any():
            raise BadInput("no record has a usable target", remedy="check the column to predict", value=self.records)
        return self._some(used, None if self.people is None else self.people.keep(used))

    @property
    def _used_rows(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.columns.any(axis=0), dtype=np.bool_)

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
    return Sample(read_only(found[:p]), read_only(found[p]), None, read_only(found[p + 1 :].ravel()))


def _every(step: int, sample: Sample) -> FloatArray:
    offsets = [sample.offsets[None, ::step]] if sample.offsets.size else []
    return np.vstack([sample.columns[:, ::step], sample.targets[None, ::step], *offsets])


@dataclass(frozen=True, slots=True)
class _Parts:
    """A sample in stretches of so many records."""

    sample: Sample
    at_once: int

    @property
    def records(self) -> int:
        return self.sample.records

    @property
    def parameters(self) -> int:
        return self.sample.parameters

    @property
    def most_rows(self) -> int:
        return self.sample.most_rows

    def extremes(self) -> tuple[float, float]:
        return self.sample.extremes()

    def each(self, work: Work) -> Iterator[FloatArray]:
        for first in range(0, self.records, self.at_once):
            yield work(_stretch(self.sample, first, min(first + self.at_once, self.records)))


def _stretch(sample: Sample, first: int, last: int) -> Sample:
    """Some records that follow each other; nothing is copied."""
    people, some, here = sample.people, None, slice(first, last)
    if people is not None:
        here = slice(int(people.starts[first]), int(people.starts[last]))
        some = People(people.starts[first : last + 1] - people.starts[first], people.weights[here])
    offsets = sample.offsets[here] if sample.offsets.size else NO_OFFSETS
    return Sample(sample.columns[:, here], sample.targets[here], some, offsets)
