"""Candidates for the features, compared on the public rows: fold by fold, and only as long as they may win.

Leaves come last. They make long models, which take long to judge and to forecast: what they might reach at best is
seen on the first folds, beside the same features without leaves. Those that could not win are given up there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from copriv.errors import BadInput
from copriv.forecast.public_evidence import PublicEvidence
from copriv.losses.metrics import LITTLE
from copriv.planning.entrant import Entrant, without_laggards
from copriv.planning.feature_choice import (
    LEAVES_MUST_GAIN,
    FeatureChoice,
    WeighedFeatures,
    explain_nothing,
    least,
    take,
)
from copriv.planning.outline import draft_outline, gather_evidence
from copriv.planning.search import glance
from copriv.planning.training_spec import TrainingSpec
from copriv.records.boosting import FOLDS
from copriv.records.dictionary import Dictionary
from copriv.records.feature_spec import LEAVES_OF_A_TREE, FeatureSpec
from copriv.records.fit_features import PublicRows

Tell = Callable[[int, int], None]

# After so many folds it is seen who is clearly behind; of leaves after one, if it has so many rows.
_FIRST = 2
_MANY_ROWS = 1000
# What a sibling's forecast says of features is taken to be off by so much of the loss.
_SURELY = 1.01


def choose_features(
    rows: PublicRows, sizes: Sequence[int], wishes: TrainingSpec, tell: Tell = lambda _done, _total: None
) -> FeatureChoice:
    """The features with the least predicted loss for owners of these sizes, and those that might have won.

    Where no candidate explains anything worth the name, all differences are chance, and the fewest are taken.

    Args:
        rows: the public rows.
        sizes: n_i of each owner.
        wishes: what is settled, the promises of the owners among it.
        tell: is told how many of how many folds and candidates are done.

    Raises:
        BadInput: no candidate can be fitted on so few public rows or trained by so small owners.
    """
    return FeatureContest(rows, wishes, tell).pick(sizes, wishes)


class FeatureContest:
    """Candidates fitted and cross-validated once, for owners of any sizes and promises.

    Args:
        rows: the public rows.
        wishes: the loss, the regularizer and the box.
        tell: is told how many of how many folds and candidates are done.
    """

    def __init__(self, rows: PublicRows, wishes: TrainingSpec, tell: Tell = lambda _done, _total: None) -> None:
        self._rows, self._tell = rows, tell
        self._entrants = list[Entrant]()
        self._problem: BadInput | None = None
        specs = rows.candidates()
        # The same features with a score first: where these are fitted, those without can be.
        for spec in sorted((spec for spec in specs if not spec.leaves), key=lambda spec: not spec.score):
            self._enter(spec, wishes)
        self._entrants.sort(key=lambda each: specs.index(each.spec))
        leafy = [(spec, self._sibling(replace(spec, leaves=0))) for spec in specs if spec.leaves]
        self._leafy = [self._late(spec, wishes, sibling) for spec, sibling in leafy if sibling is not None]
        self._validate(self._entrants, _FIRST)

    def _enter(self, spec: FeatureSpec, wishes: TrainingSpec) -> None:
        """Fit a candidate, later if it is sure to be fitted; what cannot be is left out."""
        scored = None if spec.score else self._sibling(replace(spec, score=True))
        if scored is not None:
            self._entrants.append(self._late(spec, wishes, scored))
            return
        try:
            dictionary, evidence = _fit(self._rows, wishes, spec)
            self._entrants.append(Entrant(spec, evidence.objective, lambda: (dictionary, evidence)))
        except BadInput as refusal:
            self._problem = self._problem or refusal

    def choose(self, sizes: Sequence[int], wishes: TrainingSpec) -> FeatureChoice:
        """The least predicted loss for these owners; `wishes` differ from those of the contest in promises only.

        Everybody is weighed, but leaves only if they may win.

        Raises:
            BadInput: no candidate can be fitted on so few public rows or trained by so small owners.
        """
        short, too_long = self._able(sizes, self._entrants)
        self._validate(short, FOLDS)
        found = []
        for done, entrant in enumerate(short, start=1):
            found.append(self._weigh(entrant, tuple(sizes), wishes))
            self._tell(FOLDS + done, FOLDS + len(short))
        if not explain_nothing(found):
            found += self._weigh_leaves(found, tuple(sizes), wishes)
        found.sort(key=lambda each: each.parameters)
        return FeatureChoice(tuple(found), take(found), too_long)

    def pick(self, sizes: Sequence[int], wishes: TrainingSpec) -> FeatureChoice:
        """The same, without those that cannot be first: they are behind, or no forecast helps them.

        At least two are weighed, and whoever may win. So the runner-up is the next best of these.

        Raises:
            BadInput: as `choose`.
        """
        short, too_long = self._able(sizes, without_laggards(self._entrants, min(sizes)))
        self._validate(short, FOLDS)
        if not any((each.figures(self._rows.target).explained or 0.0) >= LITTLE for each in short):
            return self.choose(sizes, wishes)
        floors = {each: each.floor(self._ripening(each.spec)) for each in short}
        found = list[WeighedFeatures]()
        # Long models take long to forecast: short ones first.
        for entrant in sorted(short, key=lambda each: (each.is_long, floors[each])):
            if len(found) < 2 or not self._cannot_win(entrant, floors[entrant], found):
                found.append(self._weigh(entrant, tuple(sizes), wishes))
                self._tell(FOLDS + len(found), FOLDS + len(short))
        found += self._weigh_leaves(found, tuple(sizes), wishes)
        self._tell(FOLDS + len(short), FOLDS + len(short))
        found.sort(key=lambda each: each.parameters)
        return FeatureChoice(tuple(found), least(found), too_long)

    def _able(self, sizes: Sequence[int], entrants: Sequence[Entrant]) -> tuple[list[Entrant], tuple[FeatureSpec, ...]]:
        """Of these, and of leaves, candidates that the smallest owner has enough records for, and the others."""
        short = [each for each in entrants if each.dictionary.parameters < min(sizes)]
        too_long = [each.spec for each in entrants if each.dictionary.parameters >= min(sizes)]
        too_long += [each.spec for each in self._leafy if not self._is_short(each.spec, sizes)]
        if not short:
            raise self._problem or BadInput(
                f"features auto, and an owner of {min(sizes)} records",
                remedy="leave such owners out (--min-records N), or name the features: 3, pls:2",
                value=min(sizes),
            )
        return short, tuple(too_long)

    def _is_short(self, spec: FeatureSpec, sizes: Sequence[int]) -> bool:
        """Whether the smallest owner has more records than a model with these leaves can have numbers."""
        sibling = self._sibling(replace(spec, leaves=0))
        return sibling is not None and sibling.dictionary.parameters + LEAVES_OF_A_TREE * spec.leaves < min(sizes)

    def _sibling(self, spec: FeatureSpec) -> Entrant | None:
        """The candidate with these features."""
        return next((each for each in self._entrants if each.spec == spec), None)

    def _late(self, spec: FeatureSpec, wishes: TrainingSpec, sibling: Entrant) -> Entrant:
        """A candidate that is fitted on all rows only if it may win; until then with the objective of a sibling."""
        return Entrant(spec, sibling.objective, partial(_fit, self._rows, wishes, spec))

    def _validate(self, entrants: Sequence[Entrant], folds: int) -> None:
        """The folds up to this one, for those that have not been judged on them; one is held in memory at a time."""
        waiting = [each for each in entrants if len(each.losses) < folds]
        if not waiting:
            return
        missing = range(len(waiting[0].losses), folds)
        parts = self._rows.folds_of_all([each.spec for each in waiting], missing)
        for fold, pairs in zip(missing, parts, strict=True):
            for entrant, (others, own) in zip(waiting, pairs, strict=True):
                entrant.validate(others, own)
            self._tell(fold + 1, FOLDS + len(self._entrants))

    def _weigh_leaves(
        self, found: Sequence[WeighedFeatures], sizes: tuple[int, ...], wishes: TrainingSpec
    ) -> list[WeighedFeatures]:
        """Leaves that may be better than all of these by as much as they must."""
        hopeful = [each for each in self._leafy if self._is_short(each.spec, sizes) and self._may_win(each, found)]
        self._validate(hopeful, FOLDS)
        return [self._weigh(each, sizes, wishes) for each in hopeful]

    def _cannot_win(self, entrant: Entrant, floor: float, found: Sequence[WeighedFeatures]) -> bool:
        """Whether somebody is ahead of the best model in these features, or of what a joint one is sure to be near.

        The second is seen by the same features with a score, which have one number more and about the same forecast.
        """
        best = min(each.predicted_loss for each in found)
        scored = None if entrant.spec.score else self._sibling(replace(entrant.spec, score=True))
        near = next((each for each in found if scored is not None and each.spec == scored.spec), None)
        return floor > best or (near is not None and entrant.likely(near.relative_fitness) > _SURELY * best)

    def _may_win(self, entrant: Entrant, found: Sequence[WeighedFeatures]) -> bool:
        """Whether leaves could lose less than these, by the first folds; those that were judged on all may always."""
        sibling = self._sibling(replace(entrant.spec, leaves=0))
        if entrant.complete or sibling is None:
            return entrant.complete
        first = 1 if self._rows.cells.usable >= FOLDS * _MANY_ROWS else _FIRST
        try:
            self._validate([entrant], first)
        except BadInput:
            # Too few of a label in a fold to grow trees on.
            return False
        self._validate([sibling], FOLDS)
        best = min(each.predicted_loss for each in found)
        psi = next((each.relative_fitness for each in found if each.spec == sibling.spec), 0.0)
        return _SURELY * LEAVES_MUST_GAIN * entrant.hope(sibling, psi, self._ripening(entrant.spec)) < best

    def _ripening(self, spec: FeatureSpec) -> float:
        return self._rows.cells.ripening if spec.score else 1.0

    def _weigh(self, entrant: Entrant, sizes: tuple[int, ...], wishes: TrainingSpec) -> WeighedFeatures:
        way = glance(draft_outline(entrant.dictionary, entrant.evidence, sizes, wishes))
        ratio = entrant.prospect(way, self._ripening(entrant.spec)).ratio
        known = entrant.spec, entrant.dictionary.parameters, tuple(entrant.losses)
        return WeighedFeatures(*known, way.relative_fitness, ratio, way.rule, entrant.figures(self._rows.target))


def _fit(rows: PublicRows, wishes: TrainingSpec, spec: FeatureSpec) -> tuple[Dictionary, PublicEvidence]:
    fitted = rows.fit(spec)
    return fitted.dictionary, gather_evidence(fitted.public, wishes)
