"""Ids of people as text, the same in every file and for every purpose."""

from __future__ import annotations

import polars as pl

from copriv.errors import BadTable
from copriv.records.column import text
from copriv.records.table import collect

# The id of rows that name nobody; each of them is a person of its own.
NOBODY = ""
# Doubles beyond this are no whole numbers of 128 bits.
_LARGEST = 2.0**126
_SCIENTIFIC = r"^[+-]?[0-9](?:\.[0-9]+)?[eE]\+?[0-9]{1,2}$"
# Decimals that are none; three zeros after a comma are a group of a larger number.
_WHOLE = r"^([+-]?\d+)(?:\.0*|,0{1,2})$"
# Joiners, marks of direction, marks at a file's beginning, and what fills up fields of a fixed width.
_UNSEEN = r"[\p{Cf}\x00]"
# What stands for bytes that are no letters in the encoding that a file was read in.
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
_IN_GROUPS = r"^[+-]?\d{1,3}(?:[.,]\d{3})+$"
# From here on, whole numbers of a type with a floating point stand for their neighbours, too.
_BITS, _BITS_OF_SHORTER = 53, {pl.Float32: 24, pl.Float16: 11}


def person_id(name: str, dtype: pl.DataType) -> pl.Expr:
    """A column of ids as text: 17, 17.0, 0017 and " 17 " are one person; empty where a row names nobody.

    A whole number has the same digits whatever it is kept as: tables write it as a double where another row has none,
    without the zeros before it where a column is taken for numbers, and long ones as 4.2e+11. So has one that is
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
        plain = _plain(name, dtype)
        double = pl.when(plain.str.contains(_SCIENTIFIC)).then(plain).cast(pl.Float64, strict=False)
        written = _digits(double, plain)
    whole = written.str.replace(_WHOLE, "$1")
    in_groups = whole.str.contains(_IN_GROUPS)
    joined = pl.when(in_groups).then(whole.str.replace_all("[.,]", "")).otherwise(whole)
    return joined.str.replace(r"^\+?(-?)0*([0-9]+)$", "$1$2").fill_null(NOBODY)


def require_kept(table: pl.LazyFrame, name: str, of: str = "the table") -> None:
    """Refuse ids that have lost digits or letters: another file that has them all would be of other people.

    Asked where people get accounts, by whoever appends a file. Reading rows for a study asks nothing: that an owner
    falls silent over one id would tell of it, and who is taken for one person in one file is protected as one.

    Args:
        table: with the column.
        name: of the column.
        of: what the table is called.

    >>> require_kept(pl.LazyFrame({"who": [17.0, None, 0.5, float("inf")]}), "who")
    >>> require_kept(pl.LazyFrame({"who": [2**53 + 1]}), "who")
    """
    dtype = table.collect_schema()[name]
    bits = next((bits for shorter, bits in _BITS_OF_SHORTER.items() if dtype == shorter), _BITS)
    if collect(table.select((_floating(name, dtype).abs() >= 2.0**bits).any())).item():
        raise BadTable(
            f"the column {name!r} of {of} has ids beyond 2^{bits} as floating-point numbers, which do not hold all of "
            "their digits: people would be taken for others",
            remedy="write ids as whole numbers or as text, from where they have all digits; many programs make doubles "
            "of a column that lacks one",
            value=name,
        )
    if not dtype.is_numeric() and collect(table.select(text(name, dtype).str.contains(_UNKNOWN).any())).item():
        raise BadTable(
            f"the column {name!r} of {of} has ids with letters that could not be read ({_UNKNOWN}): people would be "
            "taken for others",
            remedy="say how the file is written: --encoding latin-1 or cp1252; if it is the file that a ledger was "
            "opened for, append it so as --block first",
            value=name,
        )


def _floating(name: str, dtype: pl.DataType) -> pl.Expr:
    """Whole numbers that are kept as doubles, or were before they were written as 4.2e+16 or 42.0; null for others."""
    if dtype.is_float():
        return pl.when(pl.col(name).is_finite()).then(pl.col(name))
    if dtype.is_numeric():
        return pl.lit(None, dtype=pl.Float64)
    plain = _plain(name, dtype)
    as_double = plain.str.contains(_SCIENTIFIC) | plain.str.contains(_WHOLE)
    return pl.when(as_double).then(plain.str.replace(_WHOLE, "$1")).cast(pl.Float64, strict=False)


def _plain(name: str, dtype: pl.DataType) -> pl.Expr:
    return text(name, dtype).str.normalize("NFKC").str.replace_all(_UNSEEN, "").str.strip_chars()


def _digits(double: pl.Expr, otherwise: pl.Expr) -> pl.Expr:
    """All digits of doubles that are whole numbers."""
    is_whole = (double == double.floor()) & (double.abs() < _LARGEST)
    return pl.when(is_whole).then(double.cast(pl.Int128, strict=False).cast(pl.String)).otherwise(otherwise)
