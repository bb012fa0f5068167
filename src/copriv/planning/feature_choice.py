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
from dataclasses import dataclass
from typing import Any

import numpy as np

from copriv.errors import BadInput
from copriv.forecast.public_evidence import PublicEvidence
from copriv.losses.metrics import LITTLE, Metrics
from copriv.losses.optimum import minimise_freely
from copriv.losses.passes import average_value
from copriv.planning.candidate import Candidate
from copriv.planning.outline import draft_outline, gather_evidence
from copriv.planning.search import glance
from copriv.planning.training_spec import TrainingSpec
from copriv.records.boosting import FOLDS
from copriv.records.feature_spec import FeatureSpec
from copriv.records.fit_features import PublicRows
from copriv.records.quality import metrics_of_margins
from copriv.rules.adaptive_newton import MOST_PARAMETERS
from copriv.rules.adaptive_questions import is_few
from copriv.rules.newton import NewtonRule
from copriv.rules.ridge import best_ridge

Tell = Callable[[int, int], None]


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
        """Figures that follow from the predicted loss: R² and errors, or log-loss; no AUC."""
        return self.public.at_loss(self.ratio)

    @property
    def words(self) -> str:
        """The features and what they should explain."""
        share, name = self.predicted.explained, "R²" if self.public.log_loss is None else "log-loss explained"
        told = "–" if share is None or not math.isfinite(share) else f"{share:.3f}"
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
        names = ", ".join(map(str, self.too_long))
        few = f"not compared, because the smallest owner has too few records for them: {names}"
        return (said, few) if self.too_long else (said,)

    def to_dict(self) -> dict[str, Any]:
        """As plain values: what is taken, and all that was compared."""
        compared = [each.to_dict() for each in self.weighed]
        return {"taken": str(self.taken.spec), "compared": compared, "too_long": list(map(str, self.too_long))}


def choose_features(
    rows: PublicRows, sizes: Sequence[int], wishes: TrainingSpec, tell: Tell = lambda _done, _total: None
) -> FeatureChoice:
    """The features with the least predicted loss for owners of these sizes.

    Where no candidate explains anything worth the name, all differences are chance, and the fewest are taken.

    Args:
        rows: the public rows.
        sizes: n_i of each owner.
        wishes: what is settled, the promises of the owners among it.
        tell: is told how many of how many candidates are done.

    Raises:
        BadInput: no candidate can be fitted on so few public rows or trained by so small owners.
    """
    specs, found = rows.candidates(), list[WeighedFeatures]()
    too_long, problem = list[FeatureSpec](), None
    for done, spec in enumerate(specs, start=1):
        try:
            weighed = _weigh(rows, spec, tuple(sizes), wishes)
        except BadInput as refusal:
            problem = problem or refusal
        else:
            if weighed is None:
                too_long.append(spec)
            else:
                found.append(weighed)
        tell(done, len(specs))
    if not found:
        raise problem or BadInput(
            f"features auto, and an owner of {min(sizes)} records",
            remedy="leave such owners out, or name the features: 3, pls:2",
            value=min(sizes),
        )
    found.sort(key=lambda each: each.parameters)
    return FeatureChoice(tuple(found), take(found), tuple(too_long))


def take(found: Sequence[WeighedFeatures]) -> WeighedFeatures:
    """The least predicted loss; without a forecast, the least loss; the fewest numbers if all fail."""
    if not any((each.public.explained or 0.0) >= LITTLE for each in found):
        return min(found, key=lambda each: each.parameters)
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


def _weigh(rows: PublicRows, spec: FeatureSpec, sizes: tuple[int, ...], wishes: TrainingSpec) -> WeighedFeatures | None:
    """One candidate; None if an owner has too few records for it."""
    fitted = rows.fit(spec)
    if min(sizes) <= fitted.dictionary.parameters:
        return None
    evidence = gather_evidence(fitted.public, wishes)
    way = glance(draft_outline(fitted.dictionary, evidence, sizes, wishes))
    losses, figures, held = _cross_validate(rows, spec, evidence)
    ratio = _prospect(evidence, way, held, rows.cells.ripening if spec.score else 1.0).ratio
    return WeighedFeatures(spec, fitted.dictionary.parameters, losses, way.relative_fitness, ratio, way.rule, figures)


def _prospect(evidence: PublicEvidence, way: Candidate, held: float, score: float) -> Prospect:
    """With few public rows nothing is known of what they are off by themselves."""
    if not evidence.enough:
        return Prospect(way.relative_fitness, 0.0, 0.0, score=score)
    rows, ahead = evidence.sample.records, evidence.newton(way.setting.norm)
    public = ahead.public_cost(rows), ahead.public_cost(rows * (FOLDS - 1) // FOLDS)
    leans = way.rule == NewtonRule.name and evidence.sample.parameters > MOST_PARAMETERS
    return Prospect(way.relative_fitness, *public, held, leans, score)


def _cross_validate(
    rows: PublicRows, spec: FeatureSpec, evidence: PublicEvidence
) -> tuple[tuple[float, ...], Metrics, float]:
    """The loss of each fold at the model of the others, figures of all folds together, and what the ridge leaves.

    The ridge is that of the objective where the model is short beside the rows, else the best one of the rows of the
    first model, for all folds. It leaves so much of the error that a model of few rows has: the average of h/(h + 2λ)
    over eigenvalues h of the Hessian, with λ the ridge beyond that of the objective.
    """
    objective, ridge = evidence.objective, None
    loss, held = objective.loss, 1.0
    losses, margins, targets = [], [], []
    for others, own in rows.folds(spec):
        long = others.parameters > MOST_PARAMETERS or is_few(others.records, others.parameters)
        if ridge is None:
            ridge = best_ridge(others, objective) if long else objective.regularization
            held = _held_by(evidence, ridge - objective.regularization)
        theta = minimise_freely(loss, ridge, others)
        losses.append(average_value(loss, own, theta))
        margins.append(theta @ own.columns)
        targets.append(own.targets)
    figures = metrics_of_margins(rows.target, np.concatenate(margins), np.concatenate(targets))
    return tuple(losses), figures, held


def _held_by(evidence: PublicEvidence, ridge: float) -> float:
    """The share of its error that a ridge leaves to a model."""
    if ridge <= 0:
        return 1.0
    bends = np.linalg.eigvalsh(evidence.objective.curvature(evidence.sample, evidence.start))
    return float(np.mean(bends / (bends + 2 * ridge)))
