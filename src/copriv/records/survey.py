"""A survey of the public rows: what each column is, and which columns no model should use.

Identifiers, addresses, free text, constants and columns that are mostly empty are left out, each with a reason that the
user is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from copriv.errors import BadTable
from copriv.records.column import COMMA_NUMBER, WRITTEN_DATES, Column, Kind, raw, text
from copriv.records.ranges import RANGES, is_pattern

_MOST_MISSING = 0.5
_FEWEST_TEXTS = 50
_TEXT_SHARE = 0.2
_SMALLEST_DEVIATION = 1e-12
_IDENTIFIER = re.compile(
    r"(^|[\s_])(id|uuid|guid|ssn|email|phone)$|^(rownames?|row|index|unnamed: ?\d+)$", re.IGNORECASE
)
_ADDRESS = re.compile(r"(^|[\s_])(url|link|href)$", re.IGNORECASE)
_PLAIN = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Date, pl.Datetime, pl.Null)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A column that is not used, and why."""

    name: str
    reason: str


def survey(public: pl.DataFrame, *, skip: Iterable[str] = ()) -> tuple[list[Column], list[LeftOut]]:
    """Fit every usable column on the public rows; the target and the owner column are skipped."""
    skipped = set(skip)
    columns: list[Column] = []
    left_out: list[LeftOut] = []
    for name in public.columns:
        if name in skipped:
            continue
        found = _examine(public, name)
        if isinstance(found, Column):
            columns.append(found)
        else:
            left_out.append(LeftOut(name, found))
    if not columns:
        raise BadTable(
            "no column is left to learn from: every one is an identifier, free text, constant or mostly missing",
            remedy="give a table with numeric or categorical features, or more public rows",
        )
    return columns, left_out


def _examine(public: pl.DataFrame, name: str) -> Column | str:
    """The fitted column, or the reason to leave it out."""
    if reason := _reason_by_name(public, name):
        return reason
    texts = public.select(text(name, public[name].dtype).alias(name))[name]
    present = texts.drop_nulls()
    if present.is_empty():
        return "entirely missing"
    if present.len() < (1 - _MOST_MISSING) * texts.len():
        return "more than half missing"
    if present.str.contains(r"^https?://").mean() == 1.0:
        return "web address"
    kinds = _kinds(public, name, present)
    if len(kinds) > 1:
        return f"days that may be {' or '.join(kinds)} (say which by --dates)"
    kind = kinds[0]
    if kind == "category" and present.n_unique() > max(_FEWEST_TEXTS, _TEXT_SHARE * present.len()):
        commas = present.str.contains(COMMA_NUMBER).all()
        return "numbers with a decimal comma (say --decimal ,)" if commas else "free text or identifier"
    if kind == "number" and _numbers_every_row(public[name]):
        return "identifier"
    return _fit(public, name, kind, present)


def _reason_by_name(public: pl.DataFrame, name: str) -> str | None:
    if is_pattern(name):
        return "a name that stands for several columns"
    dtype = public[name].dtype
    if not (dtype.is_numeric() or isinstance(dtype, _PLAIN)):
        return f"of type {dtype}"
    if _IDENTIFIER.search(name):
        return "identifier"
    return "web address" if _ADDRESS.search(name) else None


def _kinds(public: pl.DataFrame, name: str, present: pl.Series) -> list[Kind]:
    """What every cell can be read as; more than one only if it is not clear which number of a date is the month."""
    dtype = public[name].dtype

    def understood(kind: Kind) -> bool:
        return bool(public.select(raw(name, dtype, kind).is_not_null().sum()).item() == present.len())

    clear: tuple[Kind, ...] = ("number", "day", "month")
    for kind in clear:
        if understood(kind):
            return [kind]
    return [kind for kind in WRITTEN_DATES if understood(kind)] or ["category"]


def _numbers_every_row(values: pl.Series) -> bool:
    """Whole numbers that are all different: a row number if in order, an identifier if there are many."""
    if not values.dtype.is_integer() or values.null_count() or values.n_unique() < values.len():
        return False
    return values.len() >= 1000 or (values.len() > 2 and (values.is_sorted() or values.is_sorted(descending=True)))


def _fit(public: pl.DataFrame, name: str, kind: Kind, present: pl.Series) -> Column | str:
    categories = tuple(sorted(present.unique().to_list())) if kind == "category" else ()
    value = raw(name, public[name].dtype, kind, categories)
    values = public.select(pl.when(value.is_finite()).then(value).alias(name))[name]
    if values.null_count() == values.len():
        return "entirely missing"
    if float(values.abs().max()) > RANGES["place"][1]:  # type: ignore[arg-type]
        return f"numbers beyond {RANGES['place'][1]:g}"
    fill = float(values.median())  # type: ignore[arg-type]
    filled = values.fill_null(fill)
    mean, deviation = float(filled.mean()), float(filled.std(ddof=0) or 0.0)  # type: ignore[arg-type]
    if deviation <= _SMALLEST_DEVIATION * max(1.0, abs(mean)):
        return "constant"
    return Column(name, kind, fill, mean, deviation, categories)
