"""The dictionary: how a table becomes features, fitted on public rows only and sent to every owner.

Columns are standardised and projected on the principal components of the public rows, each divided by its public
deviation, so that a step does as much in every direction. Rows are measured in a public quantile of their length and
shortened to 1; an intercept as strong as the strongest feature follows. So ‖x‖₂ ≤ 1 for every record.

Every record becomes a row, whatever is in it. A cell that cannot be used is filled; a record without a usable target
becomes a row of zeros, without even an intercept: it counts, and contributes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import polars as pl

from copriv.errors import BadInput
from copriv.records.column import Column
from copriv.records.projection import project, shorten
from copriv.records.ranges import MOST_COLUMNS, hold, require_number, require_unique
from copriv.records.survey import LeftOut, survey
from copriv.records.target import Target, TargetChoice, fit_target
from copriv.vectors import FloatArray

ROW_NORM = 1.0
TARGET_BOUND = 1.0
_LENGTH_QUANTILE = 0.99
_SMALLEST_VARIANCE = 1e-6


class Dictionary(msgspec.Struct, frozen=True):
    """Columns, principal components (one a row), the unit of length, the intercept's value, and the target."""

    columns: tuple[Column, ...]
    components: tuple[tuple[float, ...], ...]
    length: float
    intercept: float
    target: Target

    def __post_init__(self) -> None:
        """Refuse a dictionary by which some record could become anything but a row of length at most 1."""
        if not (0 < len(self.columns) <= MOST_COLUMNS and 0 < len(self.components) < MOST_COLUMNS):
            raise BadInput(
                f"a dictionary of {len(self.columns)} columns and {len(self.components)} components",
                remedy=f"give at least one of each, and at most {MOST_COLUMNS:,}",
                value=len(self.columns),
            )
        require_unique(self.required_columns(), "the dictionary's columns")
        require_number(self.length, "length", "the dictionary's length")
        require_number(self.intercept, "intercept", "the dictionary's intercept")
        for place, component in enumerate(self.components, start=1):
            _require_component(component, len(self.columns), place)

    @property
    def features(self) -> int:
        """Principal components in use."""
        return len(self.components)

    @property
    def parameters(self) -> int:
        """Length of a model: the features and an intercept."""
        return self.features + 1

    def required_columns(self) -> list[str]:
        """The columns a table must have for its features."""
        return [column.name for column in self.columns]

    def features_of(self, table: pl.DataFrame) -> FloatArray:
        """Features with intercept of every row (records × parameters), each row of length at most 1."""
        scores = project(_standardise(table, self.columns), np.asarray(self.components, dtype=np.float64))
        return bound_rows(scores, self.length, self.intercept)

    def targets_of(self, table: pl.DataFrame) -> FloatArray:
        """Bounded targets; NaN where a row has none that can be used."""
        expression = self.target.raw(table.schema[self.target.name])
        values = table.select(expression.fill_null(math.nan)).to_series().to_numpy().astype(np.float64)
        return self.target.bounded(values)

    def records_of(self, table: pl.DataFrame) -> tuple[FloatArray, FloatArray]:
        """Features with intercept and target of every row; of a row that cannot be used, zeros."""
        features, targets = self.features_of(table), self.targets_of(table)
        unusable = ~(np.isfinite(targets) & np.isfinite(features).all(axis=1))
        features[unusable], targets[unusable] = 0.0, 0.0
        return features, targets

    def to_json(self) -> bytes:
        """The dictionary as text."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> Dictionary:
        """Read back what `to_json` wrote."""
        try:
            return msgspec.json.decode(data, type=cls)
        except msgspec.DecodeError as problem:
            raise BadInput(f"this is not a dictionary: {problem}", remedy="use the one of a run folder") from problem

    @classmethod
    def from_study(cls, content: object) -> Dictionary:
        """The dictionary that a study file holds, if records can safely be read with it."""
        try:
            return msgspec.convert(content, cls)
        except msgspec.ValidationError as problem:
            raise BadInput(
                f"the study's dictionary cannot be read: {problem}", remedy="ask the learner for another study file"
            ) from problem


def fit_dictionary(
    public: pl.DataFrame, choice: TargetChoice, features: int, *, skip: Iterable[str] = ()
) -> tuple[Dictionary, list[LeftOut]]:
    """Fit everything on the public rows; `features` is the number of principal components wanted."""
    if features < 1:
        raise BadInput(f"{features} features", remedy="ask for at least 1", value=features)
    target = fit_target(public, choice)
    columns, left_out = survey(public, skip=[choice.name, *skip])
    standardised = _standardise(public, columns)
    components = principal_components(standardised, features)
    scores = project(standardised, components)
    length = hold(float(np.quantile(np.linalg.norm(scores, axis=1), _LENGTH_QUANTILE)) or 1.0, "length")
    intercept = hold(balanced_intercept(scores, length), "intercept")
    rows = tuple(tuple(row) for row in components.tolist())
    return Dictionary(tuple(columns), rows, length, intercept, target), left_out


def principal_components(standardised: FloatArray, most: int) -> FloatArray:
    """The leading directions of variation over their deviations, one a row, with signs that no machine can change."""
    variances, directions = np.linalg.eigh(standardised.T @ standardised / standardised.shape[0])
    wanted = [k for k in range(variances.size)[::-1] if variances[k] > _SMALLEST_VARIANCE][:most]
    leading = directions[:, wanted].T
    largest = np.argmax(np.abs(leading), axis=1)
    signs = np.sign(leading[np.arange(leading.shape[0]), largest])
    return np.asarray(leading * (signs / np.sqrt(variances[wanted]))[:, None], dtype=np.float64)


def balanced_intercept(scores: FloatArray, length: float) -> float:
    """The b whose b² is the largest eigenvalue of (1 − b²) E[zzᵀ] over the bounded public scores z."""
    bounded = shorten(scores, length)
    strongest = float(np.linalg.eigvalsh(bounded.T @ bounded / bounded.shape[0])[-1])
    return math.sqrt(strongest / (1 + strongest))


def bound_rows(scores: FloatArray, length: float, intercept: float) -> FloatArray:
    """Scores in units of `length`, shortened to √(1 − b²), and the intercept b: rows of length at most 1.

    >>> rows = bound_rows(np.array([[3.0, 4.0], [0.0, 0.1]]), length=1.0, intercept=0.6)
    >>> bool(np.all(np.linalg.norm(rows, axis=1) <= 1))
    True
    """
    constant = np.full((scores.shape[0], 1), intercept)
    return np.hstack([shorten(scores, length) * math.sqrt(1 - intercept**2), constant]) * (1 - 1e-12)


def _standardise(table: pl.DataFrame, columns: Sequence[Column]) -> FloatArray:
    """Each column in deviations from its public mean, held within ±1e9: a double for every cell."""
    values = table.select(column.standardised(table.schema[column.name]) for column in columns).to_numpy()
    return np.ascontiguousarray(values, dtype=np.float64)


def _require_component(component: Sequence[float], columns: int, place: int) -> None:
    entry = f"the dictionary's component {place}"
    if len(component) != columns:
        raise BadInput(
            f"{entry} has {len(component)} numbers", remedy=f"give one a column: {columns}", value=len(component)
        )
    for weight in component:
        require_number(weight, "weight", entry)
