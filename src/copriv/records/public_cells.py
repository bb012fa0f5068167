"""Public rows as cells, and the features that are fitted on them: components, cells, scores and leaves.

Components, trees and strengths are fitted once and shared by every choice of features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from copriv.errors import BadInput
from copriv.losses.people import Whose
from copriv.losses.sample import NO_OFFSETS, Sample
from copriv.records.boosting import (
    FOLDS,
    Boosting,
    fit_boosting,
    fit_grove,
    folds_of_people,
    score_again,
    score_loss,
    scores_without,
)
from copriv.records.cells import Layout, read_values
from copriv.records.column import Column
from copriv.records.components import principal_components, supervised_components
from copriv.records.dictionary import (
    Dictionary,
    PublicScore,
    balanced_intercept,
    bound_rows,
    indicators,
    usable_records,
    with_intercept,
)
from copriv.records.encode import with_knots
from copriv.records.feature_spec import FeatureSpec
from copriv.records.projection import shorten
from copriv.records.ranges import hold
from copriv.records.strength import describe_giveaways, pair_cells, strengths_of
from copriv.records.survey import LeftOut
from copriv.records.target import Target
from copriv.vectors import FloatArray, IntArray

_LENGTH_QUANTILE = 0.99
_SMALLEST_DEVIATION = 1e-9
# A cell is weighed by 1/deviation, but at most by this: so every indicator is weighed alike. The deviation of a rare
# one is small, and would make the rows that have it very long.
_HEAVIEST = 2.0
# One score tells as much as many components: it has more of a row's length.
_SCORE_WEIGHT = 2.0
# Paths of supervised components are worked out up to one of these lengths, and shared.
_PATHS = (30, 200)
# (5/4 − 1)/(5/3 − 5/4): from four fifths of the rows to all, over from three fifths to four.
_RIPENING = 0.6


@dataclass(frozen=True, slots=True)
class Fitted:
    """Features fitted on public rows.

    Args:
        dictionary: what is sent to owners.
        public: the public rows by this dictionary; a public score is out of fold here, and only here.
        left_out: columns that are not used, and why.
        notices: what a person should know.
    """

    dictionary: Dictionary
    public: Sample
    left_out: tuple[LeftOut, ...]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class PublicCells:
    """Public rows as cells, and whatever is fitted on them, once.

    Args:
        columns: fitted; categories from the lowest average target to the highest.
        values: what `read_values` has read with them.
        targets: bounded; NaN where a row has none that can be used.
        target: what is predicted.
        left_out: columns that are not used, and why.
        pairs: products of two cells.
        boosted: tells trees and scores out of fold that are known already.
        whose: whose each row is, if a record is a person.
        offsets: of the rows, if targets have any.
    """

    columns: tuple[Column, ...]
    values: FloatArray
    targets: FloatArray
    target: Target
    left_out: tuple[LeftOut, ...]
    pairs: tuple[tuple[int, int], ...] = ()
    boosted: Callable[[], Boosting] | None = None
    whose: Whose | None = None
    offsets: FloatArray = field(default_factory=lambda: NO_OFFSETS)

    @property
    def usable(self) -> int:
        """Rows with a target."""
        return int(self._known.sum())

    def fit(self, spec: FeatureSpec) -> Fitted:
        """The dictionary of some features, and the public rows by it.

        Raises:
            BadInput: the public rows do not allow so many features.
        """
        dictionary, public = self._fit(spec)
        return Fitted(dictionary, public, self.left_out, (*self._about(spec), *self.giveaways))

    def folds(
        self, specs: Sequence[FeatureSpec], folds: Sequence[int] = range(FOLDS)
    ) -> Iterator[list[tuple[Sample, Sample]]]:
        """Of each of these folds and each choice, features of the other rows fitted on these, and its own rows by them.

        For cross-validation: components and leaves look better on the rows they are fitted on than on new ones. So do
        scores: those of the other rows are out of fold among themselves, because trees that have seen the fold's own
        rows tell of their targets. Rows without a target are left out.
        """
        rows = np.flatnonzero(self._known)
        of_row = self._folds
        for fold in folds:
            others, own = self._part(rows[of_row != fold]), self._part(rows[of_row == fold])
            others = replace(others, boosted=partial(self._boosted_beside, fold))
            own = replace(own, boosted=partial(self._boosted_in, of_row == fold))
            yield [own._by(*others._fit(spec)) for spec in specs]  # noqa: SLF001

    def with_hinges(self) -> PublicCells:
        """The same with hinges at public quantiles."""
        starts = Layout.of(self.columns).shapes[:, 0].tolist()
        pairs = zip(self.columns, starts, strict=True)
        return replace(self, columns=tuple(with_knots(column, self.cells[:, start]) for column, start in pairs))

    def with_products(self) -> PublicCells:
        """The same with products of cells of strong columns."""
        return replace(self, pairs=pair_cells(self.columns, self.strengths))

    @cached_property
    def cells(self) -> FloatArray:
        """The cells of every row."""
        return Layout.of(self.columns, self.pairs).cells_of(self.values)

    @cached_property
    def inputs(self) -> FloatArray:
        """What trees read of every row."""
        return Layout.of(self.columns).inputs_of(self.values)

    @cached_property
    def strengths(self) -> FloatArray:
        """How much of the target each column explains alone, from 0 to 1."""
        return strengths_of(self.inputs[self._known], self.responses[self._known], labels=self._labels)

    @property
    def giveaways(self) -> tuple[str, ...]:
        """What is to be said of columns that nearly determine the target."""
        return tuple(describe_giveaways(self.columns, self.strengths, labels=self._labels))

    @cached_property
    def boosting(self) -> Boosting:
        """Trees of the rows with a target, and their scores out of fold."""
        if self.boosted is not None:
            return self.boosted()
        known, counts = self._known, category_counts(self.columns)
        return fit_boosting(self.inputs[known], self.responses[known], counts, labels=self._labels, folds=self._folds)

    @cached_property
    def ripening(self) -> float:
        """What all rows are worth to the score, beside four fifths of them: the loss with the former over the latter.

        A score's loss falls about as 1/rows. Scores of three fifths and of four fifths are known for every row.
        """
        targets, labels = self.responses[self._known], self._labels
        folds, early = self._folds, list[float]()
        for fold, known in enumerate(self._boosted_without):
            early.append(score_loss(known.out_of_fold, targets[folds != fold], labels=labels))
        late = score_loss(self.boosting.out_of_fold, targets, labels=labels)
        return min(1 - _RIPENING * (float(np.mean(early)) - late) / late, 1.0) if late > 0 else 1.0

    def supervised(self, count: int) -> FloatArray:
        """The path of supervised components of standardised cells, one a row: so many, if there are as many."""
        length = next((each for each in _PATHS if count <= each), count)
        if length not in self._paths:
            known = self._known
            self._paths[length] = supervised_components(self._standardised[known], self.responses[known], length)
        return self._paths[length][:count]

    @cached_property
    def principal(self) -> FloatArray:
        """All principal components of standardised cells, one a row."""
        return principal_components(self._standardised, self._scales.size)

    @cached_property
    def _paths(self) -> dict[int, FloatArray]:
        return {}

    @cached_property
    def _known(self) -> npt.NDArray[np.bool_]:
        return np.isfinite(self.targets)

    @cached_property
    def responses(self) -> FloatArray:
        """What features are fitted to."""
        return self.target.response(self.targets, self.offsets)

    @cached_property
    def _folds(self) -> IntArray:
        """Of every row with a target."""
        rows = np.flatnonzero(self._known)
        return folds_of_people(None if self.whose is None else self.whose.take(rows), rows.size)

    @property
    def _labels(self) -> bool:
        return self.target.kind == "label"

    @cached_property
    def _scales(self) -> FloatArray:
        """What a cell is multiplied by: up to its deviation, so that it varies by 1; 0 if it does not vary."""
        deviations = self.cells.std(axis=0)
        varies = deviations > _SMALLEST_DEVIATION
        return np.where(varies, np.minimum(1 / np.where(varies, deviations, 1.0), _HEAVIEST), 0.0)

    @cached_property
    def _means(self) -> FloatArray:
        return np.asarray(self.cells.mean(axis=0), dtype=np.float64)

    @cached_property
    def _standardised(self) -> FloatArray:
        return (self.cells - self._means) * self._scales

    @cached_property
    def _boosted_without(self) -> tuple[Boosting, ...]:
        """Of each fold, scores of the other rows by trees that have never seen its own."""
        known, counts = self._known, category_counts(self.columns)
        trees = self.boosting.trees
        scores = scores_without(
            self.inputs[known], self.responses[known], counts, trees, self._folds, labels=self._labels
        )
        return tuple(Boosting(trees, each) for each in scores)

    def _boosted_beside(self, fold: int) -> Boosting:
        """Trees, and scores of the rows outside a fold that have never seen it."""
        return self._boosted_without[fold]

    def _boosted_in(self, own: npt.NDArray[np.bool_]) -> Boosting:
        """Trees, and scores out of fold of some of the rows with a target."""
        return Boosting(self.boosting.trees, self.boosting.out_of_fold[own])

    def _fit(self, spec: FeatureSpec) -> tuple[Dictionary, Sample]:
        """The dictionary of some features, and these rows by it, without a word about them."""
        draft = Dictionary(self.columns, length=1.0, intercept=0.5, target=self.target, **self._blocks(spec))
        self._require_rows(draft, spec)
        dictionary, rows = bounded(draft, self._scores_by(draft))
        return dictionary, public_records(rows, self.targets, self.offsets).grouped(self.whose)

    def _by(self, dictionary: Dictionary, fitted: Sample) -> tuple[Sample, Sample]:
        """The rows that features were fitted on, and these rows by the same features."""
        own = public_records(self._rows_by(dictionary), self.targets, self.offsets)
        return fitted, own.grouped(self.whose)

    def _part(self, rows: IntArray) -> PublicCells:
        """Some of the rows with a target, with trees of their own."""
        whose = None if self.whose is None else self.whose.take(rows)
        part = replace(self, values=self.values[rows], targets=self.targets[rows], boosted=None, whose=whose)
        return replace(part, offsets=self.offsets[rows]) if self.offsets.size else part

    def _scores_by(self, dictionary: Dictionary) -> FloatArray:
        """Features of every row before they are bounded, a public score out of fold."""
        return np.ascontiguousarray(np.hstack([*dictionary.cell_scores(self.cells), *self._tree_scores(dictionary)]))

    def _tree_scores(self, dictionary: Dictionary) -> Iterator[FloatArray]:
        """The public score, out of fold where there is a target, and the leaves."""
        if not isinstance(dictionary.score, msgspec.UnsetType):
            found, known = np.empty(self.targets.size), self._known
            found[known] = self.boosting.out_of_fold
            found[~known] = dictionary.score.trees.scores_of(self.inputs[~known])
            yield dictionary.score.standardised(found)[:, None]
        if not isinstance(dictionary.leaves, msgspec.UnsetType):
            yield indicators(dictionary.leaves, self.inputs)

    def _rows_by(self, dictionary: Dictionary) -> FloatArray:
        return bound_rows(self._scores_by(dictionary), dictionary.length, dictionary.intercept)

    def _blocks(self, spec: FeatureSpec) -> dict[str, Any]:
        """The entries of a dictionary with these features."""
        directions = [self.principal[: spec.pca]] if spec.pca else []
        directions += [self.supervised(spec.pls)] if spec.pls else []
        components = np.vstack(directions) * self._scales if directions else np.empty((0, self._scales.size))
        found: dict[str, Any] = {"components": tuple(map(tuple, components.tolist()))}
        if components.size:
            found["offsets"] = tuple((components @ self._means).tolist())
        if self.pairs:
            found["pairs"] = self.pairs
        if spec.all:
            found["weights"] = tuple(self._weights().tolist())
        if spec.score:
            found["score"] = self._score()
        if spec.leaves:
            known = self._known
            found["leaves"] = fit_grove(self.inputs[known], self.responses[known], spec.leaves, labels=self._labels)
        leaves = indicators(found["leaves"], self.inputs).mean(axis=0) if spec.leaves else np.empty(0)
        found["means"] = tuple(np.concatenate([self._means, leaves]).tolist())
        return found

    def _weights(self) -> FloatArray:
        """Of every cell as a feature; the most common category of a column is where the intercept stands."""
        weights = self._scales.copy()
        for column, shape in zip(self.columns, Layout.of(self.columns).shapes.tolist(), strict=True):
            if column.encoded.indicators:
                start, wide = shape[:2]
                weights[start + int(np.argmax(self._means[start : start + wide]))] = 0.0
        return weights

    def _score(self) -> PublicScore:
        scores = self.boosting.out_of_fold
        unit = (float(scores.std()) or 1.0) / _SCORE_WEIGHT
        return PublicScore(self.boosting.trees, hold(float(scores.mean()), "weight"), hold(unit, "length"))

    def _require_rows(self, draft: Dictionary, spec: FeatureSpec) -> None:
        if draft.parameters > self.usable:
            raise BadInput(
                f"{spec} makes {draft.features} features, and {self.usable} public rows have a target",
                remedy="ask for fewer features (pls:K with a smaller K), or give more public rows",
                value=draft.features,
            )

    def _about(self, spec: FeatureSpec) -> list[str]:
        counted = ((spec.pls, "pls", lambda: self.supervised(spec.pls)), (spec.pca, "pca", lambda: self.principal))
        return [
            _about_directions(wanted, name, path) for wanted, name, path in counted if wanted > _found(wanted, path)
        ]


def bounded(draft: Dictionary, scores: FloatArray) -> tuple[Dictionary, FloatArray]:
    """The dictionary with the unit of length and the intercept of these public scores, and their bounded rows."""
    quantile = float(np.quantile(np.linalg.norm(scores, axis=1), _LENGTH_QUANTILE)) or 1.0
    length = hold(quantile, "length")
    shortened = shorten(scores, length)
    intercept = hold(balanced_intercept(shortened), "intercept")
    return msgspec.structs.replace(draft, length=length, intercept=intercept), with_intercept(shortened, intercept)


def public_sample(dictionary: Dictionary, public: pl.DataFrame, whose: Whose | None = None) -> Sample:
    """Public rows by a dictionary that is agreed already; a public score is worked out anew, out of fold.

    On the rows that the dictionary was fitted on, that is the score they had then. Plain scores would be those of trees
    that were grown on these very rows.
    """
    values, targets = read_values(public, dictionary.columns), dictionary.targets_of(public)
    offsets = dictionary.offsets_of(public).ravel()
    if offsets.size:
        targets = np.where(np.isfinite(offsets), targets, np.nan)
    scores, known = dictionary.scores_of(values), np.isfinite(targets)
    if dictionary.score_place is not None and not isinstance(dictionary.score, msgspec.UnsetType):
        inputs = Layout.of(dictionary.columns).inputs_of(values[known])
        counts, labels = category_counts(dictionary.columns), dictionary.target.kind == "label"
        folds = folds_of_people(None if whose is None else whose.take(np.flatnonzero(known)), inputs.shape[0])
        responses = dictionary.target.response(targets, offsets)[known]
        anew = score_again(inputs, responses, counts, dictionary.score.trees, labels=labels, folds=folds)
        scores[known, dictionary.score_place] = dictionary.score.standardised(anew)
    rows = bound_rows(scores, dictionary.length, dictionary.intercept)
    return public_records(rows, targets, offsets).grouped(whose)


def public_records(rows: FloatArray, targets: FloatArray, offsets: FloatArray) -> Sample:
    """Rows with targets and offsets as a sample; zeros where a row has none that can be used."""
    features, found = usable_records(rows, targets.copy())
    return Sample.of_rows(features, found, np.where(np.isfinite(targets), offsets, 0.0) if offsets.size else NO_OFFSETS)


def category_counts(columns: Sequence[Column]) -> list[int]:
    """How many categories with a place each column has; 0 for what is a number."""
    return [len(column.categories) if column.encoded.indicators else 0 for column in columns]


def _found(wanted: int, path: Callable[[], FloatArray]) -> int:
    return path().shape[0] if wanted else 0


def _about_directions(wanted: int, name: str, path: Callable[[], FloatArray]) -> str:
    return f"{path().shape[0]} features instead of {wanted} ({name}): the table has no more directions"
