"""Reading tables: CSV and Parquet, lazily, so that a file may be larger than memory.

How a file is cut into rows and cells never depends on what is in its rows: a CSV file follows its header, one line a
record (`csv_file`), and a Parquet file says it itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path

import polars as pl

from copriv.errors import BadTable
from copriv.records.csv_file import open_csv

_CSV, _PARQUET = (".csv", ".tsv"), (".parquet", ".pq")
_BATCH_ROWS = 100_000

Tell = Callable[[int, int], None]
Note = Callable[[str], None]


def open_table(
    path: Path, *, tell: Tell = lambda _done, _total: None, note: Note = lambda _words: None
) -> pl.LazyFrame:
    """A table on disk, not read yet; a file that is missing or no table is refused here.

    Args:
        path: a CSV file, which is checked line by line, or a Parquet file.
        tell: is told how many bytes of how many are checked.
        note: is told what a person should know about the file.
    """
    if not path.is_file():
        raise BadTable(f"there is no file {path}", remedy="check the path", value=str(path))
    suffix = path.suffix.lower()
    if suffix not in (*_CSV, *_PARQUET):
        raise BadTable(
            f"{path.name} is neither CSV nor Parquet by its name",
            remedy="give a .csv, .tsv or .parquet file",
            value=path.suffix,
        )
    return _open_csv(path, tell, note) if suffix in _CSV else _open_parquet(path)


def _open_csv(path: Path, tell: Tell, note: Note) -> pl.LazyFrame:
    """Every column as text: what is a number is decided once, on the public rows, not by the first lines of a file."""
    found = open_csv(path, tell)
    if found.ragged:
        note(
            f"{found.ragged:,} lines of {path.name} have more or fewer cells than its header: what they lack is "
            "missing, what is too much is dropped"
        )
    return found.table


def _open_parquet(path: Path) -> pl.LazyFrame:
    table = pl.scan_parquet(path)
    try:
        names = table.collect_schema().names()
    except pl.exceptions.PolarsError as problem:
        raise BadTable(
            f"{path.name} cannot be read: {_first_line(problem)}",
            remedy="check that the file is complete and of the format its name says",
            value=str(path),
        ) from problem
    if not names:
        raise BadTable(f"{path.name} has no columns", remedy="give a table with a header", value=str(path))
    return table


def count_rows(table: pl.LazyFrame) -> int:
    """How many rows a table has."""
    return int(collect(table.select(pl.len())).item())


def collect(table: pl.LazyFrame) -> pl.DataFrame:
    """Read a (part of a) table into memory; a broken file becomes an error that says so."""
    try:
        return table.collect(engine="streaming")
    except pl.exceptions.PolarsError as problem:
        raise _broken(problem) from problem


def read_batches(table: pl.LazyFrame, names: Iterable[str], tell: Tell) -> Iterator[tuple[slice, pl.DataFrame]]:
    """Some columns of a table, batch by batch, each with the places of its rows; `tell` is told of rows."""
    rows, done = count_rows(table), 0
    try:
        for batch in table.select(sorted(set(names))).collect_batches(chunk_size=_BATCH_ROWS, maintain_order=True):
            yield slice(done, done + batch.height), batch
            done += batch.height
            tell(done, rows)
    except pl.exceptions.PolarsError as problem:
        raise _broken(problem) from problem
    if done != rows:
        raise BadTable(
            f"the table had {rows:,} rows, and then {done:,}",
            remedy="do not change the file while it is read",
            value=done,
        )


def require_columns(table: pl.LazyFrame, names: Iterable[str]) -> None:
    """Refuse a table without one of these columns, suggesting the nearest name."""
    present = table.collect_schema().names()
    for name in names:
        if name not in present:
            close = get_close_matches(name, present, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"it has {', '.join(present[:12])} …"
            raise BadTable(f"the table has no column {name!r}", remedy=hint, value=name)


def _broken(problem: Exception) -> BadTable:
    return BadTable(
        f"the table cannot be read to the end: {_first_line(problem)}", remedy="check that the file is complete"
    )


def _first_line(problem: Exception) -> str:
    return str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
