"""An owner's records, read from their files again for every pass: for tables that do not fit in memory.

Rows are read in batches, reduced with the study's dictionary, and cut into stretches of whole blocks. A row becomes the
same numbers wherever it stands, and blocks are the same whatever the batches were. So a pass has the bits that it would
have in memory (`losses.records`). Nothing that is read is written anywhere.

The first pass notes a hash of every stretch. A later pass in which one differs is refused: the bounds that were checked
once, and the records that an owner has promised to answer from, hold for every answer.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
import polars as pl

from copriv.errors import BadTable, RecordsChanged
from copriv.losses.records import Work
from copriv.losses.sample import Sample
from copriv.records.dictionary import Dictionary
from copriv.records.resources import Spread
from copriv.records.source import Stamps
from copriv.records.table import collect_batches
from copriv.vectors import BLOCK, FloatArray

Tell = Callable[[int, int], None]

# A stretch has about so many numbers: 8 MiB.
_STRETCH_NUMBERS = 1 << 20
# What one worker of a cluster is given at a time, in stretches.
_STRETCHES_A_TASK = 16


class Part(NamedTuple):
    """Some rows of one file, in order."""

    table: pl.LazyFrame
    first: int
    rows: int


@dataclass(frozen=True, slots=True)
class Reduction:
    """How rows become stretches of reduced records, and what is made of these.

    Args:
        dictionary: the study's.
        batch_rows: how many rows are read at a time.
        stretch: how many records a stretch has, but the last.
        work: the pass.
    """

    dictionary: Dictionary
    batch_rows: int
    stretch: int
    work: Work


class Found(NamedTuple):
    """What a pass has made of a stretch: its hash, its records, and the result.

    `unlisted` counts, column by column, cells of categories without a place of their own, in the rows read for it.
    """

    digest: bytes
    records: int
    result: FloatArray
    unlisted: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StreamedRecords:
    """Records that are read again for every pass.

    Args:
        parts: the files and how many rows each has.
        dictionary: the study's.
        batch_rows: how many rows are read at a time.
        stamps: how the files were.
        spread: who helps with a pass; None for nobody.
        digests: of every stretch, by the first pass.
        used: how many records say something.
        bounds: the length of the longest record, and the largest target.
        unlisted: of each column how many cells are of a category without a place of its own, by the first pass.
        tell: is told how many records of how many a pass has come to.
    """

    parts: tuple[Part, ...]
    dictionary: Dictionary
    batch_rows: int
    stamps: Stamps | None
    spread: Spread | None
    digests: tuple[bytes, ...] = ()
    used: int = 0
    bounds: tuple[float, float] = (np.inf, np.inf)
    unlisted: Mapping[str, int] = field(default_factory=dict)
    tell: Tell = field(default=lambda _done, _total: None)

    @property
    def records(self) -> int:
        """How many records there are (n)."""
        return sum(part.rows for part in self.parts)

    @property
    def parameters(self) -> int:
        """How many numbers a model has (p)."""
        return self.dictionary.parameters

    @property
    def most_rows(self) -> int:
        """Records are rows: people are not read in pieces."""
        return 0

    def extremes(self) -> tuple[float, float]:
        """The length of the longest record, and the largest target, as the first pass found them."""
        return self.bounds

    def each(self, work: Work) -> Iterator[FloatArray]:
        """What a pass makes of every stretch, in order.

        Raises:
            RecordsChanged: the files, or what they hold, are not what they were; nothing of this pass may be used.
        """
        seen = 0
        for place, found in enumerate(self.visit(work)):
            if place >= len(self.digests) or found.digest != self.digests[place]:
                raise self._changed()
            seen += 1
            yield found.result
        if seen != len(self.digests):
            raise self._changed()

    def visit(self, work: Work) -> Iterator[Found]:
        """The same with the hash of every stretch, which nothing is compared with."""
        self.require_unchanged()
        done, total = 0, self.records
        reduction = Reduction(self.dictionary, self.batch_rows, stretch_of(self.parameters), work)
        try:
            for found in _passed(self.parts, reduction, self.spread):
                done += found.records
                self.tell(done, total)
                yield found
        except BadTable:
            self.require_unchanged()
            raise
        self.require_unchanged()
        if done != total:
            raise self._changed()

    def require_unchanged(self) -> None:
        """Refuse files that are not as they were; tables in memory cannot change."""
        if self.stamps is not None:
            self.stamps.require_unchanged()

    def _changed(self) -> RecordsChanged:
        place = "in memory" if self.stamps is None else f"in {self.stamps.places}"
        return RecordsChanged(
            f"the records {place} are not those that were read first",
            remedy="nothing is answered from them; put them back, or start again and say what they are now",
        )

    def __repr__(self) -> str:
        return f"StreamedRecords(records={self.records}, parameters={self.parameters})"


def stretch_of(parameters: int) -> int:
    """How many records a stretch has: whole blocks of about 8 MiB, whatever the memory.

    >>> stretch_of(13), stretch_of(800)
    (80384, 1024)
    """
    return BLOCK * max(1, _STRETCH_NUMBERS // (BLOCK * parameters))


def survey_stretch(sample: Sample) -> FloatArray:
    """The records of a stretch that say something, the length of the longest, and the largest target."""
    return np.array([float(sample.used.sum()), *sample.extremes()])


def pass_over(reduction: Reduction, parts: Sequence[Part]) -> Iterator[Found]:
    """Read, reduce and cut some rows, and make of every stretch what the pass makes."""
    rows, unlisted = sum(part.rows for part in parts), Counter[str]()
    for sample in _stretches(_batches(reduction, parts, unlisted), rows, reduction):
        digest = hashlib.sha256(sample.columns.data)
        digest.update(sample.targets.data)
        digest.update(sample.offsets.data)
        yield Found(digest.digest(), sample.records, reduction.work(sample), dict(unlisted))
        unlisted.clear()


def _passed(parts: Sequence[Part], reduction: Reduction, spread: Spread | None) -> Iterator[Found]:
    if spread is None:
        return pass_over(reduction, parts)
    tasks = _divide(parts, reduction.stretch * _STRETCHES_A_TASK)
    return chain.from_iterable(spread(_pass_over_all, reduction, tasks))


def _pass_over_all(reduction: Reduction, parts: Sequence[Part]) -> list[Found]:
    return list(pass_over(reduction, parts))


def _divide(parts: Sequence[Part], rows: int) -> list[list[Part]]:
    """The same rows in pieces of so many, of which each begins where the last one ends, across files."""
    pieces: list[list[Part]] = [[]]
    room = rows
    for part in parts:
        first, left = part.first, part.rows
        while left:
            if not room:
                pieces.append([])
                room = rows
            taken = min(room, left)
            pieces[-1].append(Part(part.table, first, taken))
            first, left, room = first + taken, left - taken, room - taken
    return pieces


def _batches(
    reduction: Reduction, parts: Sequence[Part], unlisted: Counter[str]
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Reduced batches; what they have of categories without a place is added to `unlisted`."""
    for part in parts:
        for batch in collect_batches(part.table.slice(part.first, part.rows), reduction.batch_rows):
            features, targets, others = reduction.dictionary.read(batch)
            unlisted.update(others)
            yield features, targets


def _stretches(batches: Iterator[tuple[FloatArray, FloatArray]], rows: int, reduction: Reduction) -> Iterator[Sample]:
    """Reduced batches cut anew: every stretch but the last has the same size."""
    left, filled = rows, 0
    columns, targets = _blank(reduction, left)
    for features, found in batches:
        taken = 0
        while taken < found.size:
            step = min(targets.size - filled, found.size - taken)
            columns[:, filled : filled + step] = features[taken : taken + step].T
            targets[filled : filled + step] = found[taken : taken + step]
            filled, taken, left = filled + step, taken + step, left - step
            if filled == targets.size:
                p, sealed = reduction.dictionary.parameters, _sealed(columns)
                yield Sample(sealed[:p], _sealed(targets), None, sealed[p:].ravel())
                (columns, targets), filled = _blank(reduction, left), 0
    if left:
        raise RecordsChanged(
            f"a pass came to {rows - left:,} of {rows:,} rows", remedy="do not change the file while it is read"
        )


def _blank(reduction: Reduction, left: int) -> tuple[FloatArray, FloatArray]:
    size = min(reduction.stretch, left)
    return np.empty((reduction.dictionary.width, size)), np.empty(size)


def _sealed(values: FloatArray) -> FloatArray:
    values.flags.writeable = False
    return values
