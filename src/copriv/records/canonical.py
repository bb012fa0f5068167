"""Cells as this project writes them: numbers with a decimal point, dates as 2012-05-31.

Each cell is rewritten by itself, and only as the owner of the file has said. So a file with decimal commas becomes the
same records as one with points, and a study's dictionary need not know.
"""

from __future__ import annotations

import polars as pl

from copriv.records.column import COMMA_NUMBER, date, within_calendar
from copriv.records.file_format import FileFormat


def rewrite(table: pl.LazyFrame, form: FileFormat, *, numbers: bool) -> pl.LazyFrame:
    """The table with the cells of its text columns rewritten; numbers only where they are text in the file."""
    decimal = numbers and form.decimal == ","
    if not decimal and form.dates is None:
        return table
    return table.with_columns(
        _with_days(_with_point(cell) if decimal else cell, form.dates)
        for cell in (pl.nth(place) for place, dtype in enumerate(table.collect_schema().dtypes()) if dtype == pl.String)
    )


def _with_point(cell: pl.Expr) -> pl.Expr:
    plain = cell.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    return pl.when(cell.str.strip_chars().str.contains(COMMA_NUMBER)).then(plain).otherwise(cell)


def _with_days(cell: pl.Expr, dates: str | None) -> pl.Expr:
    """Dates as ISO text; what is none stays as it is."""
    if dates is None:
        return cell
    day = date(cell.str.strip_chars(), dates)
    return pl.coalesce(within_calendar(day).dt.to_string("%Y-%m-%d"), cell)
