"""Exposure: how long, or among how many, a record's count or amount was gathered. Its logarithm is the record's offset.

It is a column of the record and never a feature. What lies beyond the public range is held at its ends, so that every
record's margin is bounded; a record whose exposure is missing, infinite or not above 0 has none that can be used.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import polars as pl

from copriv.errors import BadInput
from copriv.records.column import number
from copriv.records.ranges import require_name
from copriv.vectors import FloatArray

# Exposures between exp(−25) and exp(25), which are 7e10 apart from 1, have bounded offsets in any unit.
_FURTHEST = 25.0


class Exposure(msgspec.Struct, frozen=True):
    """A fitted exposure.

    Args:
        name: the column.
        logarithm: whether the column has the offset itself, which is the logarithm of the exposure.
        low: the smallest logarithm that counts.
        high: the largest.
    """

    name: str
    logarithm: bool
    low: float
    high: float

    def __post_init__(self) -> None:
        """Refuse a range that bounds no record's margin."""
        require_name(self.name, "the exposure")
        if not -_FURTHEST <= self.low <= self.high <= _FURTHEST:
            raise BadInput(
                f"the dictionary's exposure: logarithms from {self.low:g} to {self.high:g}",
                remedy=f"give a range within ±{_FURTHEST:g}, in another unit if need be",
                value=(self.low, self.high),
            )

    def logarithms(self, table: pl.DataFrame) -> FloatArray:
        """Log exposure of every row as it is; NaN where there is none that can be used."""
        return logarithms(table, self.name, logarithm=self.logarithm)

    def held(self, logs: FloatArray) -> FloatArray:
        """The same within the public range.

        >>> Exposure("years", logarithm=False, low=0.0, high=1.0).held(np.array([-2.0, 0.5, 9.0, np.nan])).tolist()
        [0.0, 0.5, 1.0, nan]
        """
        return np.clip(logs, self.low, self.high)

    @property
    def words(self) -> str:
        """The range in the column's own unit."""
        low, high = (self.low, self.high) if self.logarithm else (math.exp(self.low), math.exp(self.high))
        return f"{low:.4g} to {high:.4g}"


def logarithms(table: pl.DataFrame, name: str, *, logarithm: bool) -> FloatArray:
    """Log exposure of every row; NaN where a value is missing, no number, infinite, or not above 0."""
    column = table.select(number(name, table.schema[name]).fill_null(math.nan)).to_series()
    values = column.to_numpy().astype(np.float64)
    usable = np.isfinite(values) if logarithm else np.isfinite(values) & (values > 0)
    safe = np.where(usable, values, 1.0)
    return np.where(usable, safe if logarithm else np.log(safe), math.nan)


def fit_exposure(table: pl.DataFrame, name: str, *, logarithm: bool) -> Exposure:
    """The exposure of public rows, with their range."""
    found = logarithms(table, name, logarithm=logarithm)
    known = found[np.isfinite(found)]
    if known.size == 0:
        need = "a number" if logarithm else "a number above 0"
        raise BadInput(
            f"{'--offset' if logarithm else '--exposure'} {name} has no public row with {need}",
            remedy="name the column that says how long, or among how many, each record was counted",
            value=name,
        )
    return Exposure(name, logarithm, float(known.min()), float(known.max()))
