"""What is to be predicted, as a bounded number: |y| ≤ 1, or a label −1/+1.

A number is centred at the public mean and divided by a public quantile of its distance from it; what lies beyond is
clipped, because a record of unbounded influence cannot be protected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
import polars as pl

from copriv.errors import BadInput, BadTable
from copriv.records.column import number, place, text
from copriv.records.ranges import require_name, require_number, require_unique
from copriv.vectors import FloatArray

_BOUND_QUANTILE = 0.995


class Target(msgspec.Struct, frozen=True):
    """A fitted target.

    Args:
        name: the column.
        kind: a number to regress on, or a label to classify.
        center: public mean, or the value above which a label is positive.
        scale: what a distance of 1 stands for.
        categories: for an ordinal text, its sorted categories; they stand for 1 … m.
        levels: for a label, the two values it may take, if it has only two.
    """

    name: str
    kind: Literal["number", "label"]
    center: float
    scale: float
    categories: tuple[str, ...] = ()
    levels: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a target that some double could make more of than a number within ±1."""
        require_name(self.name, "the target")
        if self.kind not in {"number", "label"}:
            raise BadInput(f"a target of kind {self.kind!r}", remedy="use number or label", value=self.kind)
        require_number(self.center, "place", "the dictionary's target: center")
        require_number(self.scale, "unit", "the dictionary's target: scale")
        require_unique(self.categories, "the dictionary's target: categories")
        require_unique(self.levels, "the dictionary's target: levels")
        for level in self.levels:
            require_number(level, "place", "the dictionary's target: level")

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
        if self.kind == "label":
            known = usable & np.isin(values, self.levels) if self.levels else usable
            return np.where(known, np.where(values > self.center, 1.0, -1.0), np.nan)
        with np.errstate(over="ignore"):
            distances = (np.where(usable, values, self.center) - self.center) / self.scale
        return np.where(usable, np.clip(distances, -1.0, 1.0), np.nan)

    def restore(self, margins: FloatArray) -> FloatArray:
        """From what the model says to the column's unit, or to the probability of a positive label."""
        if self.kind == "label":
            from scipy.special import expit

            return np.asarray(expit(margins), dtype=np.float64)
        return self.center + self.scale * margins


@dataclass(frozen=True, slots=True)
class TargetChoice:
    """How the user wants the target read."""

    name: str
    ordinal: bool = False
    positive_above: float | None = None
    labels: bool = False

    def __post_init__(self) -> None:
        """Refuse a name that stands for more than one column."""
        require_name(self.name, "the target")


def fit_target(public: pl.DataFrame, choice: TargetChoice) -> Target:
    """Read the target of the public rows and fix its unit."""
    dtype = public[choice.name].dtype
    texts = public.select(text(choice.name, dtype).alias(choice.name))[choice.name].drop_nulls()
    draft = Target(choice.name, "label" if choice.labels else "number", 0.0, 1.0, _categories(public, choice, texts))
    found = public.select(draft.raw(dtype))[choice.name]
    values = found.filter(found.is_finite()).to_numpy().astype(np.float64)
    if values.size == 0:
        raise BadTable(
            f"the target {choice.name!r} is missing in every public row",
            remedy="choose another target or other public rows",
            value=choice.name,
        )
    return _as_label(draft, values, choice) if choice.labels else _as_number(draft, values)


def _categories(public: pl.DataFrame, choice: TargetChoice, texts: pl.Series) -> tuple[str, ...]:
    numbers = int(public.select(number(choice.name, public[choice.name].dtype).is_not_null().sum()).item())
    if numbers == texts.len():
        return ()
    if choice.ordinal:
        return tuple(sorted(texts.unique().to_list()))
    examples = ", ".join(repr(value) for value in sorted(texts.unique().to_list())[:3])
    raise BadTable(
        f"the target {choice.name!r} is not numeric: {examples} …",
        remedy="name a numeric column, or pass --ordinal to number its sorted categories 1, 2, 3 …",
        value=choice.name,
    )


def _as_number(draft: Target, values: FloatArray) -> Target:
    center = float(values.mean())
    distances = np.abs(values - center)
    scale = float(np.quantile(distances, _BOUND_QUANTILE)) or float(distances.max())
    if scale <= 1e-12 * max(1.0, abs(center)):
        raise BadTable(
            f"the target {draft.name!r} is {center:g} in every public row",
            remedy="choose a target that varies",
            value=draft.name,
        )
    return msgspec.structs.replace(draft, center=center, scale=scale)


def _as_label(draft: Target, values: FloatArray, choice: TargetChoice) -> Target:
    levels = np.unique(values)
    if choice.positive_above is not None:
        if not levels[0] <= choice.positive_above < levels[-1]:
            raise BadInput(
                f"--positive-above {choice.positive_above:g} puts every public row on one side",
                remedy=f"give a value from {levels[0]:g} up to just below {levels[-1]:g}",
                value=choice.positive_above,
            )
        return msgspec.structs.replace(draft, center=float(choice.positive_above))
    if levels.size != 2:
        raise BadInput(
            f"the logistic loss needs a target with two values, and {choice.name!r} has {levels.size}",
            remedy="pass --positive-above X to make two of them",
            value=int(levels.size),
        )
    return msgspec.structs.replace(draft, center=float(levels.mean()), levels=tuple(levels.tolist()))
