"""The features are part of the plan: those with the least predicted loss on new records, L·(1 + ψ).

L is the cross-validated loss of the public rows, ψ what the search forecasts for owners of these sizes and promises.
Only public rows and sizes are looked at, so nothing is spent. ψ alone would reward poor features: it is the distance
from the best model *in these features*.
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
from copriv.planning.outline import draft_outline, gather_evidence
from copriv.planning.search import glance
from copriv.planning.training_spec import TrainingSpec
from copriv.records.feature_spec import FeatureSpec
from copriv.records.fit_features import PublicRows
from copriv.records.quality import metrics_of_margins
from copriv.rules.adaptive_newton import MOST_PARAMETERS
from copriv.rules.adaptive_questions import is_few
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
        rule: how answers would become a model.
        public: figures of the cross-validated public model.
    """

    spec: FeatureSpec
    parameters: int
    losses: tuple[float, ...]
    relative_fitness: float
    rule: str
    public: Metrics

    @property
    def loss(self) -> float:
        """L, the cross-validated loss of the public rows."""
        return float(np.mean(self.losses))

    @property
    def predicted_losses(self) -> tuple[float, ...]:
        """L·(1 + ψ), one a fold; infinite where nothing is forecast."""
        psi = self.relative_fitness
        return tuple(loss * (1 + psi) if math.isfinite(psi) else math.inf for loss in self.losses)

    @property
    def predicted_loss(self) -> float:
        """L·(1 + ψ)."""
        return float(np.mean(self.predicted_losses))

    @property
    def predicted(self) -> Metrics:
        """Figures that follow from the predicted loss: R² and errors, or log-loss; no AUC."""
        return self.public.at_loss(1 + self.relative_fitness)

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
        if second is not None:
            chance = ", better by no more than chance" if second.predicted_loss < self.taken.predicted_loss else ""
            said += f"; the runner-up{chance}, is {second.words}" if chance else f"; the runner-up is {second.words}"
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
    """The features with the least predicted loss for owners of these sizes; of those as good, the fewest.

    As good is what lies within one standard error of the paired differences over folds. Where no candidate explains
    anything worth the name, all differences are chance, and the fewest are taken.

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
    """The least predicted loss, or fewer numbers that are within one standard error of it; the fewest if all fail."""
    if not any((each.public.explained or 0.0) >= LITTLE for each in found):
        return min(found, key=lambda each: each.parameters)
    best = min(found, key=lambda each: (each.predicted_loss, each.parameters))
    if not math.isfinite(best.predicted_loss):
        return min(found, key=lambda each: (each.loss, each.parameters))
    near = [each for each in found if each is best or _within_one_error(each, best)]
    return min(near, key=lambda each: (each.parameters, each.predicted_loss))


def _within_one_error(other: WeighedFeatures, best: WeighedFeatures) -> bool:
    """Whether two differ by no more than one standard error, fold by fold."""
    if not math.isfinite(other.predicted_loss):
        return False
    apart = np.subtract(other.predicted_losses, best.predicted_losses)
    return bool(np.mean(apart) <= np.std(apart, ddof=1) / math.sqrt(apart.size))


def _weigh(rows: PublicRows, spec: FeatureSpec, sizes: tuple[int, ...], wishes: TrainingSpec) -> WeighedFeatures | None:
    """One candidate; None if an owner has too few records for it."""
    fitted = rows.fit(spec)
    if min(sizes) <= fitted.dictionary.parameters:
        return None
    evidence = gather_evidence(fitted.public, wishes)
    way = glance(draft_outline(fitted.dictionary, evidence, sizes, wishes))
    losses, figures = _cross_validate(rows, spec, evidence)
    return WeighedFeatures(spec, fitted.dictionary.parameters, losses, way.relative_fitness, way.rule, figures)


def _cross_validate(rows: PublicRows, spec: FeatureSpec, evidence: PublicEvidence) -> tuple[tuple[float, ...], Metrics]:
    """The loss of each fold at the model of the others, and figures of all folds together.

    The ridge is that of the objective where the model is short beside the rows, else the best one of the rows of the
    first model, for all folds.
    """
    loss, ridge = evidence.objective.loss, None
    losses, margins, targets = [], [], []
    for others, own in rows.folds(spec):
        if ridge is None:
            long = others.parameters > MOST_PARAMETERS or is_few(others.records, others.parameters)
            ridge = best_ridge(others, evidence.objective) if long else evidence.objective.regularization
        theta = minimise_freely(loss, ridge, others)
        losses.append(average_value(loss, own, theta))
        margins.append(theta @ own.columns)
        targets.append(own.targets)
    return tuple(losses), metrics_of_margins(rows.target, np.concatenate(margins), np.concatenate(targets))
