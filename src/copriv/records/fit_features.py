"""From public rows to features: everything that shapes a dictionary is fitted here, on public rows alone.

`PublicRows` reads them once. Each choice of features is then fitted from the same cells, the same path of components
and the same trees, so comparing many choices costs little more than one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl

from copriv.errors import BadInput
from copriv.losses.sample import NO_OFFSETS, Sample
from copriv.protocol.unit import PersonUnit
from copriv.records.boosting import FOLDS, rank_categories
from copriv.records.cells import Layout, cells_of, read_values
from copriv.records.components import principal_components
from copriv.records.dictionary import Dictionary
from copriv.records.encode import fit_encoding, with_order
from copriv.records.feature_spec import FeatureSpec, candidates
from copriv.records.fit_target import fit_target
from copriv.records.people import require_no_target, whose_rows
from copriv.records.public_cells import Fitted, PublicCells, bounded, public_records
from copriv.records.scikit_trees import can_boost
from copriv.records.survey import LeftOut, survey
from copriv.records.target import Target, TargetChoice
from copriv.vectors import FloatArray

_FEWEST_OF_A_LABEL = 10
_MOST_ALIKE = 0.95


def fit_dictionary(
    public: pl.DataFrame, choice: TargetChoice, features: FeatureSpec | str | int, *, skip: Iterable[str] = ()
) -> tuple[Dictionary, list[LeftOut]]:
    """Fit everything on the public rows.

    Raises:
        BadInput: the features are none, or left to a plan, or more than the public rows allow.
    """
    fitted = PublicRows(public, choice, skip=skip).fit(features)
    return fitted.dictionary, list(fitted.left_out)


class PublicRows:
    """Public rows and their target, to fit features on."""

    def __init__(
        self,
        public: pl.DataFrame,
        choice: TargetChoice,
        *,
        skip: Iterable[str] = (),
        person: PersonUnit | None = None,
    ) -> None:
        self.rows = public
        if person is not None:
            require_no_target(person.column, choice.columns)
        self.person = person
        self.whose = None if person is None else whose_rows(public, person)
        self.skip = (*choice.columns, *skip, *(() if person is None else (person.column,)))
        self.target: Target = fit_target(public, choice)

    def fit(self, features: FeatureSpec | str | int) -> Fitted:
        """The dictionary of some features, and the public rows by it.

        Raises:
            BadInput: the features are none, or left to a plan, or more than the public rows allow.
        """
        spec = FeatureSpec.parse(features)
        if spec.auto:
            raise BadInput(
                "features auto: there is no plan here that chooses them",
                remedy="name them: 10, all, pls:10+score",
                value="auto",
            )
        fitted = self._fit_codes(spec.codes) if spec.codes else self._cells(spec).fit(spec)
        return replace(fitted, notices=(*fitted.notices, *_about_variety(self.target, self.targets)))

    def folds(self, features: FeatureSpec | str | int) -> Iterator[tuple[Sample, Sample]]:
        """Of each of five folds, features of the other rows fitted on these, and of its own rows by the same."""
        spec = FeatureSpec.parse(features)
        return (found for (found,) in self._cells(spec).folds([spec]))

    def folds_of_all(
        self, specs: Sequence[FeatureSpec], folds: Sequence[int] = range(FOLDS)
    ) -> Iterator[list[tuple[Sample, Sample]]]:
        """The same of many choices without hinges and products: fold by fold, because what they share is made once."""
        return self.cells.folds(specs, folds)

    def candidates(self) -> list[FeatureSpec]:
        """Features worth comparing."""
        cells = self.cells
        return candidates(cells.usable, len(cells_of(cells.columns)), boosting=can_boost())

    @cached_property
    def cells(self) -> PublicCells:
        """The rows as cells, without hinges and products."""
        columns, left_out = survey(self.rows, skip=self.skip, fit=fit_encoding)
        values, responses = read_values(self.rows, columns), self.responses
        known = np.isfinite(responses)
        for place, column in enumerate(columns):
            if column.encoded.indicators:
                order = rank_categories(values[known, place], responses[known], len(column.categories))
                columns[place] = with_order(column, order.tolist())
        values = read_values(self.rows, columns)
        return PublicCells(
            tuple(columns), values, self.targets, self.target, tuple(left_out), whose=self.whose, offsets=self.offsets
        )

    @cached_property
    def targets(self) -> FloatArray:
        """Bounded targets; NaN where a row has none that can be used, or no exposure that can be."""
        raw = self.rows.select(self.target.raw(self.rows.schema[self.target.name]).fill_null(np.nan))
        found = self.target.bounded(raw.to_series().to_numpy().astype(np.float64))
        return np.where(np.isfinite(self.offsets), found, np.nan) if self.offsets.size else found

    @cached_property
    def offsets(self) -> FloatArray:
        """Of every row, if targets have any; NaN where it cannot be used."""
        return self.target.offsets(self.rows) if self.target.is_rate else NO_OFFSETS

    @cached_property
    def responses(self) -> FloatArray:
        """What features are fitted to."""
        return self.target.response(self.targets, self.offsets)

    @cached_property
    def _hinged(self) -> PublicCells:
        return self.cells.with_hinges()

    def _cells(self, spec: FeatureSpec) -> PublicCells:
        found = self._hinged if spec.splines else self.cells
        return found.with_products() if spec.pairs else found

    def _fit_codes(self, most: int) -> Fitted:
        """Principal components of standardised columns, categories as integer codes."""
        columns, left_out = survey(self.rows, skip=self.skip)
        standardised = Layout.of(columns).cells_of(read_values(self.rows, columns))
        components = tuple(map(tuple, principal_components(standardised, most).tolist()))
        draft = Dictionary(tuple(columns), components, 1.0, 0.5, self.target)
        dictionary, rows = bounded(draft, draft.scores_of(read_values(self.rows, columns)))
        few = f"{len(components)} features instead of {most}: the table has no more directions"
        notices = (few,) if len(components) < most else ()
        public = public_records(rows, self.targets, self.offsets).grouped(self.whose)
        return Fitted(dictionary, public, tuple(left_out), notices)


def _about_variety(target: Target, targets: FloatArray) -> list[str]:
    """What is to be said if the target hardly varies in the public rows."""
    known = targets[np.isfinite(targets)]
    rows, (values, counts) = known.size, np.unique(known, return_counts=True)
    if target.kind == "label":
        few = int(rows - counts.max())
        rare = "positive" if values[np.argmax(counts)] < 0 else "negative"
        said = f"{few:,} of {rows:,} public rows are {rare}: they say little about them"
        return [said] if few < _FEWEST_OF_A_LABEL else []
    alike = float(counts.max()) / rows
    said = f"{100 * alike:.0f} % of the public rows have the same {target.name!r}: they say little about the others"
    return [said] if alike > _MOST_ALIKE else []
