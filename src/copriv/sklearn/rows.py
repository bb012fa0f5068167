"""Arrays in, bounded records out: the dictionary of public rows or of agreed bounds, and the line back to X's units.

Every row is a record of length at most 1 with a target within ±1, whatever is in it. What is not a finite number is
filled: with the public median, or with the middle of the bounds. So no cell of X can raise an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.records.column import Column
from copriv.records.dictionary import Dictionary
from copriv.records.feature_spec import FeatureSpec
from copriv.records.fit_features import fit_dictionary
from copriv.records.load import Intake, OwnerSample
from copriv.records.ranges import hold
from copriv.records.target import Target, TargetChoice
from copriv.sklearn.given import Given
from copriv.vectors import FloatArray

TARGET = "target"
LABEL = Target(TARGET, "label", center=0.0, scale=1.0, levels=(-1.0, 1.0))
SIGN = Target(TARGET, "number", center=0.0, scale=1.0)
_EXACT = 1 - 1e-12


@dataclass(frozen=True, slots=True)
class Line:
    """A model in the units of X: margin = X @ slopes + start; `fill` stands for what is no finite number."""

    slopes: FloatArray
    start: float
    fill: FloatArray


def target_of(bounds: Given, loss: str = "squared") -> Target | None:
    """The target of agreed bounds (of X, of y): what lies beyond counts as the bound; None if they are not agreed."""
    if bounds is None or _pair(bounds, "bounds")[1] is None:
        return None
    low, high = (_one_a_column(side, 1, "y").item() for side in _pair(bounds[1], "the bounds of y"))
    if not low < high:
        raise BadInput(f"the bounds of y are {low:g} and {high:g}", remedy="give (low, high)", value=bounds[1])
    rate = TargetChoice.for_loss(loss, TARGET).rate
    if rate is None:
        return Target(TARGET, "number", center=(low + high) / 2, scale=(high - low) / 2)
    if low < 0:
        raise BadInput(
            f"the bounds of y are {low:g} and {high:g}, and the {loss} loss is for counts or amounts",
            remedy="give (0, high)",
            value=bounds[1],
        )
    return Target(TARGET, rate, center=(low + high) / 2, scale=high)


def dictionary_of(
    bounds: Given,
    columns: int,
    public: tuple[FloatArray, FloatArray] | None,
    target: Target | None,
    components: int,
    loss: str = "squared",
) -> Dictionary:
    """How a row becomes a bounded record: by agreed bounds if there are any, else as the public rows suggest.

    Args:
        bounds: (of X, of y), or None.
        columns: of X.
        public: rows and targets that are public, if there are any.
        target: how the target is bounded; None to fit that on the public rows.
        components: principal components of the public rows in use.
        loss: whether the target is a number, or a count or an amount.
    """
    fitted = None
    if public is not None:
        choice = TargetChoice(TARGET, rate=TargetChoice.for_loss(loss, TARGET).rate)
        fitted = fit_dictionary(_frame(*public), choice, FeatureSpec(codes=components))[0]
    wanted = fitted.target if target is None and fitted is not None else target
    if bounds is not None and wanted is not None:
        return bounded_dictionary(_pair(bounds, "bounds")[0], columns, wanted)
    if fitted is None or wanted is None:
        raise BadInput(
            "neither public rows nor bounds",
            remedy="give public=(X, y) of rows that nobody has to protect, or agreed bounds=((low, high), (low, high)) "
            "of X and y: private rows must not choose their own scale",
        )
    return msgspec.structs.replace(fitted, target=wanted)


def bounded_dictionary(bounds: Given, columns: int, target: Target) -> Dictionary:
    """The dictionary of agreed bounds (low, high), numbers or one a column: every column for itself, none left out.

    A row at a corner of the bounds has length 1. What lies beyond is shortened as a whole, like every row.
    """
    lows, highs = (_one_a_column(side, columns, "X") for side in _pair(bounds, "the bounds of X"))
    if not (lows < highs).all():
        raise BadInput("the bounds of X have a low that is not below its high", remedy="give (low, high)", value=bounds)
    middles, halves = (lows + highs) / 2, (highs - lows) / 2
    fitted = tuple(
        Column(_name(k), "number", fill=middle, mean=middle, deviation=half)
        for k, (middle, half) in enumerate(zip(middles.tolist(), halves.tolist(), strict=True))
    )
    components = tuple(tuple(row) for row in np.eye(columns).tolist())
    strength = 1 / (3 * columns)  # of a column whose values are spread evenly over its bounds
    intercept = hold(math.sqrt(strength / (1 + strength)), "intercept")
    return Dictionary(fitted, components, math.sqrt(columns), intercept, target)


def sample_of(dictionary: Dictionary, rows: FloatArray, targets: FloatArray) -> Sample:
    """Rows and targets as bounded records; a target that is NaN makes a record that counts and says nothing."""
    return dictionary.sample(*dictionary.records_of(_frame(rows, targets)))


def intake_of(dictionary: Dictionary, records: Sample, owners: npt.NDArray[np.str_], public: Sample | None) -> Intake:
    """The records of each owner, who is known by a number: names stay with whoever fits."""
    names, codes = np.unique(owners, return_inverse=True)
    samples = tuple(
        OwnerSample(f"owner {number + 1}", records.take(np.flatnonzero(codes == number)))
        for number in range(names.size)
    )
    return Intake(dictionary, public, samples, ())


def line_of(dictionary: Dictionary, theta: FloatArray, columns: int) -> Line:
    """The model as a line in the units of X: what `dictionary` does to a row, without shortening it.

    Its columns become one standardised number each, as `dictionary_of` fits them.
    """
    weights = np.asarray(dictionary.components).T @ theta[:-1]
    weights *= math.sqrt(1 - dictionary.intercept**2) / dictionary.length * _EXACT
    slopes, fill, start = np.zeros(columns), np.zeros(columns), float(theta[-1]) * dictionary.intercept * _EXACT
    for column, weight in zip(dictionary.columns, weights.tolist(), strict=True):
        place = int(column.name[1:])
        slopes[place], fill[place] = weight / column.deviation, column.fill
        start -= slopes[place] * column.mean
    return Line(slopes, start, fill)


def _name(place: int) -> str:
    return f"x{place}"


def _frame(rows: FloatArray, targets: FloatArray) -> pl.DataFrame:
    columns = {_name(k): rows[:, k] for k in range(rows.shape[1])}
    return pl.DataFrame({**columns, TARGET: np.asarray(targets, dtype=np.float64)})


def _pair(bounds: Given, what: str) -> tuple[Any, Any]:
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise BadInput(
            f"{what} are {bounds!r}",
            remedy="give bounds=((low, high), (low, high)): of X, as numbers or one a column, and of y",
            value=bounds,
        ) from None
    return low, high


def _one_a_column(side: Given, columns: int, what: str) -> FloatArray:
    try:
        found = np.broadcast_to(np.asarray(side, dtype=np.float64), (columns,))
    except (TypeError, ValueError):
        found = np.full(columns, math.nan)
    if not np.isfinite(found).all():
        raise BadInput(
            f"the bounds of {what} have {side!r}",
            remedy=f"give finite numbers, one for all or one for each of {columns}",
            value=side,
        )
    return found
