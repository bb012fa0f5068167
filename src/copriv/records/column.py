"""A column of a table and how it is read: fitted on public rows, applied anywhere.

Numbers stay, dates become days, categories become their place in a list of public ones. What a value becomes after
that is the column's encoding: one standardised number (what is missing, not finite or of an unknown category counts as
the public median), or several cells, as `copriv.records.cells` has them. No value raises an error, whatever it is: only
a type of column can be refused.
"""

from __future__ import annotations

import hashlib
import math
import re
from typing import Literal

import msgspec
import polars as pl

from copriv.errors import BadInput, BadTable
from copriv.records.ranges import MOST_COLUMNS, require_name, require_number, require_unique

Kind = Literal[
    "number",
    "day",
    "month",
    "category",
    "day.month.year",
    "day/month/year",
    "month/day/year",
    "day-month-year",
    "year/month/day",
    "year.month.day",
]
# How dates of each kind are written, besides 2012-05-31 (day) and May-2012 (month).
WRITTEN_DATES: dict[Kind, str] = {
    "day.month.year": "%d.%m.%Y",
    "day/month/year": "%d/%m/%Y",
    "month/day/year": "%m/%d/%Y",
    "day-month-year": "%d-%m-%Y",
    "year/month/day": "%Y/%m/%d",
    "year.month.day": "%Y.%m.%d",
}
KINDS: tuple[Kind, ...] = ("number", "day", "month", "category", *WRITTEN_DATES)

# The most deviations from the mean that a cell may have: rows are shortened anyway, and lengths must not overflow.
MOST_DEVIATIONS = 1e9
_TEXTS = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null)
# The days of the years 2 to 9998, counted from 1970: polars cannot write down dates far beyond.
_FIRST_DAY, _LAST_DAY = -718_796, 2_932_165
_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
# 1.234.567,89 and 12,5% and 3; not 01.02.2012, and not 1.5.
COMMA_NUMBER = r"^\$?[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?([eE][+-]?\d+)?\s*[%+]?$"
_DIGITS = {"%d": r"\d{1,2}", "%m": r"\d{1,2}", "%y": r"\d{2}", "%Y": r"\d{4}", "%b": r"\p{L}+", "%B": r"\p{L}+"}
_MISSING = ("", "na", "n/a", "#n/a", "nan", "null", "?", "-")


class Encoding(msgspec.Struct, frozen=True, omit_defaults=True):
    """What becomes of a column's values besides one standardised number.

    Args:
        limits: the least and the greatest value; what lies beyond counts as the limit.
        missing: whether a cell says that the value is missing.
        knots: in deviations from the mean; one cell a knot says how far above it a value is.
        indicators: whether every category has a cell of its own, instead of its place in the list.
        buckets: cells for categories that are not in the list; 1 for all of them together ("other"), more for a hash.
    """

    limits: tuple[float, float] | None = None
    missing: bool = False
    knots: tuple[float, ...] = ()
    indicators: bool = False
    buckets: int = 0


_PLAIN = Encoding()


class Column(msgspec.Struct, frozen=True):
    """One fitted column; without an encoding it becomes one standardised number."""

    name: str
    kind: Kind
    fill: float
    mean: float
    deviation: float
    categories: tuple[str, ...] = ()
    encoding: Encoding | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        """Refuse a column that some double could make more of than a number."""
        require_name(self.name, "a column")
        entry = f"the dictionary's column {self.name!r}"
        if self.kind not in KINDS:
            raise BadInput(f"{entry} is of kind {self.kind!r}", remedy=f"use {', '.join(KINDS)}", value=self.kind)
        require_number(self.fill, "place", f"{entry}: fill")
        require_number(self.mean, "place", f"{entry}: mean")
        require_number(self.deviation, "unit", f"{entry}: deviation")
        require_unique(self.categories, f"{entry}: categories")
        if (self.kind == "category") != bool(self.categories):
            raise BadInput(
                f"{entry} is of kind {self.kind!r} with {len(self.categories)} categories",
                remedy="list categories where there are some, and nowhere else",
                value=self.kind,
            )
        _require_encoding(self, entry)

    @property
    def encoded(self) -> Encoding:
        """The encoding; the plain one if none is said."""
        return _PLAIN if isinstance(self.encoding, msgspec.UnsetType) else self.encoding

    @property
    def cells(self) -> int:
        """How many cells the column becomes."""
        encoding = self.encoded
        values = len(self.categories) + encoding.buckets if encoding.indicators else 1 + len(encoding.knots)
        return values + encoding.missing

    def values(self, dtype: pl.DataType) -> pl.Expr:
        """The column as doubles in its own unit, or as places in the list of categories; NaN where there is none.

        Of categories that are not in the list, the first place after it, if there are cells for them.
        """
        value = raw(self.name, dtype, self.kind, self.categories)
        if self.encoded.buckets:
            beyond = pl.lit(float(len(self.categories)))
            value = pl.when(value.is_null() & text(self.name, dtype).is_not_null()).then(beyond).otherwise(value)
        return value.cast(pl.Float64).fill_null(math.nan).alias(self.name)

    def standardised(self, dtype: pl.DataType) -> pl.Expr:
        """The column as an expression: a double within ±1e9 for every row of a table that has it with this type."""
        value = raw(self.name, dtype, self.kind, self.categories)
        known = pl.when(value.is_finite()).then(value).otherwise(pl.lit(self.fill, dtype=pl.Float64))
        return ((known - self.mean) / self.deviation).clip(-MOST_DEVIATIONS, MOST_DEVIATIONS).alias(self.name)


def bucket(category: str, buckets: int) -> int:
    """The bucket of a category that is not in the list: the first 8 bytes of BLAKE2b, as a number, modulo `buckets`.

    >>> [bucket(name, 16) for name in ("Oslo", "Bern", "")]
    [12, 12, 4]
    """
    return int.from_bytes(hashlib.blake2b(category.encode(), digest_size=8).digest()) % buckets


def raw(name: str, dtype: pl.DataType, kind: Kind, categories: tuple[str, ...] = ()) -> pl.Expr:
    """The column as doubles before standardising; null where it is missing or not understood."""
    if kind == "number":
        return number(name, dtype)
    if kind == "day":
        return _days(text(name, dtype).str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False))
    if kind == "month":
        return _days(("01-" + text(name, dtype)).str.to_date("%d-%b-%Y", strict=False))
    if kind in WRITTEN_DATES:
        return _days(date(text(name, dtype), WRITTEN_DATES[kind]))
    return place(name, dtype, categories)


def place(name: str, dtype: pl.DataType, categories: tuple[str, ...]) -> pl.Expr:
    """The column as places 0, 1, 2 … in a list of categories; null where it is none of them."""
    places = list(range(len(categories)))
    return text(name, dtype).replace_strict(list(categories), places, default=None, return_dtype=pl.Float64)


def text(name: str, dtype: pl.DataType) -> pl.Expr:
    """The column as trimmed text; null where it is empty, says that it is missing, or is no text at all."""
    trimmed = written(name, dtype).cast(pl.String, strict=False).str.strip_chars()
    missing = trimmed.str.to_lowercase().is_in(_MISSING) | trimmed.str.contains(r"^#+$")
    return pl.when(missing).then(None).otherwise(trimmed)


def number(name: str, dtype: pl.DataType) -> pl.Expr:
    """The column as numbers, understanding 1,234.5 and 13.5% and $20 and 120 +; null where it is none."""
    if dtype.is_numeric() or dtype == pl.Boolean:
        return pl.col(name).cast(pl.Float64, strict=False).fill_nan(None)
    plain = (
        text(name, dtype)
        .str.replace_all(r",(\d{3})", "$1")
        .str.strip_prefix("$")
        .str.replace(r"\s*[%+]$", "")
        .str.to_lowercase()
    )
    logical = pl.when(plain == "true").then(pl.lit("1")).when(plain == "false").then(pl.lit("0")).otherwise(plain)
    return logical.cast(pl.Float64, strict=False).fill_nan(None)


def date(trimmed: pl.Expr, form: str) -> pl.Expr:
    """Texts as dates of one format, alone or before a time of day; null where they are none."""
    pattern = "".join(_DIGITS.get(part, re.escape(part)) for part in re.findall("%.|[^%]", form))
    return trimmed.str.extract(f"^({pattern})(?:[ T].*)?$").str.to_date(form, strict=False)


def written(name: str, dtype: pl.DataType) -> pl.Expr:
    """The column without the values that polars has no text for."""
    column = pl.col(name)
    if dtype.is_numeric() or isinstance(dtype, _TEXTS):
        return column
    if dtype == pl.Date:
        return within_calendar(column)
    if isinstance(dtype, pl.Datetime):
        unit = _PER_DAY[dtype.time_unit]
        return _between(column, _FIRST_DAY * unit, _LAST_DAY * unit)
    raise BadTable(
        f"the column {name!r} is of type {dtype}",
        remedy="give numbers, texts, booleans, dates or times of day with a date",
        value=name,
    )


def within_calendar(day: pl.Expr) -> pl.Expr:
    """Days that polars can write down; null for others."""
    return _between(day, _FIRST_DAY, _LAST_DAY)


def _require_encoding(column: Column, entry: str) -> None:
    """Refuse an encoding that fits neither its column nor the ranges."""
    encoding = column.encoded
    for knot in encoding.knots:
        require_number(knot, "weight", f"{entry}: knot")
    for limit in encoding.limits or ():
        require_number(limit, "place", f"{entry}: limit")
    ordered = encoding.limits is None or encoding.limits[0] <= encoding.limits[1]
    hashed = encoding.indicators and 0 <= encoding.buckets <= MOST_COLUMNS
    numeric = encoding.limits is not None or encoding.knots
    fits = ordered and (hashed or encoding.buckets == 0) and not (encoding.indicators and numeric)
    if not fits or (encoding.indicators and column.kind != "category") or len(encoding.knots) > MOST_COLUMNS:
        raise BadInput(
            f"{entry} has an encoding that does not fit a {column.kind}",
            remedy="indicators and buckets are for categories; limits (in order) and knots are for what is a number",
            value=column.kind,
        )


def _between(column: pl.Expr, first: int, last: int) -> pl.Expr:
    held = column.to_physical().cast(pl.Int64)
    most = 2**63 - 1
    return pl.when(held.is_between(max(first, -most), min(last, most))).then(column).otherwise(None)


def _days(date: pl.Expr) -> pl.Expr:
    return date.cast(pl.Int32).cast(pl.Float64)
