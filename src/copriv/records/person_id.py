"""Ids of people as text, the same in every file and for every purpose."""

from __future__ import annotations

import polars as pl

from copriv.records.column import text

# The id of rows that name nobody; each of them is a person of its own.
NOBODY = ""
# Doubles beyond this are no whole numbers of 128 bits.
_LARGEST = 2.0**126
_SCIENTIFIC = r"^[+-]?[0-9](?:\.[0-9]+)?[eE]\+?[0-9]{1,2}$"
# Decimals that are none; three zeros after a comma are a group of a larger number.
_WHOLE = r"^([+-]?\d+)(?:\.0*|,0{1,2})$"
# Joiners, marks of direction, marks at a file's beginning, and what fills up fields of a fixed width.
_UNSEEN = r"[\p{Cf}\x00]"
_IN_GROUPS = r"^[+-]?\d{1,3}(?:[.,]\d{3})+$"


def person_id(name: str, dtype: pl.DataType) -> pl.Expr:
    """A column of ids as text: 17, 17.0, 0017 and " 17 " are one person; empty where a row names nobody.

    A whole number has the same digits whatever it is kept as: tables write it as a double where another row has none,
    without the zeros before it where a column is taken for numbers, and long ones as 4.2e+16. So has one that is
    written in groups of three, 12.345.678: a file with decimal commas is read so, and others of the same people must
    be, too. Letters are the same however they are put together (NFKC), and marks that nobody sees are left out. Whoever
    is taken for another by that is protected together with it.

    >>> table = pl.DataFrame({"who": ["17", " 17.0 ", None, "", "a7"], "number": [17.0, 1e17, None, 0.5, float("inf")]})
    >>> table.select(person_id("who", table.schema["who"])).to_series().to_list()
    ['17', '17', '', '', 'a7']
    >>> table.select(person_id("number", table.schema["number"])).to_series().to_list()
    ['17', '100000000000000000', '', '0.5', 'inf']
    >>> table = pl.DataFrame({"card": ["12.345.678", "12,345,678", "012345678", "17.000", "1.2345", "756.1234.5678"]})
    >>> table.select(person_id("card", table.schema["card"])).to_series().to_list()
    ['12345678', '12345678', '12345678', '17', '1.2345', '756.1234.5678']
    """
    if dtype.is_float():
        written = _digits(pl.col(name), text(name, dtype))
    else:
        plain = text(name, dtype).str.normalize("NFKC").str.replace_all(_UNSEEN, "").str.strip_chars()
        double = pl.when(plain.str.contains(_SCIENTIFIC)).then(plain).cast(pl.Float64, strict=False)
        written = _digits(double, plain)
    whole = written.str.replace(_WHOLE, "$1")
    in_groups = whole.str.contains(_IN_GROUPS)
    joined = pl.when(in_groups).then(whole.str.replace_all("[.,]", "")).otherwise(whole)
    return joined.str.replace(r"^\+?(-?)0*([0-9]+)$", "$1$2").fill_null(NOBODY)


def _digits(double: pl.Expr, otherwise: pl.Expr) -> pl.Expr:
    """All digits of doubles that are whole numbers."""
    is_whole = (double == double.floor()) & (double.abs() < _LARGEST)
    return pl.when(is_whole).then(double.cast(pl.Int128, strict=False).cast(pl.String)).otherwise(otherwise)
