"""A survey of the public rows: what each column is, and which columns no model should use.

Identifiers, addresses, free text, constants and columns that are mostly empty are left out, each with a reason that the
user is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import polars as pl

from copriv.errors import BadTable
from copriv.records.column import COMMA_NUMBER, WRITTEN_DATES, Column, Kind, raw, text
from copriv.records.ranges import RANGES, is_pattern

_MOST_NAMED = 5
_A_FEW = 100
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


# Of the public rows, a name, what it is and its texts: the fitted column, or the reason to leave it out.
Fit: TypeAlias = Callable[[pl.DataFrame, str, Kind, pl.Series], Column | str]


def survey(
    public: pl.DataFrame, *, skip: Iterable[str] = (), fit: Fit | None = None
) -> tuple[list[Column], list[LeftOut]]:
    """Fit every usable column on the public rows; the target and the owner column are skipped.

    Args:
        public: the rows.
        skip: columns that are not looked at.
        fit: what becomes of a column; one standardised number if nothing is said.
    """
    skipped = set(skip)
    columns: list[Column] = []
    left_out: list[LeftOut] = []
    for name in public.columns:
        if name in skipped:
            continue
        found = _examine(public, name, fit or fit_number)
        if isinstance(found, Column):
            columns.append(found)
        else:
            left_out.append(LeftOut(name, found))
    if not columns:
        found = ", ".join(f"{each.name!r} is {each.reason}" for each in left_out[:_MOST_NAMED])
        raise BadTable(
            "no column is left to learn from: every one is an identifier, free text, constant or mostly missing"
            + (f" ({found}{' …' if len(left_out) > _MOST_NAMED else ''})" if found else ""),
            remedy="give a table with numeric or categorical features, or more public rows",
        )
    return columns, left_out


def _examine(public: pl.DataFrame, name: str, fit: Fit) -> Column | str:
    """The fitted column, or the reason to leave it out."""
    if reason := _reason_by_name(public, name):
        return reason
    texts = public.select(text(name, public[name].dtype).alias(name))[name]
    present = texts.drop_nulls()
    if present.is_empty():
        return "entirely missing"
    if present.str.contains(r"^https?://").mean() == 1.0:
        return "web address"
    kinds = _kinds(public, name, present)
    if len(kinds) > 1:
        return f"days that may be {' or '.join(kinds)} (say which by --dates)"
    if kinds[0] == "number" and _numbers_every_row(public[name]):
        return "identifier"
    return fit(public, name, kinds[0], present)


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
        # Most kinds are ruled out by a few rows.
        parts = ((some, some[name].len()), (public, present.len()))
        return all(part.select(raw(name, dtype, kind).is_not_null().sum()).item() == count for part, count in parts)

    some = public.select(name).filter(text(name, dtype).is_not_null()).head(_A_FEW)

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


def fit_number(public: pl.DataFrame, name: str, kind: Kind, present: pl.Series) -> Column | str:
    """The column as one standardised number, categories as places in their sorted list."""
    if present.len() < (1 - _MOST_MISSING) * public.height:
        return "more than half missing"
    if kind == "category" and (reason := is_free_text(present, _TEXT_SHARE)):
        return reason
    categories = tuple(sorted(present.unique().to_list())) if kind == "category" else ()
    values = finite_values(public, name, kind, categories)
    if isinstance(values, str):
        return values
    fill = float(values.median())  # type: ignore[arg-type]
    filled = values.fill_null(fill)
    mean, deviation = float(filled.mean()), float(filled.std(ddof=0) or 0.0)  # type: ignore[arg-type]
    if is_constant(mean, deviation):
        return "constant"
    return Column(name, kind, fill, mean, deviation, categories)


def is_free_text(present: pl.Series, most: float) -> str | None:
    """Why texts are no categories, if more than this share of them differ."""
    if present.n_unique() <= max(_FEWEST_TEXTS, most * present.len()):
        return None
    commas = present.str.contains(COMMA_NUMBER).all()
    return "numbers with a decimal comma (say --decimal ,)" if commas else "free text or identifier"


def finite_values(public: pl.DataFrame, name: str, kind: Kind, categories: tuple[str, ...] = ()) -> pl.Series | str:
    """The values of a column, null where there is none; or why they cannot be used."""
    value = raw(name, public[name].dtype, kind, categories)
    values = public.select(pl.when(value.is_finite()).then(value).alias(name))[name]
    if values.null_count() == values.len():
        return "entirely missing"
    if float(values.abs().max()) > RANGES["place"][1]:  # type: ignore[arg-type]
        return f"numbers beyond {RANGES['place'][1]:g}"
    return values


def is_constant(mean: float, deviation: float) -> bool:
    """Whether values with this mean hardly differ."""
    return deviation <= _SMALLEST_DEVIATION * max(1.0, abs(mean))
