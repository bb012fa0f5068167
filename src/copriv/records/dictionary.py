"""The dictionary: how a table becomes features, fitted on public rows only and sent to every owner.

Columns become cells (`cells`), and cells become features: components of them, the cells themselves, the score of a
boosting model of the public rows, or the leaves of its trees. Rows are measured in a public quantile of their length
and shortened to 1; an intercept as strong as the strongest feature follows. So ‖x‖₂ ≤ 1 for every record.

Every record becomes a row, whatever is in it. A value that cannot be used is filled; a record without a usable target
becomes a row of zeros, without even an intercept: it counts, and contributes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
import polars as pl

from copriv.errors import BadInput
from copriv.losses.sample import NO_OFFSETS, Sample
from copriv.records.cells import Cell, Layout, cells_of, count_unlisted, read_values
from copriv.records.column import Column
from copriv.records.projection import project, shorten
from copriv.records.ranges import MOST_COLUMNS, require_number, require_unique
from copriv.records.target import Target
from copriv.records.trees import Trees
from copriv.vectors import FloatArray

ROW_NORM = 1.0
TARGET_BOUND = 1.0
SCORE = "public boosting score"
SLIGHTLY_LESS = 1 - 1e-12
# Cells are held in memory for so many numbers at a time.
_MOST_AT_ONCE = 1 << 22

_Entry = TypeVar("_Entry")


class PublicScore(msgspec.Struct, frozen=True):
    """Trees whose sum, from `center` on and in units of `deviation`, is a feature."""

    trees: Trees
    center: float
    deviation: float

    def __post_init__(self) -> None:
        """Refuse a unit in which some score is no number."""
        require_number(self.center, "weight", "the dictionary's score: center")
        require_number(self.deviation, "length", "the dictionary's score: deviation")

    def standardised(self, sums: FloatArray) -> FloatArray:
        """What the trees add up to, in deviations from the public average."""
        return np.asarray((sums - self.center) / self.deviation, dtype=np.float64)


class CellWeight(NamedTuple):
    """What one unit of a cell adds to a model's margin."""

    label: str
    weight: float
    cell: Cell | None = None


class Dictionary(msgspec.Struct, frozen=True):
    """How a row becomes features.

    Args:
        columns: what is read.
        components: weights of the cells, one component a row.
        length: the unit of a row's length.
        intercept: the value of the last feature.
        target: what is predicted.
        offsets: what is taken from each component; nothing if they are not given.
        pairs: products of two cells, as further cells.
        weights: of cells that are features themselves, one a cell; 0 for those that are none.
        score: a boosting model of the public rows.
        leaves: trees whose leaves are features, 1 where a record stands.
        means: of the cells and then of the leaves over the public rows, for explanations; they change no feature.
    """

    columns: tuple[Column, ...]
    components: tuple[tuple[float, ...], ...]
    length: float
    intercept: float
    target: Target
    offsets: tuple[float, ...] | msgspec.UnsetType = msgspec.UNSET
    pairs: tuple[tuple[int, int], ...] | msgspec.UnsetType = msgspec.UNSET
    weights: tuple[float, ...] | msgspec.UnsetType = msgspec.UNSET
    score: PublicScore | msgspec.UnsetType = msgspec.UNSET
    leaves: Trees | msgspec.UnsetType = msgspec.UNSET
    means: tuple[float, ...] | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        """Refuse a dictionary by which some record could become anything but a row of length at most 1."""
        cells = sum(column.cells for column in self.columns) + len(_given(self.pairs))
        if not (0 < len(self.columns) <= MOST_COLUMNS and cells <= MOST_COLUMNS and 0 < self.features < MOST_COLUMNS):
            raise BadInput(
                f"a dictionary of {len(self.columns)} columns, {cells} cells and {self.features} features",
                remedy=f"give at least one of each, and at most {MOST_COLUMNS:,}",
                value=len(self.columns),
            )
        require_unique(self.required_columns(), "the dictionary's columns")
        require_number(self.length, "length", "the dictionary's length")
        require_number(self.intercept, "intercept", "the dictionary's intercept")
        for place, component in enumerate(self.components, start=1):
            _require_weights(component, cells, f"the dictionary's component {place}")
        if self.offsets:
            _require_weights(self.offsets, len(self.components), "the dictionary's offsets")
        if self.weights:
            _require_weights(self.weights, cells, "the dictionary's weights")
        if self.means:
            leaves = 0 if isinstance(self.leaves, msgspec.UnsetType) else self.leaves.leaves.size
            _require_weights(self.means, cells + leaves, "the dictionary's means")
        _require_pairs(_given(self.pairs), cells)
        for trees in self._trees():
            trees.require_columns(len(self.columns))

    @property
    def features(self) -> int:
        """Features in use."""
        leaves = 0 if isinstance(self.leaves, msgspec.UnsetType) else self.leaves.leaves.size
        kept = sum(weight != 0 for weight in _given(self.weights))
        return len(self.components) + kept + (not isinstance(self.score, msgspec.UnsetType)) + leaves

    @property
    def parameters(self) -> int:
        """Length of a model: the features and an intercept."""
        return self.features + 1

    @property
    def score_place(self) -> int | None:
        """Where the public score stands among the features; None if there is none."""
        if isinstance(self.score, msgspec.UnsetType):
            return None
        return len(self.components) + sum(weight != 0 for weight in _given(self.weights))

    @property
    def score_trees(self) -> Trees | None:
        """The trees of the public score, if there is one."""
        return None if isinstance(self.score, msgspec.UnsetType) else self.score.trees

    @property
    def leaf_trees(self) -> Trees | None:
        """The trees whose leaves are features, if there are any."""
        return None if isinstance(self.leaves, msgspec.UnsetType) else self.leaves

    def feature_label(self, place: int) -> str:
        """What a feature stands for; of a component only its number."""
        kept = [cell.label for cell, weight in zip(self.cells(), _given(self.weights), strict=False) if weight != 0]
        score = [] if self.score_place is None else [SCORE]
        leaf = place - len(self.components) - len(kept) - len(score) + 1
        labels = [*(f"component {k}" for k in range(1, len(self.components) + 1)), *kept, *score]
        return labels[place] if place < len(labels) else f"leaf {leaf}"

    def cells(self) -> list[Cell]:
        """What each cell stands for."""
        return cells_of(self.columns, _given(self.pairs))

    def required_columns(self) -> list[str]:
        """The columns a table must have for its features."""
        return [column.name for column in self.columns]

    def features_of(self, table: pl.DataFrame) -> FloatArray:
        """Features with intercept of every row (records × parameters), each row of length at most 1."""
        return bound_rows(self.scores_of(read_values(table, self.columns)), self.length, self.intercept)

    def scores_of(self, values: FloatArray) -> FloatArray:
        """Features of every row before they are bounded, from what `read_values` has read."""
        layout = Layout.of(self.columns, _given(self.pairs))
        scores = np.empty((values.shape[0], self.features))
        step = max(_MOST_AT_ONCE // max(layout.cells, *(trees.width for trees in self._trees()), 1), 1)
        for start in range(0, values.shape[0], step):
            part = slice(start, start + step)
            scores[part] = self._scores_of(values[part], layout)
        return scores

    def cell_scores(self, cells: FloatArray) -> list[FloatArray]:
        """Features before they are bounded that are made of cells: components, and cells as they are."""
        parts = []
        if self.components:
            parts.append(project(cells, np.asarray(self.components, dtype=np.float64)))
            parts[0] -= np.asarray(_given(self.offsets) or (0.0,), dtype=np.float64)
        weights = np.asarray(_given(self.weights), dtype=np.float64)
        kept = np.flatnonzero(weights)
        return [*parts, cells[:, kept] * weights[kept]]

    def targets_of(self, table: pl.DataFrame) -> FloatArray:
        """Bounded targets; NaN where a row has none that can be used."""
        expression = self.target.raw(table.schema[self.target.name])
        values = table.select(expression.fill_null(math.nan)).to_series().to_numpy().astype(np.float64)
        return self.target.bounded(values)

    def offsets_of(self, table: pl.DataFrame) -> FloatArray:
        """The offset of every row, one column; no column where targets have none. NaN where it cannot be used."""
        return self.target.offsets(table)[:, None] if self.target.is_rate else np.empty((table.height, 0))

    @property
    def width(self) -> int:
        """How many numbers a record is read as, besides its target: the features, and the offset if there is one."""
        return self.parameters + self.target.is_rate

    def sample(self, rows: FloatArray, targets: FloatArray) -> Sample:
        """Records as they were read (records × width), as numbers to train on."""
        offsets = rows[:, self.parameters] if self.target.is_rate else NO_OFFSETS
        return Sample.of_rows(rows[:, : self.parameters], targets, offsets)

    def records_of(self, table: pl.DataFrame) -> tuple[FloatArray, FloatArray]:
        """Features with intercept (and offset) and target of every row; of a row that cannot be used, zeros."""
        return self.read(table)[:2]

    def read(self, table: pl.DataFrame) -> tuple[FloatArray, FloatArray, dict[str, int]]:
        """The records of every row, and of each column how many cells are of a category without a place of its own."""
        values = read_values(table, self.columns)
        rows = bound_rows(self.scores_of(values), self.length, self.intercept)
        rows = np.hstack([rows, self.offsets_of(table)]) if self.target.is_rate else rows
        return *usable_records(rows, self.targets_of(table)), count_unlisted(values, self.columns)

    def cell_weights(self, theta: Sequence[float]) -> list[CellWeight]:
        """What a model says in the units of the columns: of each cell, of the public score and of each leaf.

        The last entry is the intercept. Together they are the margin of a row that need not be shortened: a value
        counts by its unit, what lies above a knot by its unit too, a category, a missing value and a leaf by 1.
        Products count in deviations.
        """
        model = np.asarray(theta, dtype=np.float64)
        strength = SLIGHTLY_LESS * math.sqrt(1 - self.intercept**2) / self.length
        constant, last = SLIGHTLY_LESS * self.intercept * float(model[-1]), len(self.components)
        cells = self.cells()
        weights = np.zeros(len(cells))
        if last:
            weights += strength * (model[:last] @ np.asarray(self.components))
            constant -= strength * float(model[:last] @ np.asarray(_given(self.offsets) or (0.0,) * last))
        kept = np.flatnonzero(np.asarray(_given(self.weights), dtype=np.float64))
        weights[kept] += strength * model[last : last + kept.size] * np.asarray(_given(self.weights))[kept]
        found = [CellWeight(cell.label, float(w) / cell.unit, cell) for cell, w in zip(cells, weights, strict=True)]
        constant -= sum(entry.weight * cell.origin for cell, entry in zip(cells, found, strict=True) if _linear(cell))
        if not isinstance(self.score, msgspec.UnsetType):
            per_unit = strength * float(model[last + kept.size]) / self.score.deviation
            constant -= per_unit * self.score.center
            found.append(CellWeight(SCORE, per_unit))
        leaves = model[last + kept.size + (self.score_place is not None) : -1] * strength
        found += [CellWeight(f"leaf {place}", float(weight)) for place, weight in enumerate(leaves, start=1)]
        return [*found, CellWeight("intercept", constant)]

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

    def _scores_of(self, values: FloatArray, layout: Layout) -> FloatArray:
        parts = self.cell_scores(layout.cells_of(values)) if self.components or self.weights else []
        if self._trees():
            inputs = layout.inputs_of(values)
            if not isinstance(self.score, msgspec.UnsetType):
                parts.append(self.score.standardised(self.score.trees.scores_of(inputs))[:, None])
            if not isinstance(self.leaves, msgspec.UnsetType):
                parts.append(indicators(self.leaves, inputs))
        return np.hstack(parts)

    def _trees(self) -> list[Trees]:
        score = [] if isinstance(self.score, msgspec.UnsetType) else [self.score.trees]
        return score if isinstance(self.leaves, msgspec.UnsetType) else [*score, self.leaves]


def usable_records(features: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Features and targets, in place; zeros in rows without a usable target."""
    unusable = ~(np.isfinite(targets) & np.isfinite(features).all(axis=1))
    features[unusable], targets[unusable] = 0.0, 0.0
    return features, targets


def balanced_intercept(shortened: FloatArray) -> float:
    """The b whose b² is the largest eigenvalue of (1 − b²) E[zzᵀ] over the shortened public scores z."""
    strongest = float(np.linalg.eigvalsh(shortened.T @ shortened / shortened.shape[0])[-1])
    return math.sqrt(strongest / (1 + strongest))


def bound_rows(scores: FloatArray, length: float, intercept: float) -> FloatArray:
    """Scores in units of `length`, shortened to √(1 − b²), and the intercept b: rows of length at most 1.

    >>> rows = bound_rows(np.array([[3.0, 4.0], [0.0, 0.1]]), length=1.0, intercept=0.6)
    >>> bool(np.all(np.linalg.norm(rows, axis=1) <= 1))
    True
    """
    return with_intercept(shorten(scores, length), intercept)


def with_intercept(shortened: FloatArray, intercept: float) -> FloatArray:
    """Rows of scores that are shortened already, and the intercept b."""
    rows = np.empty((shortened.shape[0], shortened.shape[1] + 1))
    np.multiply(shortened, math.sqrt(1 - intercept**2), out=rows[:, :-1])
    rows[:, -1] = intercept
    rows *= SLIGHTLY_LESS
    return rows


def _given(entries: tuple[_Entry, ...] | msgspec.UnsetType) -> tuple[_Entry, ...]:
    return () if isinstance(entries, msgspec.UnsetType) else entries


def _linear(cell: Cell) -> bool:
    return cell.part == "value"


def indicators(trees: Trees, inputs: FloatArray) -> FloatArray:
    """1 where a record stands, in each tree (rows × leaves)."""
    leaves = trees.leaves_of(inputs)
    found = np.zeros((inputs.shape[0], trees.leaves.size))
    np.put_along_axis(found, leaves, 1.0, axis=1)
    return found


def _require_weights(weights: Sequence[float], expected: int, entry: str) -> None:
    if len(weights) != expected:
        raise BadInput(f"{entry} has {len(weights)} numbers", remedy=f"give {expected}", value=len(weights))
    for weight in weights:
        require_number(weight, "weight", entry)


def _require_pairs(pairs: Sequence[tuple[int, int]], cells: int) -> None:
    """Products are of cells that are no products themselves."""
    for pair in pairs:
        if not all(0 <= place < cells - len(pairs) for place in pair):
            raise BadInput(
                f"a product of the cells {pair}", remedy=f"name cells from 0 to {cells - len(pairs) - 1}", value=pair
            )
