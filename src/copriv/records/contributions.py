"""What each column adds to a prediction, against the average public row.

A margin is a sum over cells, so a column adds Σ weight × (cell − its public mean). A row that is far from the public
rows is shortened, and everything in it counts less: what that takes away, or adds, is a contribution of its own. The
contributions of a row and the margin of the average public row are together exactly its margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import polars as pl

from copriv.errors import BadInput
from copriv.records.cells import Layout, read_values
from copriv.records.dictionary import SCORE, CellWeight, Dictionary, bound_rows
from copriv.vectors import FloatArray, IntArray

LEAVES = "leaves of public trees"
HELD_BACK = "held back, far from the public rows"
_AT_ONCE = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """What adds up to the margins of some rows.

    Args:
        names: columns, products of two, the public score, leaves, and what shortening holds back.
        values: rows × names.
        average: the margin of the average public row.
    """

    names: tuple[str, ...]
    values: FloatArray
    average: float

    @property
    def margins(self) -> FloatArray:
        """What the model says of every row."""
        return np.asarray(self.average + self.values.sum(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class _Terms:
    """A model as a sum: over cells, each of which belongs to a name, and over features that are made by trees."""

    names: tuple[str, ...]
    cells: FloatArray  # what a cell of 1 adds
    means: FloatArray  # of the cells
    places: IntArray  # the name of each cell
    features: tuple[tuple[slice, FloatArray, float], ...]  # where they are, what they add, and on average
    average: float


def contributions_of(dictionary: Dictionary, theta: Sequence[float], table: pl.DataFrame) -> Contributions:
    """The contributions of every row.

    Raises:
        BadInput: the dictionary does not say what the average public row is.
    """
    terms, values = _terms(dictionary, theta), read_values(table, dictionary.columns)
    parts = [
        _contributions(dictionary, np.asarray(theta), terms, values[start : start + _AT_ONCE])
        for start in range(0, max(values.shape[0], 1), _AT_ONCE)
    ]
    return Contributions((*terms.names, HELD_BACK), np.vstack(parts), terms.average)


def _contributions(dictionary: Dictionary, theta: FloatArray, terms: _Terms, values: FloatArray) -> FloatArray:
    """Of some rows, from what `read_values` has read."""
    pairs = () if isinstance(dictionary.pairs, msgspec.UnsetType) else dictionary.pairs
    scores = dictionary.scores_of(values)
    found = np.zeros((values.shape[0], len(terms.names) + 1))
    away = (Layout.of(dictionary.columns, pairs).cells_of(values) - terms.means) * terms.cells
    np.add.at(found.T, terms.places, away.T)
    for place, (where, weights, mean) in enumerate(terms.features, start=len(terms.names) - len(terms.features)):
        found[:, place] = scores[:, where] @ weights - mean
    found *= np.minimum(1.0, dictionary.length / np.maximum(np.linalg.norm(scores, axis=1), dictionary.length))[:, None]
    margins = bound_rows(scores, dictionary.length, dictionary.intercept) @ theta
    found[:, -1] = margins - terms.average - found[:, :-1].sum(axis=1)
    return found


def _terms(dictionary: Dictionary, theta: Sequence[float]) -> _Terms:
    *weights, intercept = dictionary.cell_weights(theta)
    cells = [each.cell for each in weights if each.cell is not None]
    means = _means(dictionary, len(cells))
    per_cell = np.array([each.weight * cell.unit for each, cell in zip(weights, cells, strict=False)])
    names = list(dict.fromkeys(cell.column for cell in cells))
    features = _features(dictionary, weights[len(cells) :], means[len(cells) :])
    origins = (each.weight * each.cell.origin for each in weights if each.cell and each.cell.part == "value")
    score_at = 0.0 if dictionary.score_place is None else _score_origin(dictionary, weights[len(cells)])
    average = intercept.weight + sum(origins) + score_at + float(per_cell @ means[: len(cells)])
    return _Terms(
        names=(*names, *features),
        cells=per_cell,
        means=means[: len(cells)],
        places=np.array([names.index(cell.column) for cell in cells], dtype=np.int64),
        features=tuple(features.values()),
        average=average + sum(mean for _, _, mean in features.values()),
    )


def _features(
    dictionary: Dictionary, weights: Sequence[CellWeight], means: FloatArray
) -> dict[str, tuple[slice, FloatArray, float]]:
    """The public score, whose public average is 0, and the leaves of trees, all as one."""
    found, place = {}, dictionary.score_place
    if place is not None and not isinstance(dictionary.score, msgspec.UnsetType):
        found[SCORE] = (slice(place, place + 1), np.array([weights[0].weight * dictionary.score.deviation]), 0.0)
    leaves = np.array([each.weight for each in weights[place is not None :]])
    if leaves.size:
        found[LEAVES] = (slice(dictionary.features - leaves.size, dictionary.features), leaves, float(leaves @ means))
    return found


def _score_origin(dictionary: Dictionary, weight: CellWeight) -> float:
    """What the average public score adds."""
    return 0.0 if isinstance(dictionary.score, msgspec.UnsetType) else weight.weight * dictionary.score.center


def _means(dictionary: Dictionary, cells: int) -> FloatArray:
    """Public means of the cells and of the leaves; integer codes and numbers are standardised, so theirs are 0."""
    if not isinstance(dictionary.means, msgspec.UnsetType):
        return np.asarray(dictionary.means, dtype=np.float64)
    plain = all(cell.part == "value" for cell in dictionary.cells())
    if not plain or dictionary.leaf_trees is not None:
        raise BadInput(
            "the model does not say what the average public row is",
            remedy="train it again with this version of copriv",
        )
    return np.zeros(cells)
