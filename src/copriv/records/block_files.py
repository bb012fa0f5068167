"""Files that a study reads together: blocks of arrival, each whole or for some of its people only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from copriv.records.file_format import PLAIN, FileFormat
from copriv.records.person_id import NOBODY, person_id, require_kept
from copriv.records.table import Note, open_tables, read_batches, require_columns

Tell = Callable[[int, int], None]

_ID = "copriv person"


@dataclass(frozen=True, slots=True, eq=False)
class BlockFile:
    """One file, or a folder of files, and whose rows of it are read.

    Args:
        path: where it lies.
        form: how it is written.
        person: the column that says whose a row is; empty if every row is read.
        people: the ids of those whose rows are read, as `person_id` writes them; None for all.
    """

    path: Path
    form: FileFormat = PLAIN
    person: str = ""
    people: pl.Series | None = None


def open_block_files(
    files: Sequence[BlockFile],
    names: Sequence[str],
    tell: Tell = lambda _done, _total: None,
    note: Note = lambda _words: None,
) -> tuple[pl.LazyFrame, ...]:
    """The tables of the files, in order, with the rows of those people only who are to be read.

    Args:
        files: in the order of arrival.
        names: the columns that are needed of files without a header.
        tell: is told how many bytes of how many are checked.
        note: is told what a person should know about a file.
    """
    found: list[pl.LazyFrame] = []
    for file in files:
        wanted = [*names, file.person] if file.person else names
        tables = open_tables(file.path, file.form, names=wanted, tell=tell, note=note)
        found.extend(_of_people(table, file) for table in tables)
    return tuple(found)


def names_people(file: BlockFile) -> bool:
    """Whether a file has the column that says whose a row is."""
    tables = open_tables(file.path, file.form, names=[file.person])
    return all(file.person in table.collect_schema() for table in tables)


def people_in(file: BlockFile, tell: Tell = lambda _done, _total: None) -> tuple[list[str], int]:
    """The ids of all people of a file, each once, in the order of their first rows; and how many rows name nobody.

    Raises:
        BadTable: the file has no such column, or ids in it are not those that people had.
    """
    tables = open_tables(file.path, file.form, names=[file.person])
    for table in tables:
        require_columns(table, [file.person])
        require_kept(table, file.person, file.path.name)
    named: dict[str, None] = {}
    nobody = 0
    for batch in _batches(tables, file.person, tell):
        named.update(dict.fromkeys(batch))
        nobody += batch.count(NOBODY)
    return [each for each in named if each != NOBODY], nobody


def _of_people(table: pl.LazyFrame, file: BlockFile) -> pl.LazyFrame:
    if file.people is None:
        return table
    require_columns(table, [file.person])
    chosen = pl.LazyFrame({_ID: file.people.cast(pl.String)})
    named = table.with_columns(person_id(file.person, table.collect_schema()[file.person]).alias(_ID))
    return named.join(chosen, on=_ID, how="semi", maintain_order="left").drop(_ID)


def _batches(tables: Sequence[pl.LazyFrame], name: str, tell: Tell) -> Iterator[list[str]]:
    for _, batch in read_batches(tables, [name], tell):
        yield batch.select(person_id(name, batch.schema[name])).to_series().to_list()
