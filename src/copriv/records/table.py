"""Reading tables: CSV and Parquet, lazily, so that a file may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

import polars as pl

from copriv.errors import BadTable

_CSV, _PARQUET = (".csv",), (".parquet", ".pq")


def open_table(path: Path) -> pl.LazyFrame:
    """A table on disk, not read yet; a file that is missing or no table is refused here."""
    if not path.is_file():
        raise BadTable(f"there is no file {path}", remedy="check the path", value=str(path))
    suffix = path.suffix.lower()
    if suffix not in (*_CSV, *_PARQUET):
        raise BadTable(
            f"{path.name} is neither CSV nor Parquet by its name",
            remedy="give a .csv or .parquet file",
            value=path.suffix,
        )
    table = _scan_csv(path) if suffix in _CSV else pl.scan_parquet(path)
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


def _scan_csv(path: Path) -> pl.LazyFrame:
    """Every column as text: what is a number is decided once, on the public rows, not by the first lines of a file."""
    return pl.scan_csv(path, infer_schema=False, truncate_ragged_lines=True)


def count_rows(table: pl.LazyFrame) -> int:
    """How many rows a table has."""
    return int(collect(table.select(pl.len())).item())


def collect(table: pl.LazyFrame) -> pl.DataFrame:
    """Read a (part of a) table into memory; a broken file becomes an error that says so."""
    try:
        return table.collect(engine="streaming")
    except pl.exceptions.PolarsError as problem:
        raise BadTable(
            f"the table cannot be read to the end: {_first_line(problem)}",
            remedy="check that the file is complete",
        ) from problem


def require_columns(table: pl.LazyFrame, names: Iterable[str]) -> None:
    """Refuse a table without one of these columns, suggesting the nearest name."""
    present = table.collect_schema().names()
    for name in names:
        if name not in present:
            close = get_close_matches(name, present, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"it has {', '.join(present[:12])} …"
            raise BadTable(f"the table has no column {name!r}", remedy=hint, value=name)


def _first_line(problem: Exception) -> str:
    return str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
