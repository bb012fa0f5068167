"""Boosted trees of the public rows, fitted by scikit-learn and kept as data.

Public rows that a tree was grown on look better to it than new rows do. So public rows are scored by trees of the other
four fifths ("out of fold"), and private rows by trees of all public rows. The two scores have slightly different laws:
those of private rows come from a quarter more rows, and are a little better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from copriv.errors import BadInput
from copriv.losses.people import Whose
from copriv.records.feature_spec import LEAVES_OF_A_TREE
from copriv.records.scikit_trees import (
    FEWEST_IN_LEAF,
    Model,
    boost,
    final_scores,
    on_cores,
    one_thread,
    staged_scores,
    trees_of,
)
from copriv.records.strength import strengths_of
from copriv.records.trees import Trees
from copriv.vectors import FloatArray, IntArray

FOLDS = 5
# So many trees are grown first, and more if the best count is near the end.
_SOME_TREES, _MOST_TREES = 60, 150
_WELL_BEFORE = 0.75
# On so many folds larger trees are looked at first.
_LOOK = 2
# How many leaves a tree may have: the larger ones are tried as long as they are better out of fold.
_LEAVES = (8, 16, 32)
_FEWEST_ROWS = 50
# A category's average counts as if this many rows of the overall average were added to it.
_PRIOR_ROWS = 10.0
# The most columns that trees are grown on.
_MOST_INPUTS = 60
_GROVE_RATE = 0.3
_GROVE_SHARE = 50


@dataclass(frozen=True, slots=True)
class Boosting:
    """Trees of all public rows, the first of them only where their sum starts; and the rows' scores out of fold."""

    trees: Trees
    out_of_fold: FloatArray


def folds_of(rows: int) -> IntArray:
    """The fold of each row, in a fixed order.

    >>> folds_of(7).tolist()
    [0, 1, 2, 3, 4, 0, 1]
    """
    return np.arange(rows, dtype=np.int64) % FOLDS


def folds_of_people(whose: Whose | None, rows: int) -> IntArray:
    """The same with all rows of a person in one fold; row by row if there are too few people, or none."""
    return folds_of(rows) if whose is None or whose.people < FOLDS else whose.places % FOLDS


def rank_categories(places: FloatArray, targets: FloatArray, count: int) -> IntArray:
    """The places of categories from the lowest average target to the highest, shrunk towards the overall average.

    >>> rank_categories(np.array([0.0, 0.0, 1.0, 2.0, np.nan]), np.array([5.0, 5.0, 1.0, 3.0, 9.0]), 3).tolist()
    [1, 2, 0]
    """
    known = (places >= 0) & (places < count)
    at, seen = places[known].astype(np.int64), targets[known]
    overall = float(targets.mean())
    rows = np.bincount(at, minlength=count)
    sums = np.bincount(at, weights=seen, minlength=count)
    return np.argsort((sums + _PRIOR_ROWS * overall) / (rows + _PRIOR_ROWS), kind="stable")


def fit_boosting(
    inputs: FloatArray, targets: FloatArray, counts: Sequence[int], *, labels: bool, folds: IntArray | None = None
) -> Boosting:
    """Grow trees on all rows: as many, and with as many leaves, as are best out of fold.

    Args:
        inputs: what trees read, categories as places from the lowest average target to the highest.
        targets: bounded numbers, or labels −1 and +1.
        counts: how many categories each column has; 0 for numbers. Within a fold they are ranked by its own rows.
        labels: whether the logistic loss is to be boosted; scores are log-odds then.
        folds: of each row; None for one after another.
    """
    _require_rows(targets, labels=labels)
    known = _Folds.of(inputs, targets, counts, folds_of(targets.size) if folds is None else folds, labels=labels)
    best = known.grow(_LEAVES[0])
    for leaves in _LEAVES[1:]:
        larger = known.grow(leaves, best.early)
        if larger.loss >= best.loss:
            break
        best = larger
    asked = _strongest(inputs, targets, labels=labels)
    final = boost(inputs[:, asked], targets, labels=labels, trees=best.trees, max_leaf_nodes=best.leaves)
    trees = trees_of(final, asked, [float(np.ravel(final._baseline_prediction)[0])])  # noqa: SLF001
    if leaves_of(trees) == best.leaves:
        return Boosting(trees, best.out_of_fold)
    return Boosting(trees, score_again(inputs, targets, counts, trees, labels=labels, folds=folds))


def leaves_of(trees: Trees) -> int:
    """How many leaves these trees were allowed: the fewest of what is tried that their largest needs."""
    per_tree = np.diff(np.searchsorted(trees.leaves, [*trees.roots, len(trees.columns)]))
    return next((leaves for leaves in _LEAVES if per_tree.max() <= leaves), _LEAVES[-1])


@dataclass(frozen=True, slots=True)
class _Grown:
    """Trees with so many leaves at most: how many of them are best out of fold, and the rows' scores then.

    `early` is the loss of some trees on two folds.
    """

    leaves: int
    trees: int
    loss: float
    out_of_fold: FloatArray
    early: float = np.inf


@dataclass(frozen=True, slots=True)
class _Folds:
    """Of each fold, what trees read of all rows, by what the others tell; and which rows the others are."""

    parts: tuple[tuple[FloatArray, npt.NDArray[np.bool_]], ...]
    targets: FloatArray
    labels: bool

    @classmethod
    def of(
        cls, inputs: FloatArray, targets: FloatArray, counts: Sequence[int], folds: IntArray, *, labels: bool
    ) -> _Folds:
        """Folds whose others have one label only are left out: their scores are 0."""
        parts = []
        for fold in range(FOLDS):
            others = folds != fold
            if labels and np.unique(targets[others]).size < 2:
                continue
            ranked = _ranked(inputs, targets, counts, others)
            parts.append((ranked[:, _strongest(ranked[others], targets[others], labels=labels)], others))
        return cls(tuple(parts), targets, labels)

    def grow(self, leaves: int, early: float = np.inf) -> _Grown:
        """Some trees, and more if the best count is near the end.

        Larger trees learn faster. Those that are not ahead of `early` after some trees on two folds are given up.
        """
        models = self._fit_each(range(_LOOK), leaves, _SOME_TREES)
        glance = self._best(models, leaves)
        if glance.loss >= early:
            return replace(glance, loss=np.inf)
        models += self._fit_each(range(_LOOK, len(self.parts)), leaves, _SOME_TREES)
        found = self._best(models, leaves)
        if found.trees > _WELL_BEFORE * _SOME_TREES:
            on_cores(self._grow_on, list(zip(models, self.parts, strict=True)))
            found = self._best(models, leaves)
        return replace(found, early=glance.loss)

    def scores(self, leaves: int, trees: int) -> FloatArray:
        """The score of each row by so many trees of the other folds."""
        found = np.zeros(self.targets.size)
        models = self._fit_each(range(len(self.parts)), leaves, trees)
        for model, (rows, others) in zip(models, self.parts, strict=True):
            found[~others] = final_scores(model, rows[~others], labels=self.labels)
        return found

    def _fit_each(self, places: Sequence[int], leaves: int, trees: int) -> list[Model]:
        """Of some folds, the trees of the others."""

        def fit(place: int) -> Model:
            rows, others = self.parts[place]
            return boost(rows[others], self.targets[others], labels=self.labels, trees=trees, max_leaf_nodes=leaves)

        return on_cores(fit, places)

    def _grow_on(self, grown: tuple[Model, tuple[FloatArray, npt.NDArray[np.bool_]]]) -> None:
        """The same trees, and more."""
        model, (rows, others) = grown
        with one_thread():
            model.set_params(max_iter=_MOST_TREES).fit(rows[others], self.targets[others])

    def _best(self, models: Sequence[Model], leaves: int) -> _Grown:
        """How many trees are best on the rows of the first folds, one model a fold."""
        parts = self.parts[: len(models)]
        staged, seen = np.zeros((models[0].n_iter_, self.targets.size)), np.zeros(self.targets.size, dtype=bool)
        for model, (rows, others) in zip(models, parts, strict=True):
            staged[:, ~others] = staged_scores(model, rows[~others], labels=self.labels)
            seen |= ~others
        if len(parts) == len(self.parts):
            seen[:] = True
        losses = [score_loss(scores[seen], self.targets[seen], labels=self.labels) for scores in staged]
        best = int(np.argmin(losses))
        return _Grown(leaves, best + 1, losses[best], staged[best].copy())


def score_again(
    inputs: FloatArray,
    targets: FloatArray,
    counts: Sequence[int],
    trees: Trees,
    *,
    labels: bool,
    folds: IntArray | None = None,
) -> FloatArray:
    """Scores of public rows out of fold, by as many trees as were grown before; of a few rows, by these trees.

    Args:
        inputs: what trees read.
        targets: bounded numbers, or labels −1 and +1.
        counts: how many categories each column has; 0 for numbers.
        trees: of all public rows, the first of them where their sum starts.
        labels: whether the logistic loss was boosted.
        folds: of each row; None for one after another.
    """
    if targets.size < _FEWEST_ROWS:
        return trees.scores_of(inputs)
    known = _Folds.of(inputs, targets, counts, folds_of(targets.size) if folds is None else folds, labels=labels)
    return known.scores(leaves_of(trees), max(len(trees.roots) - 1, 1))


def scores_without(
    inputs: FloatArray, targets: FloatArray, counts: Sequence[int], trees: Trees, folds: IntArray, *, labels: bool
) -> list[FloatArray]:
    """Of each fold, scores of the other rows by trees that have seen neither its rows nor those of their own fold.

    Trees that leave two folds out serve both of them: ten models are enough.

    Args:
        inputs: what trees read.
        targets: bounded numbers, or labels −1 and +1.
        counts: how many categories each column has; 0 for numbers.
        trees: of all public rows: a model has as many, with as many leaves.
        folds: of each row.
        labels: whether the logistic loss is boosted.
    """
    found = np.zeros((FOLDS, targets.size))
    count, leaves = max(len(trees.roots) - 1, 1), leaves_of(trees)

    def fit(pair: tuple[int, int]) -> None:
        train = ~np.isin(folds, pair)
        if labels and np.unique(targets[train]).size < 2:
            return
        ranked = _ranked(inputs, targets, counts, train)
        rows = ranked[:, _strongest(ranked[train], targets[train], labels=labels)]
        model = boost(rows[train], targets[train], labels=labels, trees=count, max_leaf_nodes=leaves)
        for fold, judged in (pair, pair[::-1]):
            held_out = folds == fold
            found[judged, held_out] = final_scores(model, rows[held_out], labels=labels)

    on_cores(fit, list(combinations(range(FOLDS), 2)))
    return [found[fold, folds != fold] for fold in range(FOLDS)]


def score_loss(scores: FloatArray, targets: FloatArray, *, labels: bool) -> float:
    """The mean loss of scores: logistic of labels, else squared."""
    if labels:
        return float(np.logaddexp(0.0, -targets * scores).mean())
    return float(np.square(targets - scores).mean())


def fit_grove(inputs: FloatArray, targets: FloatArray, trees: int, *, labels: bool) -> Trees:
    """A few small trees, for the sake of their leaves."""
    fewest = max(FEWEST_IN_LEAF, targets.size // _GROVE_SHARE)
    shape = {"learning_rate": _GROVE_RATE, "max_leaf_nodes": LEAVES_OF_A_TREE, "min_samples_leaf": fewest}
    _require_rows(targets, labels=labels)
    asked = _strongest(inputs, targets, labels=labels)
    return trees_of(boost(inputs[:, asked], targets, labels=labels, trees=trees, **shape), asked)


def _require_rows(targets: FloatArray, *, labels: bool) -> None:
    few = min(int((targets > 0).sum()), int((targets < 0).sum())) if labels else targets.size
    if targets.size < _FEWEST_ROWS or few < FOLDS:
        what = f", {few} of them of one label" if labels else ""
        raise BadInput(
            f"{targets.size} public rows with a target{what}: too few to grow trees on",
            remedy=f"ask for features without score and leaves, or give at least {_FEWEST_ROWS} public rows",
            value=targets.size,
        )


def _strongest(inputs: FloatArray, targets: FloatArray, *, labels: bool) -> IntArray:
    """The columns that trees may ask for: all of them, or of very many those that tell most alone."""
    if inputs.shape[1] <= _MOST_INPUTS:
        return np.arange(inputs.shape[1], dtype=np.int64)
    strengths = strengths_of(inputs, targets, labels=labels)
    return np.sort(np.argsort(-strengths, kind="stable")[:_MOST_INPUTS])


def _ranked(inputs: FloatArray, targets: FloatArray, counts: Sequence[int], train: npt.NDArray[np.bool_]) -> FloatArray:
    """The inputs with categories ranked by some of the rows alone."""
    ranked = inputs.copy()
    for column, count in enumerate(counts):
        if count:
            ranks = np.empty(count)
            ranks[rank_categories(inputs[train, column], targets[train], count)] = np.arange(count)
            known = (inputs[:, column] >= 0) & (inputs[:, column] < count)
            ranked[known, column] = ranks[inputs[known, column].astype(np.int64)]
    return ranked
