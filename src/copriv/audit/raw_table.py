"""A small table as an owner has it on disk, in every kind of file, with one record in it that can be replaced.

Columns have every type that a Parquet file may give them; in CSV and JSON lines all of them are text. A record may hold
anything that the format can hold, so cells of CSV are bytes, and dates in Parquet are the whole numbers that stand for
them.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec
import polars as pl

Suffix: TypeAlias = Literal["csv", "parquet", "tsv", "csv.gz", "utf16.csv", "feather", "jsonl", "jsonl.gz"]

FORMATS: tuple[Suffix, ...] = ("csv", "parquet")
# The same records in other files. Most share their way of reading with one of the two above.
MORE_FORMATS: tuple[Suffix, ...] = ("tsv", "csv.gz", "utf16.csv", "feather", "jsonl", "jsonl.gz")
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
        values: in Parquet, Arrow and JSON lines, the value, or the whole number that stands for a date.
        line: in CSV and JSON lines, the whole line instead.
        formats: the formats that can hold it.
        fits: whether it is one record on one line; what is not is refused at home, when the file is first read.
        rows: how many rows it has, where a record is a person; they follow each other.
        turns: of some columns, numbers that these rows have in turn.
    """

    name: str
    cells: Mapping[str, bytes] = field(default_factory=dict)
    values: Mapping[str, object] = field(default_factory=dict)
    line: bytes | None = None
    formats: tuple[Suffix, ...] = FORMATS
    fits: bool = True
    rows: int = 1
    turns: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def each_row(self) -> list[dict[str, object]]:
        """Of every row, in which numbers it differs from the others.

        >>> Odd("two rows", rows=2, turns={"stay": (9.0, 1.0)}).each_row()
        [{'stay': 9.0}, {'stay': 1.0}]
        """
        turns = self.turns.items()
        return [{name: numbers[row % len(numbers)] for name, numbers in turns} for row in range(self.rows)]


USUAL = Odd("usual")


def write_table(suffix: Suffix, odd: Odd, place: int, records: int = RECORDS, columns: tuple[str, ...] = ALL) -> bytes:
    """The file: usual records, and the odd one in its place."""
    if suffix in ("parquet", "feather"):
        return _as_columns(suffix, odd, place, records, columns)
    if suffix.startswith("jsonl"):
        text = _as_json_lines(odd, place, records, columns)
    else:
        text = _as_csv(odd, place, records, columns, b"\t" if suffix == "tsv" else b",")
    if suffix == "utf16.csv":
        return text.decode(errors="replace").encode("utf-16")
    return gzip.compress(text, mtime=0) if suffix.endswith(".gz") else text


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


def _as_csv(odd: Odd, place: int, records: int, columns: tuple[str, ...], separator: bytes) -> bytes:
    lines = [separator.join(name.encode() for name in columns)]
    for row in range(records):
        found = [usual_cells(row)] if row != place else [usual_cells(row) | cells for cells in _odd_cells(odd)]
        whole = odd.line if row == place else None
        lines += [separator.join(cells[name] for name in columns) if whole is None else whole for cells in found]
    return b"\n".join(lines) + b"\n"


def _odd_cells(odd: Odd) -> list[dict[str, bytes]]:
    return [dict(odd.cells) | {name: _text(value) for name, value in turn.items()} for turn in odd.each_row()]


def _text(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return b"x" if isinstance(value, list) else str(value).encode()


def _as_json_lines(odd: Odd, place: int, records: int, columns: tuple[str, ...]) -> bytes:
    """One object a line; a missing value is left out altogether, and bytes are letters."""
    lines = []
    odd_rows = range(place, place + odd.rows)
    for row, values in enumerate(_rows(odd, place, records)):
        kept = {name: values[name] for name in columns if values[name] is not None}
        whole = odd.line if row in odd_rows else None
        lines.append(msgspec.json.encode(kept) if whole is None else whole)
    return b"\n".join(lines) + b"\n"


def _as_columns(suffix: Suffix, odd: Odd, place: int, records: int, columns: tuple[str, ...]) -> bytes:
    rows = _rows(odd, place, records)
    table = pl.DataFrame([_series(name, [row[name] for row in rows]) for name in columns])
    written = io.BytesIO()
    table.write_parquet(written) if suffix == "parquet" else table.write_ipc(written)
    return written.getvalue()


def _rows(odd: Odd, place: int, records: int) -> list[dict[str, object]]:
    odd_rows = [dict(odd.values) | turn for turn in odd.each_row()]
    return [usual(row) | values for row in range(records) for values in (odd_rows if row == place else [{}])]


def _series(name: str, values: list[object]) -> pl.Series:
    wanted = SCHEMA[name]
    if name in _PHYSICAL:
        return pl.Series(name, values, dtype=_PHYSICAL[name]).cast(wanted)
    if name == "amount":
        return pl.Series(name, values, dtype=pl.String).cast(wanted)
    return pl.Series(name, values, dtype=wanted)
