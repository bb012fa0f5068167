"""Whatever a user has as a table: a path, or a polars, pandas or Arrow table."""

from __future__ import annotations

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
        BadInput: this is nothing that can be read as a table.

    >>> as_lazy({"x": [1, 2]}).collect().shape
    (2, 1)
    """
    path = as_path(source)
    if path is not None:
        return open_table(path, form)
    if isinstance(source, pl.LazyFrame):
        return source.collect().lazy()  # once: what is read twice must be the same
    return _in_memory(source).lazy()


def _in_memory(source: Table) -> pl.DataFrame:
    if isinstance(source, pl.DataFrame):
        return source
    if _is_pandas(source):
        return pl.from_pandas(source.copy())  # whoever changes it later does not change what was read
    try:
        return pl.DataFrame(source)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as problem:
        raise BadInput(
            f"{type(source).__name__} is not a table",
            remedy="give the path of a table, or a polars, pandas or Arrow table",
            value=type(source).__name__,
        ) from problem


def _is_pandas(source: Table) -> bool:
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "copy")
