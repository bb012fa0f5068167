"""What is to be predicted, as a bounded number: |y| ≤ 1, or a label −1/+1.

A number is centred at the public mean and divided by a public quantile of its distance from it; what lies beyond is
clipped, because a record of unbounded influence cannot be protected. Counts and amounts (of the Poisson and the Gamma
loss) are divided by a public quantile and not centred: 0 ≤ y ≤ 1. Instead the offset of every record contains the
logarithm of the public mean, so that a margin of 0 stands for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
import polars as pl

from copriv.errors import BadInput
from copriv.losses.gamma import SMALLEST
from copriv.losses.sample import LARGEST_OFFSET
from copriv.records.column import number, place
from copriv.records.exposure import Exposure
from copriv.records.ranges import require_name, require_number, require_unique
from copriv.vectors import FloatArray

Rate: TypeAlias = Literal["count", "amount"]

# What a person may say of how a target is read.
OF_TARGET = ("ordinal", "positive_above", "positive", "exposure", "offset")
_RATES: dict[str, Rate] = {"poisson": "count", "gamma": "amount"}


class Target(msgspec.Struct, frozen=True):
    """A fitted target.

    Args:
        name: the column.
        kind: a number to regress on, a label to classify, a count (from 0) or an amount (above 0) with a log link.
        center: public mean, or the value above which a label is positive; of counts and amounts, the public mean for
            an exposure of 1.
        scale: what a distance of 1 stands for; of counts and amounts, the largest that counts.
        categories: for an ordinal text, its sorted categories; they stand for 1 … m. For labels, the positive one is
            the last.
        levels: for a label, the two values it may take, if it has only two.
        exposure: for a count or an amount, how long or among how many it was gathered; 1 for all if not given.
    """

    name: str
    kind: Literal["number", "label", "count", "amount"]
    center: float
    scale: float
    categories: tuple[str, ...] = ()
    levels: tuple[float, ...] = ()
    exposure: Exposure | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        """Refuse a target that some double could make more of than a number within ±1."""
        require_name(self.name, "the target")
        if self.kind not in {"number", "label", "count", "amount"}:
            remedy = "use number, label, count or amount"
            raise BadInput(f"a target of kind {self.kind!r}", remedy=remedy, value=self.kind)
        require_number(self.center, "place", "the dictionary's target: center")
        require_number(self.scale, "unit", "the dictionary's target: scale")
        require_unique(self.categories, "the dictionary's target: categories")
        require_unique(self.levels, "the dictionary's target: levels")
        for level in self.levels:
            require_number(level, "place", "the dictionary's target: level")
        self._require_offsets()

    @property
    def is_rate(self) -> bool:
        """Whether it is a count or an amount, whose logarithm is predicted for an exposure."""
        return self.kind in {"count", "amount"}

    @property
    def columns(self) -> list[str]:
        """The columns that a record's target is read from."""
        return [self.name, *([self.given_exposure.name] if self.given_exposure else [])]

    @property
    def given_exposure(self) -> Exposure | None:
        """The exposure, if there is one."""
        return None if isinstance(self.exposure, msgspec.UnsetType) else self.exposure

    @property
    def base(self) -> float:
        """The offset of an exposure of 1: log(centre/scale) of a count or an amount, else 0."""
        return math.log(self.center) - math.log(self.scale) if self.is_rate else 0.0

    @property
    def positive(self) -> str | None:
        """The category that is the positive label, if one of them is."""
        last = self.kind == "label" and len(self.categories) - 1 <= self.center
        return self.categories[-1] if self.categories and last else None

    def raw(self, dtype: pl.DataType) -> pl.Expr:
        """The column as a number in its own unit, null where it is missing or not understood."""
        if self.categories:
            return (place(self.name, dtype, self.categories) + 1).alias(self.name)
        return number(self.name, dtype).alias(self.name)

    def bounded(self, values: FloatArray) -> FloatArray:
        """From the column's unit to what the model is trained on; NaN where there is no usable target.

        >>> Target("stay", "number", center=5.0, scale=2.0).bounded(np.array([6.0, 1e308, np.inf, np.nan])).tolist()
        [0.5, 1.0, nan, nan]
        """
        usable = np.isfinite(values)
        if self.is_rate:
            usable &= values >= 0 if self.kind == "count" else values > 0
            shares = np.minimum(np.where(usable, values, self.scale) / self.scale, 1.0)
            return np.where(usable, np.maximum(shares, SMALLEST) if self.kind == "amount" else shares, np.nan)
        if self.kind == "label":
            known = usable & np.isin(values, self.levels) if self.levels else usable
            return np.where(known, np.where(values > self.center, 1.0, -1.0), np.nan)
        with np.errstate(over="ignore"):
            distances = (np.where(usable, values, self.center) - self.center) / self.scale
        return np.where(usable, np.clip(distances, -1.0, 1.0), np.nan)

    def restore(self, margins: FloatArray) -> FloatArray:
        """From what the model says to the column's unit, or to the probability of a positive label.

        Of a count or an amount, margins contain the offset, and what comes out is the expectation.
        """
        if self.is_rate:
            return np.asarray(self.scale * np.exp(np.minimum(margins, LARGEST_OFFSET)), dtype=np.float64)
        if self.kind == "label":
            from scipy.special import expit

            return np.asarray(expit(margins), dtype=np.float64)
        return self.center + self.scale * margins

    def values(self, targets: FloatArray) -> FloatArray:
        """From what the model is trained on back to the column's unit."""
        return self.scale * targets if self.is_rate else self.center + self.scale * targets

    def offsets(self, table: pl.DataFrame) -> FloatArray:
        """The offset of every row, held within the public range; NaN where it has no exposure that can be used."""
        given = self.given_exposure
        return self.base + (np.zeros(table.height) if given is None else given.held(given.logarithms(table)))

    def prediction_offsets(self, table: pl.DataFrame) -> FloatArray:
        """The offset of every row to predict, as it is; that of an exposure of 1 where it has none."""
        given = self.given_exposure
        if given is None or given.name not in table.columns:
            return np.full(table.height, self.base)
        return self.base + np.nan_to_num(given.logarithms(table), nan=0.0)

    def response(self, targets: FloatArray, offsets: FloatArray) -> FloatArray:
        """What features are fitted to: the target, or of a count or an amount something near its logarithm.

        That is log(1 + rate) of a count, in units of the public mean, and log(rate) of an amount.
        """
        if not self.is_rate:
            return targets
        rates = targets / np.exp(offsets)
        return np.asarray(np.log1p(rates) if self.kind == "count" else np.log(rates), dtype=np.float64)

    def _require_offsets(self) -> None:
        """Refuse an exposure without a rate, and a mean from which some offset is too large."""
        if not self.is_rate:
            if self.given_exposure is not None:
                raise BadInput(
                    f"a target of kind {self.kind} with an exposure",
                    remedy="an exposure is for counts and amounts",
                    value=self.kind,
                )
            return
        if len(set(self.columns)) < len(self.columns):
            raise BadInput("a target that is its own exposure", remedy="give a column of its own", value=self.name)
        if not self.center > 0:
            raise BadInput("the public mean of a count is not above 0", remedy="fit the dictionary again")
        given = self.given_exposure
        ends = (0.0,) if given is None else (given.low, given.high)
        if max(abs(self.base + end) for end in ends) > LARGEST_OFFSET:
            raise BadInput(
                f"a public mean of {self.center:g} with counts up to {self.scale:g}",
                remedy="give the exposure in another unit, or fit the dictionary again",
                value=self.center,
            )


@dataclass(frozen=True, slots=True)
class TargetChoice:
    """How the user wants the target read.

    Args:
        name: the column.
        ordinal: number the sorted categories of a text.
        positive_above: for labels, numbers above this are positive.
        labels: whether there are to be two labels, as the logistic loss needs them.
        positive: for labels, the category that is positive, against all others.
        rate: whether it is a count or an amount, as the Poisson and the Gamma loss need them.
        exposure: for counts and amounts, the column that says how long or among how many.
        offset: the same, if the column has its logarithm.
    """

    name: str
    ordinal: bool = False
    positive_above: float | None = None
    labels: bool = False
    positive: str | None = None
    rate: Rate | None = None
    exposure: str | None = None
    offset: str | None = None

    def __post_init__(self) -> None:
        """Refuse a name that stands for more than one column."""
        require_name(self.name, "the target")
        for name in self.columns[1:]:
            require_name(name, "the exposure")

    @classmethod
    def for_loss(cls, loss: str, name: str, **how: Any) -> TargetChoice:  # noqa: ANN401
        """A target as a loss needs it.

        >>> TargetChoice.for_loss("poisson", "visits", exposure="years").rate
        'count'
        """
        return cls(name, labels=loss == "logistic", rate=_RATES.get(loss), **how)

    @property
    def columns(self) -> list[str]:
        """The columns that the target is read from: none of them is a feature."""
        return [self.name, *(name for name in (self.exposure, self.offset) if name is not None)]

    def require_kind(self, target: Target) -> None:
        """Refuse a fitted target of counts or amounts where the loss is for something else, and the other way round."""
        if (target.kind if target.is_rate else None) != self.rate:
            raise BadInput(
                f"the dictionary is for a target of kind {target.kind}, and the loss for another",
                remedy="use --loss poisson for counts, --loss gamma for amounts, or another dictionary",
                value=target.kind,
            )
