"""The features are part of the plan: those with the least predicted loss on new records, L·(1 + ψ)/(1 + ψ_pub).

L is the cross-validated loss of the public rows, ψ what the search forecasts for owners of these sizes and promises.
Models of four fifths of the public rows are off the best by ψ_pub themselves, and that is in L already: L/(1 + ψ_pub)
is what the best model in these features would lose, and 1 + ψ is counted from there (`Prospect`). Only public rows and
sizes are looked at, so nothing is spent. ψ alone would reward poor features: it is the distance from the best model *in
these features*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from copriv.errors import BadInput
from copriv.forecast.public_evidence import PublicEvidence
from copriv.losses.metrics import LITTLE, Metrics
from copriv.losses.optimum import minimise_freely
from copriv.losses.passes import average_value
from copriv.losses.sample import Sample
from copriv.planning.candidate import Candidate
from copriv.planning.outline import draft_outline, gather_evidence
from copriv.planning.search import glance
from copriv.planning.training_spec import TrainingSpec
from copriv.records.boosting import FOLDS
from copriv.records.dictionary import Dictionary
from copriv.records.feature_spec import FeatureSpec
from copriv.records.fit_features import PublicRows
from copriv.records.quality import cross_validated_metrics
from copriv.records.target import Target
from copriv.rules.adaptive_newton import MOST_PARAMETERS
from copriv.rules.adaptive_questions import is_few
from copriv.rules.left_out import left_out_slopes, quadratic_forms
from copriv.rules.newton import NewtonRule
from copriv.rules.ridge import best_ridge
from copriv.vectors import FloatArray

Tell = Callable[[int, int], None]

# Floors are worked out in another way than forecasts, and must not lie above them by rounding.
_SAFELY = 1.01


@dataclass(frozen=True, slots=True)
class WeighedFeatures:
    """One choice of features, and what is to be expected of it.

    Args:
        spec: the features.
        parameters: the numbers of a model in them.
        losses: of the public rows, cross-validated: one a fold.
        relative_fitness: ψ that is forecast.
        ratio: of the joint model's loss to that of the cross-validated public ones; infinite if nothing is forecast.
        rule: how answers would become a model.
        public: figures of the cross-validated public model.
    """

    spec: FeatureSpec
    parameters: int
    losses: tuple[float, ...]
    relative_fitness: float
    ratio: float
    rule: str
    public: Metrics

    @property
    def loss(self) -> float:
        """L, the cross-validated loss of the public rows."""
        return float(np.mean(self.losses))

    @property
    def predicted_losses(self) -> tuple[float, ...]:
        """L·(1 + ψ)/(1 + ψ_pub), one a fold; infinite where nothing is forecast."""
        return tuple(loss * self.ratio for loss in self.losses)

    @property
    def predicted_loss(self) -> float:
        """L·(1 + ψ)/(1 + ψ_pub)."""
        return float(np.mean(self.predicted_losses))

    @property
    def predicted(self) -> Metrics:
        """Figures that follow from the predicted loss: R² and errors, or log-loss and AUC; no accuracy."""
        return self.public.at_loss(self.ratio)

    @property
    def error(self) -> float | None:
        """The standard error of the share that is explained, by the losses of the folds; None if nothing is forecast.

        >>> public = Metrics(100, r2=0.5)
        >>> found = WeighedFeatures(FeatureSpec(pls=1), 2, (0.2, 0.3, 0.2, 0.3, 0.25), 0.0, 1.0, "newton", public)
        >>> round(found.error, 3)
        0.045
        """
        share, losses = self.predicted.explained, np.asarray(self.predicted_losses)
        if share is None or not np.all(np.isfinite(losses)) or not losses.mean() > 0:
            return None
        return float(np.std(losses, ddof=1) / math.sqrt(losses.size) / losses.mean()) * (1 - share)

    @property
    def words(self) -> str:
        """The features and what they should explain, ± two standard errors."""
        share, name = self.predicted.explained, self.public.share_name
        told = "–" if share is None or not math.isfinite(share) else f"{share:.3f}"
        told += "" if self.error is None else f" ± {2 * self.error:.3f}"
        count = f"{self.parameters - 1} feature{'' if self.parameters == 2 else 's'}"
        return f"{self.spec} ({count}): {name} {told}"

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "features": str(self.spec),
            "count": self.parameters - 1,
            "loss": self.loss,
            "relative_fitness": self.relative_fitness,
            "ratio": self.ratio,
            "predicted_loss": self.predicted_loss,
            "explained": self.predicted.explained,
            "error": self.error,
            "rule": self.rule,
        }


@dataclass(frozen=True, slots=True)
class FeatureChoice:
    """Every choice of features that was compared, the fewest numbers first; made by `choose_features`.

    Args:
        weighed: what was compared.
        taken: the one that is chosen.
        too_long: candidates that have as many numbers as the smallest owner has records, or more.
    """

    weighed: tuple[WeighedFeatures, ...]
    taken: WeighedFeatures
    too_long: tuple[FeatureSpec, ...] = ()

    @property
    def runner_up(self) -> WeighedFeatures | None:
        """The least predicted loss of the others."""
        others = [each for each in self.weighed if each is not self.taken]
        return min(others, key=lambda each: each.predicted_loss, default=None)

    @property
    def notices(self) -> tuple[str, ...]:
        """What was chosen, what came second, and what could not be."""
        said, second = f"features chosen by the loss predicted from public rows: {self.taken.words}", self.runner_up
        said += "" if second is None else f"; the runner-up is {second.words}"
        found, names = [said], ", ".join(map(str, self.too_long))
        if self.too_long:
            found.append(f"not compared, because the smallest owner has too few records for them: {names}")
        if _explain_nothing(self.weighed):
            found.append("on the public rows no features explain 1 % of the target: there is hardly anything to learn")
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """As plain values: what is taken, and all that was compared."""
        compared = [each.to_dict() for each in self.weighed]
        return {"taken": str(self.taken.spec), "compared": compared, "too_long": list(map(str, self.too_long))}


def choose_features(
    rows: PublicRows, sizes: Sequence[int], wishes: TrainingSpec, tell: Tell = lambda _done, _total: None
) -> FeatureChoice:
    """The features with the least predicted loss for owners of these sizes, and whoever may come second.

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
        self._entrants, self._problem = list[_Entrant](), None
        for spec in rows.candidates():
            try:
                fitted = rows.fit(spec)
                self._entrants.append(_Entrant(spec, fitted.dictionary, gather_evidence(fitted.public, wishes)))
            except BadInput as refusal:
                self._problem = self._problem or refusal
        _cross_validate(rows, self._entrants, lambda done: tell(done, FOLDS + len(self._entrants)))

    def choose(self, sizes: Sequence[int], wishes: TrainingSpec) -> FeatureChoice:
        """The least predicted loss for these owners; `wishes` differ from those of the contest in promises only.

        Raises:
            BadInput: no candidate can be fitted on so few public rows or trained by so small owners.
        """
        short, too_long = self._able(sizes)
        found = []
        for done, entrant in enumerate(short, start=1):
            found.append(self._weigh(entrant, tuple(sizes), wishes))
            self._tell(FOLDS + done, FOLDS + len(short))
        found.sort(key=lambda each: each.parameters)
        return FeatureChoice(tuple(found), take(found), too_long)

    def pick(self, sizes: Sequence[int], wishes: TrainingSpec) -> FeatureChoice:
        """The same, without a forecast for those that can be neither first nor second whatever it would say.

        The first of them are weighed by what they would lose if owners made the best model of it.

        Raises:
            BadInput: as `choose`.
        """
        short, too_long = self._able(sizes)
        if not any((each.figures(self._rows.target).explained or 0.0) >= LITTLE for each in short):
            return self.choose(sizes, wishes)
        floors = [each.floor(self._ripening(each)) for each in short]
        found = list[WeighedFeatures]()
        for place in np.argsort(floors, kind="stable"):
            if len(found) > 1 and floors[place] > sorted(each.predicted_loss for each in found)[1]:
                break
            found.append(self._weigh(short[place], tuple(sizes), wishes))
            self._tell(FOLDS + len(found), FOLDS + len(short))
        self._tell(FOLDS + len(short), FOLDS + len(short))
        found.sort(key=lambda each: each.parameters)
        return FeatureChoice(tuple(found), _least(found), too_long)

    def _able(self, sizes: Sequence[int]) -> tuple[list[_Entrant], tuple[FeatureSpec, ...]]:
        """Candidates that the smallest owner has enough records for, and those that it has not."""
        short = [each for each in self._entrants if each.dictionary.parameters < min(sizes)]
        too_long = tuple(each.spec for each in self._entrants if each.dictionary.parameters >= min(sizes))
        if not short:
            raise self._problem or BadInput(
                f"features auto, and an owner of {min(sizes)} records",
                remedy="leave such owners out (--min-records N), or name the features: 3, pls:2",
                value=min(sizes),
            )
        return short, too_long

    def _ripening(self, entrant: _Entrant) -> float:
        return self._rows.cells.ripening if entrant.spec.score else 1.0

    def _weigh(self, entrant: _Entrant, sizes: tuple[int, ...], wishes: TrainingSpec) -> WeighedFeatures:
        way = glance(draft_outline(entrant.dictionary, entrant.evidence, sizes, wishes))
        ratio = _prospect(entrant.evidence, way, entrant.held, self._ripening(entrant)).ratio
        known = entrant.spec, entrant.dictionary.parameters, tuple(entrant.losses)
        return WeighedFeatures(*known, way.relative_fitness, ratio, way.rule, entrant.figures(self._rows.target))


@dataclass(slots=True, eq=False)
class _Entrant:
    """A candidate, and what cross-validation has found so far: of each fold its loss, margins and targets."""

    spec: FeatureSpec
    dictionary: Dictionary
    evidence: PublicEvidence
    ridge: float | None = None
    held: float = 1.0
    losses: list[float] = field(default_factory=list)
    margins: list[FloatArray] = field(default_factory=list)
    targets: list[FloatArray] = field(default_factory=list)

    def validate(self, others: Sample, own: Sample) -> None:
        """Note the loss of a fold at the model of the others.

        The ridge is that of the objective where the model is short beside the rows, else the best one of the rows of
        the first model, for all folds.
        """
        objective = self.evidence.objective
        if self.ridge is None:
            long = others.parameters > MOST_PARAMETERS or is_few(others.records, others.parameters)
            self.ridge = best_ridge(others, objective) if long else objective.regularization
            self.held = _held_by(self.evidence, self.ridge - objective.regularization)
        theta = minimise_freely(objective.loss, self.ridge, others)
        self.losses.append(average_value(objective.loss, own, theta))
        self.margins.append(own.margins(theta))
        self.targets.append(own.targets)

    def floor(self, score: float) -> float:
        """What the best model in these features would lose; no joint one is predicted to lose less."""
        known, loss = self.evidence, float(np.mean(self.losses)) * score
        if not known.enough:
            return loss
        objective, sample, rows = known.objective, known.sample, known.sample.records * (FOLDS - 1) // FOLDS
        bend = objective.curvature(sample, known.start)
        slopes = left_out_slopes(objective, sample, known.start, bend)
        inverse = np.asarray(np.linalg.inv(bend), dtype=np.float64)
        gradients = sample.by_record(sample.columns * slopes)
        mean = gradients.sum(axis=1) / sample.records
        # tr A⁻¹Σ_gg, without Σ_gg.
        spread = np.mean(quadratic_forms(inverse, gradients)) - mean @ inverse @ mean
        public = float(spread) / 2 / rows / objective.fitness(sample, known.start)
        return loss / (1 + _SAFELY * self.held * public)

    def figures(self, target: Target) -> Metrics:
        """Of all folds together."""
        return cross_validated_metrics(target, np.concatenate(self.margins), np.concatenate(self.targets))


def _cross_validate(rows: PublicRows, entrants: Sequence[_Entrant], tell: Callable[[int], None]) -> None:
    """Every candidate on every fold; a fold at a time, so that no more than one is held in memory."""
    folds = rows.folds_of_all([each.spec for each in entrants]) if entrants else iter(())
    for done, pairs in enumerate(folds, start=1):
        for entrant, (others, own) in zip(entrants, pairs, strict=True):
            entrant.validate(others, own)
        tell(done)


def take(found: Sequence[WeighedFeatures]) -> WeighedFeatures:
    """The least predicted loss; without a forecast, the least loss; the fewest numbers if all fail."""
    return min(found, key=lambda each: each.parameters) if _explain_nothing(found) else _least(found)


def _explain_nothing(found: Sequence[WeighedFeatures]) -> bool:
    """Whether all differences are chance, because nothing explains anything worth the name."""
    return not any((each.public.explained or 0.0) >= LITTLE for each in found)


def _least(found: Sequence[WeighedFeatures]) -> WeighedFeatures:
    """The least predicted loss; without a forecast, the least loss."""
    best = min(found, key=lambda each: (each.predicted_loss, each.parameters))
    if not math.isfinite(best.predicted_loss):
        return min(found, key=lambda each: (each.loss, each.parameters))
    return best


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


def _prospect(evidence: PublicEvidence, way: Candidate, held: float, score: float) -> Prospect:
    """With few public rows nothing is known of what they are off by themselves."""
    if not evidence.enough:
        return Prospect(way.relative_fitness, 0.0, 0.0, score=score)
    rows, ahead = evidence.sample.records, evidence.newton(way.setting.norm)
    public = ahead.public_cost(rows), ahead.public_cost(rows * (FOLDS - 1) // FOLDS)
    leans = way.rule == NewtonRule.name and evidence.sample.parameters > MOST_PARAMETERS
    return Prospect(way.relative_fitness, *public, held, leans, score)


def _held_by(evidence: PublicEvidence, ridge: float) -> float:
    """The share of its error that a ridge beyond the objective's leaves to a model: the average of h/(h + 2λ)."""
    if ridge <= 0:
        return 1.0
    bends = np.linalg.eigvalsh(evidence.objective.curvature(evidence.sample, evidence.start))
    return float(np.mean(bends / (bends + 2 * ridge)))
