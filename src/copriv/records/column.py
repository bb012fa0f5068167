"""A column of a table and how it becomes one standardised number: fitted on public rows, applied anywhere.

Numbers stay, dates become days, categories become their place in the sorted list of public ones. What is missing, or a
category the public rows do not know, becomes the public median; then the public mean and deviation standardise it.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import polars as pl

Kind = Literal["number", "day", "month", "category"]

_MISSING = ("", "na", "n/a", "#n/a", "nan", "null", "?", "-")


class Column(msgspec.Struct, frozen=True):
    """One fitted column."""

    name: str
    kind: Kind
    fill: float
    mean: float
    deviation: float
    categories: tuple[str, ...] = ()

    def standardised(self, dtype: pl.DataType) -> pl.Expr:
        """The column as an expression: a double for every row of a table that has it with this type."""
        value = raw(self.name, dtype, self.kind, self.categories).fill_nan(None).fill_null(self.fill)
        return ((value - self.mean) / self.deviation).alias(self.name)


def raw(name: str, dtype: pl.DataType, kind: Kind, categories: tuple[str, ...] = ()) -> pl.Expr:
    """The column as doubles before standardising; null where it is missing or not understood."""
    if kind == "number":
        return number(name, dtype)
    if kind == "day":
        return _days(text(name).str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False))
    if kind == "month":
        return _days(("01-" + text(name)).str.to_date("%d-%b-%Y", strict=False))
    return place(name, categories)


def place(name: str, categories: tuple[str, ...]) -> pl.Expr:
    """The column as places 0, 1, 2 … in a list of categories; null where it is none of them."""
    places = list(range(len(categories)))
    return text(name).replace_strict(list(categories), places, default=None, return_dtype=pl.Float64)


def text(name: str) -> pl.Expr:
    """The column as trimmed text; null where it is empty or says that it is missing."""
    trimmed = pl.col(name).cast(pl.String).str.strip_chars()
    missing = trimmed.str.to_lowercase().is_in(_MISSING) | trimmed.str.contains(r"^#+$")
    return pl.when(missing).then(None).otherwise(trimmed)


def number(name: str, dtype: pl.DataType) -> pl.Expr:
    """The column as numbers, understanding 1,234.5 and 13.5% and $20 and 120 +; null where it is none."""
    if dtype.is_numeric() or dtype == pl.Boolean:
        return pl.col(name).cast(pl.Float64).fill_nan(None)
    plain = (
        text(name)
        .str.replace_all(r",(\d{3})", "$1")
        .str.strip_prefix("$")
        .str.replace(r"\s*[%+]$", "")
        .str.to_lowercase()
    )
    logical = pl.when(plain == "true").then(pl.lit("1")).when(plain == "false").then(pl.lit("0")).otherwise(plain)
    return logical.cast(pl.Float64, strict=False)


def _days(date: pl.Expr) -> pl.Expr:
    return date.cast(pl.Int32).cast(pl.Float64)
