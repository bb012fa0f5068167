"""A small table as an owner has it on disk, as CSV and as Parquet, with one record in it that can be replaced.

Columns have every type that a Parquet file may give them; in a CSV file all of them are text. A record may hold
anything that the format can hold, so cells of CSV are bytes, and dates in Parquet are the whole numbers that stand for
them.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import polars as pl

Suffix: TypeAlias = Literal["csv", "parquet"]

FORMATS: tuple[Suffix, ...] = ("csv", "parquet")
SCHEMA: dict[str, pl.DataType] = {
    "id": pl.Int64(),
    "age": pl.Float64(),
    "income": pl.Float64(),
    "city": pl.String(),
    "since": pl.String(),
    "day": pl.Date(),
    "moment": pl.Datetime("us"),
    "instant": pl.Datetime("ns", "UTC"),
    "blob": pl.Binary(),
    "amount": pl.Decimal(38, 2),
    "flag": pl.Boolean(),
    "grade": pl.Categorical(),
    "tall": pl.UInt64(),
    "short": pl.Float32(),
    "tags": pl.List(pl.String()),
    "stay": pl.Float64(),
}
RECORDS = 9
# The columns that most studies need, and all of them.
FEW = ("id", "age", "income", "city", "since", "grade", "stay")
ALL = tuple(SCHEMA)
_PHYSICAL: dict[str, pl.DataType] = {"day": pl.Int32(), "moment": pl.Int64(), "instant": pl.Int64()}


@dataclass(frozen=True, slots=True)
class Odd:
    """A record as somebody may have written it.

    Args:
        name: what is odd about it.
        cells: in CSV, the bytes between two separators; of other columns the usual ones.
        values: in Parquet, the value, or the whole number that stands for a date.
        line: in CSV, the whole line instead.
        formats: the formats that can hold it.
        fits: whether it is one record on one line; what is not is refused at home, when the file is first read.
    """

    name: str
    cells: Mapping[str, bytes] = field(default_factory=dict)
    values: Mapping[str, object] = field(default_factory=dict)
    line: bytes | None = None
    formats: tuple[Suffix, ...] = FORMATS
    fits: bool = True


USUAL = Odd("usual")


def write_table(suffix: Suffix, odd: Odd, place: int, records: int = RECORDS, columns: tuple[str, ...] = ALL) -> bytes:
    """The file: usual records, and the odd one in its place."""
    return (_as_csv if suffix == "csv" else _as_parquet)(odd, place, records, columns)


def usual(row: int) -> dict[str, object]:
    """A usual record."""
    return {
        "id": 1000 + row,
        "age": 20.0 + 5 * row,
        "income": 1000.0 * (1 + row % 4),
        "city": ("Oslo", "Bern", "Rome")[row % 3],
        "since": f"2020-0{1 + row % 9}-15",
        "day": 18_000 + row,
        "moment": (18_000 + row) * 86_400_000_000,
        "instant": (18_000 + row) * 86_400_000_000_000,
        "blob": b"ab" if row % 2 else b"cd",
        "amount": f"{10 + row}.50",
        "flag": row % 2 == 0,
        "grade": "A" if row % 2 else "B",
        "tall": 7 * row,
        "short": 0.25 * row,
        "tags": ["x"],
        "stay": 1.0 + row,
    }


def usual_cells(row: int) -> dict[str, bytes]:
    """The same as bytes between two separators."""
    return {name: _text(value) for name, value in usual(row).items()}


def _as_csv(odd: Odd, place: int, records: int, columns: tuple[str, ...]) -> bytes:
    lines = [",".join(columns).encode()]
    for row in range(records):
        cells = usual_cells(row)
        if row == place:
            cells |= odd.cells
        whole = odd.line if row == place else None
        lines.append(b",".join(cells[name] for name in columns) if whole is None else whole)
    return b"\n".join(lines) + b"\n"


def _text(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return b"x" if isinstance(value, list) else str(value).encode()


def _as_parquet(odd: Odd, place: int, records: int, columns: tuple[str, ...]) -> bytes:
    rows = [usual(row) | (dict(odd.values) if row == place else {}) for row in range(records)]
    written = io.BytesIO()
    pl.DataFrame([_series(name, [row[name] for row in rows]) for name in columns]).write_parquet(written)
    return written.getvalue()


def _series(name: str, values: list[object]) -> pl.Series:
    wanted = SCHEMA[name]
    if name in _PHYSICAL:
        return pl.Series(name, values, dtype=_PHYSICAL[name]).cast(wanted)
    if name == "amount":
        return pl.Series(name, values, dtype=pl.String).cast(wanted)
    return pl.Series(name, values, dtype=wanted)
