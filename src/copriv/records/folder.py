"""A folder of files as one table: in the order of their names, with the same columns in every file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from copriv.errors import BadTable

_NOT_RECORDS = (".", "_")


def files_of(path: Path) -> Sequence[Path]:
    """The file itself, or all files of a folder in the order of their names, but those that begin with . or _.

    Raises:
        BadTable: there is nothing, or a folder has no files, or other folders.
    """
    if path.is_file():
        return (path,)
    if not path.is_dir():
        raise BadTable(f"there is no file {path}", remedy="check the path", value=str(path))
    found = sorted(each for each in path.iterdir() if not each.name.startswith(_NOT_RECORDS))
    inner = [each.name for each in found if not each.is_file()]
    if inner or not found:
        raise BadTable(
            f"the folder {path} has {f'a folder {inner[0]!r} in it' if inner else 'no files'}",
            remedy="give a table, or a folder of nothing but tables",
            value=str(path),
        )
    return tuple(found)


def align(files: Sequence[Path], tables: Sequence[pl.LazyFrame]) -> tuple[pl.LazyFrame, ...]:
    """The same tables with their columns in one order, and numbers of several types as doubles.

    Raises:
        BadTable: files differ in the names of their columns, or in what a column holds.
    """
    if len(tables) == 1:
        return tuple(tables)
    schemas = [table.collect_schema() for table in tables]
    first = schemas[0]
    mixed: set[str] = set()
    for file, schema in zip(files[1:], schemas[1:], strict=True):
        differing = sorted({*first} ^ {*schema})
        if differing:
            raise _unlike(files[0], file, f"column {differing[0]!r} is in one of them only")
        for name in first:
            if schema[name] != first[name]:
                if not (schema[name].is_numeric() and first[name].is_numeric()):
                    raise _unlike(files[0], file, f"{name!r} is {first[name]} there, and {schema[name]} here")
                mixed.add(name)
    as_doubles = [pl.col(name).cast(pl.Float64) for name in sorted(mixed)]
    return tuple(table.select(first.names()).with_columns(as_doubles) for table in tables)


def as_one(tables: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
    """Aligned tables as one, in order."""
    return tables[0] if len(tables) == 1 else pl.concat(tables, how="vertical")


def _unlike(first: Path, file: Path, problem: str) -> BadTable:
    return BadTable(
        f"{first.name} and {file.name} are no parts of one table: {problem}",
        remedy="give a folder whose files have the same columns",
        value=str(file),
    )
