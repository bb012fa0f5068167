"""Ids of people as text, the same in every file and for every purpose."""

from __future__ import annotations

import polars as pl

from copriv.records.column import text

# The id of rows that name nobody; each of them is a person of its own.
NOBODY = ""
# Doubles and decimals beyond this are no whole numbers of 64 bits.
_LARGEST = 2.0**62


def person_id(name: str, dtype: pl.DataType) -> pl.Expr:
    """A column of ids as text: 17, 17.0 and " 17 " are one person; empty where a row names nobody.

    A whole number has the same digits whatever it is kept as: tables write it as a double where another row has none.

    >>> table = pl.DataFrame({"who": ["17", " 17.0 ", None, "", "a7"], "number": [17.0, 1e17, None, 0.5, float("inf")]})
    >>> table.select(person_id("who", table.schema["who"])).to_series().to_list()
    ['17', '17', '', '', 'a7']
    >>> table.select(person_id("number", table.schema["number"])).to_series().to_list()
    ['17', '100000000000000000', '', '0.5', 'inf']
    """
    written = text(name, dtype)
    if dtype.is_float():
        column = pl.col(name)
        whole = (column == column.floor()) & (column.abs() < _LARGEST)
        digits = column.cast(pl.Int64, strict=False).cast(pl.String)
        written = pl.when(whole).then(digits).otherwise(written)
    return written.str.replace(r"^([+-]?\d+)\.0+$", "$1").fill_null(NOBODY)
