"""One owner's table, reduced with a dictionary that others have fitted: all it takes to join their study.

Nothing is left out because of what is in it: an owner has as many records as its table has rows, or people. That number
becomes public, so it must not depend on any record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from copriv.errors import BadTable
from copriv.losses.people import NOBODY, Whose
from copriv.losses.records import Records
from copriv.losses.sample import Sample
from copriv.protocol.unit import PersonUnit
from copriv.records.block_files import BlockFile, open_block_files
from copriv.records.dictionary import Dictionary
from copriv.records.file_format import FileFormat
from copriv.records.folder import files_of
from copriv.records.load_notices import about_people
from copriv.records.people import Repeated, find_repeated, read_codes, require_no_target
from copriv.records.ranges import require_name
from copriv.records.resources import Resources
from copriv.records.source import Stamps, stamp
from copriv.records.streamed import Part, StreamedRecords, survey_stretch
from copriv.records.table import BATCH_ROWS, Note, collect_batches, count_rows, is_held, require_columns
from copriv.records.unread import describe_unseen

Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class OwnRecords:
    """The records, one for every row of the table, and what a person should know about them."""

    sample: Sample
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenedRecords:
    """The same, in memory or read again for every pass."""

    records: Records
    notices: tuple[str, ...]
    repeated: Repeated | None = None


def load_owner(
    table: pl.LazyFrame,
    dictionary: Dictionary,
    *,
    target: str | None = None,
    person: PersonUnit | None = None,
    tell: Tell = lambda _done, _total: None,
) -> OwnRecords:
    """Read and reduce a table, batch by batch, into memory.

    Args:
        table: the owner's rows.
        dictionary: the study's.
        target: what the owner calls the column to predict, if not as the study does.
        person: which column names people, if a record is a person.
        tell: is told how many rows of how many are read.
    """
    form = _Form(dictionary, target, person)
    sample, notices = _in_memory(_count([table], form), form, BATCH_ROWS, tell)
    return OwnRecords(sample, notices)


def open_owner_records(
    path: Path | Sequence[BlockFile],
    form: FileFormat,
    dictionary: Dictionary,
    resources: Resources,
    *,
    target: str | None = None,
    person: PersonUnit | None = None,
    tell: Tell = lambda _done, _total: None,
    note: Note = lambda _words: None,
) -> OpenedRecords:
    """Read and reduce a file, or a folder of files; what does not fit in memory is read again for every pass.

    Args:
        path: the file or folder; or several, each with what is read of it and how it is written.
        form: how it is written.
        dictionary: the study's.
        resources: how much memory there is, and who helps.
        target: what the owner calls the column to predict, if not as the study does.
        person: which column names people, if a record is a person; such rows have to fit in memory.
        tell: is told how many rows of how many are read, now and in every later pass.
        note: is told what a person should know about a file.
    """
    files = [BlockFile(path, form)] if isinstance(path, Path) else path
    for file in files:
        _require_streamable(file.path, file.form, resources)
    stamps = stamp(*(file.path for file in files))
    study = _Form(dictionary, target, person)
    named = [target or dictionary.target.name, *dictionary.target.columns[1:]]
    names = [*named, *dictionary.required_columns(), *study.people]
    tables = open_block_files(files, names, tell, note)
    parts = _count(tables, study)
    batch_rows = resources.rows_at_once(len(names) + dictionary.parameters)
    if resources.spread is None and resources.fits(sum(part.rows for part in parts), dictionary.parameters):
        sample, notices = _in_memory(parts, study, batch_rows, tell)
        stamps.require_unchanged()
        return OpenedRecords(sample, notices, None if person else _repeated(tables, dictionary, target))
    if person is not None:
        raise BadTable(
            f"{stamps.places} does not fit in the memory that is allowed, and people are grouped in memory",
            remedy="give more --memory and no --cluster, or split the file by person",
            value=stamps.places,
        )
    streamed = stream(parts, dictionary, replace(resources, batch_rows=batch_rows), stamps=stamps, tell=tell)
    return OpenedRecords(streamed, _notices(streamed.records, streamed.used, streamed.unlisted))


def stream(
    parts: Sequence[Part],
    dictionary: Dictionary,
    resources: Resources,
    *,
    stamps: Stamps | None = None,
    tell: Tell = lambda _done, _total: None,
) -> StreamedRecords:
    """Records that are read again for every pass, after a first one that notes what they are."""
    batch_rows = resources.rows_at_once(len(dictionary.required_columns()) + dictionary.parameters)
    blank = StreamedRecords(tuple(parts), dictionary, batch_rows, stamps, resources.spread, tell=tell)
    found = list(blank.visit(survey_stretch))
    unlisted: Counter[str] = Counter()
    for each in found:
        unlisted.update(each.unlisted)
    used, longest, largest = np.array([each.result for each in found]).T
    bounds, digests = (float(longest.max()), float(largest.max())), tuple(each.digest for each in found)
    return replace(blank, digests=digests, used=int(used.sum()), bounds=bounds, unlisted=dict(unlisted))


@dataclass(frozen=True, slots=True)
class _Form:
    """What a study needs of a table: features, the target under the owner's name for it, and whose a row is."""

    dictionary: Dictionary
    target: str | None
    person: PersonUnit | None

    @property
    def people(self) -> tuple[str, ...]:
        return () if self.person is None else (self.person.column,)


def _count(tables: Sequence[pl.LazyFrame], form: _Form) -> list[Part]:
    """The columns that the study needs of every file, under its names, and how many rows there are."""
    needed = [_as_study(table, form) for table in tables]
    parts = [Part(table, 0, count_rows(table)) for table in needed]
    if form.person is None:
        _require_enough(sum(part.rows for part in parts), form.dictionary)
    return parts


def _require_enough(records: int, dictionary: Dictionary) -> None:
    if records < dictionary.parameters:
        raise BadTable(
            f"{records} records, fewer than {dictionary.features} features and an intercept",
            remedy="an owner needs more records than that to take part",
            value=records,
        )


def _as_study(table: pl.LazyFrame, form: _Form) -> pl.LazyFrame:
    dictionary, target = form.dictionary, form.target
    for name in form.people:
        require_name(name, "the column of people")
        require_no_target(name, dictionary.target.columns)
    if target is not None and target != dictionary.target.name:
        require_name(target, "your target")
        require_columns(table, [target])
        table = table.drop(dictionary.target.name, strict=False).rename({target: dictionary.target.name})
    names = [*dictionary.target.columns, *dictionary.required_columns(), *form.people]
    require_columns(table, names)
    return table.select(sorted(set(names)))


def _repeated(tables: Sequence[pl.LazyFrame], dictionary: Dictionary, target: str | None) -> Repeated | None:
    """A column of a single file that looks as if it named people; whatever goes wrong, none: it is only pointed out."""
    try:
        return find_repeated(tables[0], [target or dictionary.target.name]) if len(tables) == 1 else None
    except Exception:  # noqa: BLE001 - it may be one record's doing
        return None


def _in_memory(parts: Sequence[Part], form: _Form, batch_rows: int, tell: Tell) -> tuple[Sample, tuple[str, ...]]:
    """All records in memory, and what a person should know about them."""
    sample, whose, unseen = _reduce(parts, form, batch_rows, tell)
    notices = _notices(sample.records, int(sample.used.sum()), unseen)
    grouped = sample.grouped(whose)
    if whose is None:
        return grouped, notices
    _require_enough(grouped.records, form.dictionary)
    return grouped, (*notices, *about_people(form.person, whose, [np.arange(sample.rows)]))


def _reduce(
    parts: Sequence[Part], form: _Form, batch_rows: int, tell: Tell
) -> tuple[Sample, Whose | None, Counter[str]]:
    """All rows in memory, whose they are, and cells of each column in a category without a place of its own."""
    dictionary, person, places = form.dictionary, form.person, dict[str, int]()
    unseen: Counter[str] = Counter()
    rows, done = sum(part.rows for part in parts), 0
    columns, targets = np.zeros((dictionary.width, rows)), np.zeros(rows)
    whose = None if person is None else Whose(np.full(rows, NOBODY, dtype=np.int64), person.rows_cap, person.weigh)
    for part in parts:
        for batch in collect_batches(part.table, batch_rows):
            if done + batch.height > rows:
                raise _changed(rows, done + batch.height)
            features, targets[done : done + batch.height], others = dictionary.read(batch)
            unseen.update(others)
            columns[:, done : done + batch.height] = features.T
            if person is not None and whose is not None:
                whose.codes[done : done + batch.height] = read_codes(batch[person.column], places)
            done += batch.height
            tell(done, rows)
    if done != rows:
        raise _changed(rows, done)
    columns.flags.writeable = targets.flags.writeable = False
    p = dictionary.parameters
    return Sample(columns[:p], targets, None, columns[p:].ravel()), whose, unseen


def _changed(rows: int, done: int) -> BadTable:
    return BadTable(
        f"the table had {rows:,} rows, and then {done:,}", remedy="do not change the file while it is read", value=done
    )


def _require_streamable(path: Path, form: FileFormat, resources: Resources) -> None:
    """Refuse texts that are held in memory as a whole, and would not fit; packed, they are some eight times larger."""
    for file in files_of(path):
        if is_held(file, form) and 8 * file.stat().st_size > resources.memory:
            raise BadTable(
                f"{file.name} has {file.stat().st_size:,} bytes, and a file of its kind is read into memory as a whole",
                remedy="write it as Parquet or as plain UTF-8 CSV, which are read in batches, or give more --memory",
                value=str(file),
            )


def _notices(rows: int, used: int, unseen: Mapping[str, int] | None = None) -> tuple[str, ...]:
    unusable = rows - used
    about = [f"{unusable:,} rows have no usable target: they count and contribute nothing"] if unusable else []
    return (*about, *describe_unseen(unseen or {}))
