"""What is to be predicted, as a bounded number: |y| ≤ 1, or a label −1/+1.

A number is centred at the public mean and divided by a public quantile of its distance from it; what lies beyond is
clipped, because a record of unbounded influence cannot be protected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
import polars as pl

from copriv.errors import BadInput, BadTable
from copriv.records.column import COMMA_NUMBER, number, place, text
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
        categories: for an ordinal text, its sorted categories; they stand for 1 … m. For labels, the positive one is
            the last.
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
    """How the user wants the target read.

    Args:
        name: the column.
        ordinal: number the sorted categories of a text.
        positive_above: for labels, numbers above this are positive.
        labels: whether there are to be two labels, as the logistic loss needs them.
        positive: for labels, the category that is positive, against all others.
    """

    name: str
    ordinal: bool = False
    positive_above: float | None = None
    labels: bool = False
    positive: str | None = None

    def __post_init__(self) -> None:
        """Refuse a name that stands for more than one column."""
        require_name(self.name, "the target")


def fit_target(public: pl.DataFrame, choice: TargetChoice) -> Target:
    """Read the target of the public rows and fix its unit."""
    _require_use(choice)
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


def _require_use(choice: TargetChoice) -> None:
    if choice.positive is not None and not choice.labels:
        raise BadInput(
            "--positive names a label of the target, which only the logistic loss uses",
            remedy="add --loss logistic, or leave it out",
            value=choice.positive,
        )
    if choice.positive is not None and (choice.ordinal or choice.positive_above is not None):
        raise BadInput(
            "--positive says what is positive, and so does --ordinal or --positive-above",
            remedy="give one of them",
            value=choice.positive,
        )


def _categories(public: pl.DataFrame, choice: TargetChoice, texts: pl.Series) -> tuple[str, ...]:
    """Of a text, the categories in the order in which they stand for numbers."""
    numbers = int(public.select(number(choice.name, public[choice.name].dtype).is_not_null().sum()).item())
    if numbers == texts.len():
        return ()
    found = tuple(sorted(texts.unique().to_list()))
    if choice.ordinal:
        return found
    if choice.positive is not None:
        return _with_last(found, choice.positive)
    if choice.labels and choice.positive_above is None and len(found) == 2:
        return found
    raise _not_numeric(choice, found)


def _with_last(categories: tuple[str, ...], positive: str) -> tuple[str, ...]:
    if positive.strip() not in categories:
        raise BadInput(
            f"--positive {positive} is no category of the target in the public rows",
            remedy=f"name one of {_list(categories)}",
            value=positive,
        )
    return (*(name for name in categories if name != positive.strip()), positive.strip())


def _not_numeric(choice: TargetChoice, categories: tuple[str, ...]) -> BadTable:
    count = f"{len(categories)} classes " if len(categories) > 2 else ""
    problem = f"the target {choice.name!r} is not numeric: {count}{_list(categories)}"
    if all(re.search(COMMA_NUMBER, each) for each in categories):
        return BadTable(problem, remedy="if these are numbers with a decimal comma, say --decimal ,", value=choice.name)
    if choice.labels:
        remedy = f"a model tells two classes apart: {_one_study_each('--positive VALUE', len(categories))}"
    else:
        two = (
            " for one of two labels" if len(categories) == 2 else " --positive VALUE for one of them against all others"
        )
        remedy = (
            "name a numeric column, or pass --ordinal to number its sorted categories 1, 2, 3 …, or predict the "
            f"probability of a label: --loss logistic{two}"
        )
    return BadTable(problem, remedy=remedy, value=choice.name)


def _list(categories: tuple[str, ...]) -> str:
    return ", ".join(map(repr, categories[:3])) + (" …" if len(categories) > 3 else "")


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
    if draft.categories and choice.positive is not None and levels.size > 1:
        return msgspec.structs.replace(draft, center=len(draft.categories) - 0.5)
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
            remedy=_two_of(int(levels.size)),
            value=int(levels.size),
        )
    _require_larger(choice, levels)
    return msgspec.structs.replace(draft, center=float(levels.mean()), levels=tuple(levels.tolist()))


def _two_of(values: int) -> str:
    """What to do about a number of values that is not two."""
    if values < 2:
        return "choose another target"
    more = _one_study_each("the classes written as text and --positive VALUE", values)
    return f"pass --positive-above X to make two of them; of unordered classes, {more}"


def _one_study_each(how: str, classes: int) -> str:
    """There is no model of many classes: what one of each against all others costs."""
    return (
        f"train one study a class, with {how}; what owners promise adds up, so that {classes} studies of ε = 1 promise "
        f"ε = {classes} for one record (replace-one), or give each ε/{classes}"
    )


def _require_larger(choice: TargetChoice, levels: FloatArray) -> None:
    """Of two numbers the larger is positive; refuse a choice that says otherwise."""
    if choice.positive is None or _number_of(choice.positive) == levels[1]:
        return
    raise BadInput(
        f"--positive {choice.positive}: of the two values {levels[0]:g} and {levels[1]:g}, the larger is positive",
        remedy=f"leave it out, or say --positive {levels[1]:g}",
        value=choice.positive,
    )


def _number_of(given: str) -> object:
    """What a text is as a number, read as a cell is; None if it is none."""
    return pl.DataFrame({"given": [given]}).select(number("given", pl.String())).item()
