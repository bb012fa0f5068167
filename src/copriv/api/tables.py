"""Whatever a user has as a table: a path, or a polars, pandas or Arrow table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from copriv.errors import BadInput
from copriv.records.file_format import PLAIN, FileFormat
from copriv.records.table import open_table

Table: TypeAlias = Any
"""A path (text or `Path`), a polars DataFrame or LazyFrame, a pandas DataFrame, or anything that speaks Arrow."""


def as_path(source: Table) -> Path | None:
    """The path of a table in a file; None if it is in memory.

    >>> as_path("loans.csv")
    PosixPath('loans.csv')
    """
    return Path(source) if isinstance(source, str | Path) else None


def as_lazy(source: Table, form: FileFormat = PLAIN) -> pl.LazyFrame:
    """Any table as a lazy polars one; a file is not read yet.

    Args:
        source: a path, or a polars, pandas or Arrow table.
        form: how a file is written, where its name and header do not tell.

    Raises:
        BadTable: there is no such file, or it is no table.
        BadInput: this is nothing that can be read as a table; the words name a column, and never what is in a cell.

    >>> as_lazy({"x": [1, 2]}).collect().shape
    (2, 1)
    """
    path = as_path(source)
    if path is not None:
        return open_table(path, form)
    if isinstance(source, pl.LazyFrame):
        return _collected(source).lazy()  # once: what is read twice must be the same
    return _in_memory(source).lazy()


def _collected(source: pl.LazyFrame) -> pl.DataFrame:
    try:
        return source.collect()
    except pl.exceptions.PolarsError as problem:
        kind = type(problem).__name__  # its words may quote a cell, and so does the context of what is raised in here
    raise BadInput(
        f"the lazy table cannot be computed: {kind}",
        remedy="collect it yourself and look; the words of polars are not shown, for they may quote a record",
        value=kind,
    )


def _in_memory(source: Table) -> pl.DataFrame:
    if isinstance(source, pl.DataFrame):
        return source
    found = _converted(source)
    if found is None:  # raised out here: what pandas, Arrow or polars say may quote a cell, and is no part of this
        raise _no_table(source)
    return found


def _converted(source: Table) -> pl.DataFrame | None:
    """The table; None if it is none, whatever the reason."""
    try:
        if _is_pandas(source):
            return pl.from_pandas(source.copy())  # whoever changes it later does not change what was read
        return pl.DataFrame(source)
    except Exception:  # noqa: BLE001 - Arrow has errors of its own, and no words of theirs may be shown
        return None


def _no_table(source: Table) -> BadInput:
    """What is wrong, by the names of the columns that cannot be read."""
    kind, bad = type(source).__name__, _bad_columns(source)
    if not bad:
        return BadInput(
            f"{kind} is not a table",
            remedy="give the path of a table, or a polars, pandas or Arrow table",
            value=kind,
        )
    names = ", ".join(repr(name) for name in bad)
    return BadInput(
        f"{'a column' if len(bad) == 1 else 'columns'} of the {kind} cannot be read: {names}",
        remedy="give every column values of one type: numbers, texts, dates or booleans",
        value=bad[0],
    )


def _bad_columns(source: Table) -> list[str]:
    """The columns that are no column of a table by themselves, if the source has columns at all."""
    if _is_pandas(source) and hasattr(source, "columns"):
        parts = [(str(name), source.iloc[:, [place]]) for place, name in enumerate(source.columns)]
    elif isinstance(source, Mapping):
        parts = [(str(name), {name: values}) for name, values in source.items()]
    else:
        return []
    return [name for name, part in parts if _converted(part) is None]


def _is_pandas(source: Table) -> bool:
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "copy")
