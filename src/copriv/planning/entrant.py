"""A candidate for the features: what cross-validation finds of it, and what owners would bring to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from copriv.forecast.public_evidence import PublicEvidence
from copriv.losses.metrics import Metrics
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise_freely
from copriv.losses.passes import average_value
from copriv.losses.sample import Sample
from copriv.planning.candidate import Candidate
from copriv.records.boosting import FOLDS
from copriv.records.dictionary import Dictionary
from copriv.records.feature_spec import FeatureSpec
from copriv.records.quality import cross_validated_metrics
from copriv.records.target import Target
from copriv.rules.adaptive_newton import MOST_PARAMETERS
from copriv.rules.few_rows import is_few
from copriv.rules.left_out import left_out_slopes, quadratic_forms
from copriv.rules.newton import NewtonRule
from copriv.rules.ridge import best_ridge
from copriv.vectors import FloatArray

# Floors are worked out in another way than forecasts, and must not lie above them by rounding.
_SAFELY = 1.01
# By so much of the loss features must fall behind on every one of the first folds to be given up.
_CLEARLY = 1.03


@dataclass(eq=False)
class Entrant:
    """A candidate, and what cross-validation has found so far: of each fold its loss, margins and targets.

    Args:
        spec: the features.
        objective: the fitness.
        fit: fits them on all public rows: the dictionary, and what the rows by it tell.
    """

    spec: FeatureSpec
    objective: Objective
    fit: Callable[[], tuple[Dictionary, PublicEvidence]]
    losses: list[float] = field(default_factory=list)
    margins: list[FloatArray] = field(default_factory=list)
    targets: list[FloatArray] = field(default_factory=list)
    _ridge: float | None = None
    _first: Sample | None = None

    def validate(self, others: Sample, own: Sample) -> None:
        """Note the loss of a fold at the model of the others.

        The ridge is that of the objective where the model is short beside the rows, else the best one of the rows of
        the first model, for all folds.
        """
        objective = self.objective
        if self._ridge is None:
            long = others.parameters > MOST_PARAMETERS or is_few(others.records, others.parameters)
            self._ridge = best_ridge(others, objective) if long else objective.regularization
            self._first = others if self.spec.leaves else None
        theta = minimise_freely(objective.loss, self._ridge, others)
        self.losses.append(average_value(objective.loss, own, theta))
        self.margins.append(own.margins(theta))
        self.targets.append(own.targets)

    @property
    def complete(self) -> bool:
        """Whether every fold is judged."""
        return len(self.losses) == FOLDS

    @cached_property
    def fitted(self) -> tuple[Dictionary, PublicEvidence]:
        """The features of all public rows, and what these tell."""
        return self.fit()

    @property
    def dictionary(self) -> Dictionary:
        """What would be sent to owners."""
        return self.fitted[0]

    @property
    def evidence(self) -> PublicEvidence:
        """What the public rows tell."""
        return self.fitted[1]

    @property
    def is_long(self) -> bool:
        """Whether forecasts take long, and the rule leans on a ridge."""
        return self.dictionary.parameters > MOST_PARAMETERS

    @cached_property
    def held(self) -> float:
        """The share of its error that the ridge beyond the objective's leaves to a model: the average of h/(h + 2λ)."""
        return self._held_by(self.evidence.objective, self.evidence.sample, self.evidence.start)

    @cached_property
    def public_cost(self) -> float:
        """ψ_pub, without a ridge, of a model of four fifths of the public rows; 0 where they are too few to tell."""
        known = self.evidence
        if not known.enough:
            return 0.0
        objective, sample, rows = known.objective, known.sample, known.sample.records * (FOLDS - 1) // FOLDS
        bend = objective.curvature(sample, known.start)
        slopes = left_out_slopes(objective, sample, known.start, bend)
        inverse = np.asarray(np.linalg.inv(bend), dtype=np.float64)
        gradients = sample.by_record(sample.columns * slopes)
        mean = gradients.sum(axis=1) / sample.records
        # tr A⁻¹Σ_gg, without Σ_gg.
        spread = np.mean(quadratic_forms(inverse, gradients)) - mean @ inverse @ mean
        return float(spread) / 2 / rows / objective.fitness(sample, known.start)

    def floor(self, score: float) -> float:
        """What the best model in these features would lose; no joint one is predicted to lose less."""
        return float(np.mean(self.losses)) * score / (1 + _SAFELY * self.held * self.public_cost)

    def likely(self, psi: float) -> float:
        """What a joint model in these features should lose, if its ψ is that of nearly the same features."""
        public = self.public_cost
        prospect = Prospect(psi, public * (FOLDS - 1) / FOLDS, public, self.held, leans=self.is_long)
        return float(np.mean(self.losses)) * prospect.ratio

    def hope(self, sibling: Entrant, psi: float, score: float) -> float:
        """What a joint model in these features might lose at best, by the first folds and by what a sibling loses.

        ψ of the sibling's joint model grows at least as p, the numbers of a model. ψ_pub grows as p/(n − p) of n rows.
        """
        first, folds, fewer = self._first, len(self.losses), sibling.dictionary.parameters
        if first is None or first.records <= max(first.parameters, fewer):
            return 0.0
        loss = float(np.sum(self.losses) / np.sum(sibling.losses[:folds]) * np.mean(sibling.losses))
        more = first.parameters / fewer
        public = sibling.public_cost * more * (first.records - fewer) / (first.records - first.parameters)
        theta = minimise_freely(self.objective.loss, self.objective.regularization, first)
        held = self._held_by(self.objective, first, theta)
        return loss * Prospect(psi * more, public * (FOLDS - 1) / FOLDS, public, held, leans=True, score=score).ratio

    def _held_by(self, objective: Objective, sample: Sample, theta: FloatArray) -> float:
        """The average of h/(h + 2λ) over the eigenvalues of a Hessian."""
        ridge = (self._ridge or 0.0) - objective.regularization
        if ridge <= 0:
            return 1.0
        bends = np.linalg.eigvalsh(objective.curvature(sample, theta))
        return float(np.mean(bends / (bends + 2 * ridge)))

    def is_behind(self, sibling: Entrant) -> bool:
        """Whether the sibling loses clearly less on every fold that both have been judged on."""
        pairs = list(zip(self.losses, sibling.losses, strict=False))
        return len(pairs) > 1 and all(loss > _CLEARLY * other for loss, other in pairs)

    def prospect(self, way: Candidate, score: float) -> Prospect:
        """What owners bring; with few public rows nothing is known of what these are off by themselves."""
        evidence = self.evidence
        if not evidence.enough:
            return Prospect(way.relative_fitness, 0.0, 0.0, score=score)
        rows, ahead = evidence.sample.records, evidence.newton(way.setting.norm)
        public = ahead.public_cost(rows), ahead.public_cost(rows * (FOLDS - 1) // FOLDS)
        leans = way.rule == NewtonRule.name and evidence.sample.parameters > MOST_PARAMETERS
        return Prospect(way.relative_fitness, *public, self.held, leans, score)

    def figures(self, target: Target) -> Metrics:
        """Of all folds together."""
        return cross_validated_metrics(target, np.concatenate(self.margins), np.concatenate(self.targets))


def without_laggards(entrants: Sequence[Entrant], smallest: int) -> list[Entrant]:
    """Those that may win, after the first folds: with a score or without makes the same model but for one number.

    So where a score is clearly better on each of the folds, the same features without it are given up, if the smallest
    owner has enough records for the score. The other way round nothing is: a score of all public rows is better than
    one of three fifths of them.
    """
    scored = {each.spec: each for each in entrants if each.spec.score}
    rivals = [scored.get(replace(each.spec, score=True)) for each in entrants]
    return [
        each
        for each, rival in zip(entrants, rivals, strict=True)
        if rival in (None, each) or rival.dictionary.parameters >= smallest or not each.is_behind(rival)
    ]


@dataclass(frozen=True, slots=True)
class Prospect:
    """What owners bring to a model of the public rows.

    Args:
        joint: ψ of the joint model, as it is forecast.
        public: ψ of the public model without a ridge of its own.
        validated: the same of the models that are cross-validated, which have fewer rows.
        held: the share of it that the best ridge leaves.
        leans: whether the rule knows that ridge.
        score: the loss of the public score with all public rows over that with four fifths; 1 without a score.
    """

    joint: float
    public: float
    validated: float
    held: float = 1.0
    leans: bool = False
    score: float = 1.0

    @property
    def leaning(self) -> float:
        """ψ of the joint model; where the rule leans on a ridge it knows more before any answer, and is off by less.

        >>> round(Prospect(0.1, 0.1, 0.125, held=0.5, leans=True).leaning, 3)
        0.075
        """
        if not (self.leans and self.joint > 0 and self.public > 0):
            return self.joint
        # Where noise drowns all answers the rule stays halfway between the plain model and the ridge's.
        known = (1 / ((1 + self.held) / 2) - 1) / self.public
        return 1 / (1 / self.joint + known)

    @property
    def ratio(self) -> float:
        """(1 + ψ)/(1 + ψ_pub), the loss of the joint model over that of the cross-validated ones.

        >>> round(Prospect(0.01, 0.08, 0.1).ratio, 3)
        0.918
        """
        if not math.isfinite(self.joint):
            return math.inf
        return (1 + self.leaning) / (1 + self.held * self.validated) * self.score
