"""How columns of the public rows become cells: limits, signs of missing values, indicators, buckets, knots.

Numbers and dates are held within public quantiles, so that one odd value does not shrink all others. Categories that
enough public rows have get a cell each; the others share one ("other"), or, if they are many, some by a hash.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import polars as pl

from copriv.records.column import Column, Encoding, Kind
from copriv.records.survey import finite_values, is_constant, is_free_text
from copriv.vectors import FloatArray

_MOST_MISSING = 0.9
_TEXT_SHARE = 0.5
_TAIL = 0.005
_FEWEST_ROWS = 10
_MOST_CATEGORIES = 100
_FEWEST_TO_HASH = 50
_BUCKETS = 16
_KNOTS = (0.1, 0.25, 0.5, 0.75, 0.9)


def fit_encoding(public: pl.DataFrame, name: str, kind: Kind, present: pl.Series) -> Column | str:
    """The column and its encoding, or why it is left out."""
    missing = public.height - present.len()
    if missing > _MOST_MISSING * public.height:
        return "nearly always missing"
    enough = fewest_rows(public.height)
    told = enough <= missing <= public.height - enough
    if kind == "category":
        return is_free_text(present, _TEXT_SHARE) or _fit_categories(name, present, enough, missing=told)
    return _fit_number(public, name, kind, missing=told)


def fewest_rows(rows: int) -> int:
    """How many public rows a category needs for a cell of its own.

    >>> [fewest_rows(rows) for rows in (30, 100, 1000)]
    [2, 5, 10]
    """
    return min(_FEWEST_ROWS, max(2, rows // 20))


def with_knots(column: Column, cells: FloatArray) -> Column:
    """The column with hinges at public quantiles of its standardised values; as it is, if it is no number.

    Args:
        column: fitted.
        cells: the standardised values of the public rows.
    """
    if column.encoded.indicators:
        return column
    found = np.unique(np.quantile(cells, _KNOTS))
    knots = tuple(found[(found > cells.min()) & (found < cells.max())].tolist())
    return msgspec.structs.replace(column, encoding=msgspec.structs.replace(column.encoded, knots=knots))


def with_order(column: Column, order: list[int]) -> Column:
    """The column with its categories in another order."""
    return msgspec.structs.replace(column, categories=tuple(column.categories[place] for place in order))


def _fit_number(public: pl.DataFrame, name: str, kind: Kind, *, missing: bool) -> Column | str:
    values = finite_values(public, name, kind)
    if isinstance(values, str):
        return values
    known = values.drop_nulls().to_numpy().astype(np.float64)
    fill = float(np.median(known))
    filled = values.fill_null(fill).to_numpy().astype(np.float64)
    for tail in (_TAIL, 0.0):
        low, high = (float(limit) for limit in np.quantile(known, (tail, 1 - tail)))
        held = np.clip(filled, low, high)
        mean, deviation = float(held.mean()), float(held.std())
        if not is_constant(mean, deviation):
            encoding = Encoding(limits=(low, high), missing=missing)
            return Column(name, kind, fill, mean, deviation, encoding=encoding)
    return "constant"


def _fit_categories(name: str, present: pl.Series, enough: int, *, missing: bool) -> Column | str:
    counted = present.value_counts(sort=True).sort(["count", present.name], descending=[True, False])
    common = counted.filter(pl.col("count") >= enough)[present.name].to_list()[:_MOST_CATEGORIES]
    rare = counted.height - len(common)
    if not common or (counted.height == 1 and not missing):
        return "constant" if common else "free text or identifier"
    buckets = min(_BUCKETS, math.ceil(rare / 10)) if rare >= _FEWEST_TO_HASH else 1
    encoding = Encoding(missing=missing, indicators=True, buckets=buckets)
    return Column(name, "category", 0.0, 0.0, 1.0, tuple(sorted(common)), encoding)
