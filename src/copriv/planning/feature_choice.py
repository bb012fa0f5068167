"""The features are part of the plan: those with the least predicted loss on new records, L·(1 + ψ)/(1 + ψ_pub).

L is the cross-validated loss of the public rows, ψ what the search forecasts for owners of these sizes and promises.
Models of four fifths of the public rows are off the best by ψ_pub themselves, and that is in L already: L/(1 + ψ_pub)
is what the best model in these features would lose, and 1 + ψ is counted from there (`Prospect`). Only public rows and
sizes are looked at, so nothing is spent. ψ alone would reward poor features: it is the distance from the best model *in
these features*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from copriv.losses.metrics import LITTLE, Metrics
from copriv.records.feature_spec import FeatureSpec

# Forecasts of leaves are off by 5 to 10 % of the loss: they have to be better than the others by more than chance.
LEAVES_MUST_GAIN = 1.03


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
    def judged_loss(self) -> float:
        """The predicted loss as features are chosen by it: leaves are taken only if they are better by 3 %."""
        return self.predicted_loss * (LEAVES_MUST_GAIN if self.spec.leaves else 1.0)

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
        """The next choice: the least judged loss of the others."""
        others = [each for each in self.weighed if each is not self.taken]
        return min(others, key=lambda each: each.judged_loss, default=None)

    @property
    def notices(self) -> tuple[str, ...]:
        """What was chosen, what came second, and what could not be."""
        said, second = f"features chosen by the loss predicted from public rows: {self.taken.words}", self.runner_up
        said += "" if second is None else f"; the runner-up is {second.words}"
        found, names = [said], ", ".join(map(str, self.too_long))
        if self.too_long:
            found.append(f"not compared, because the smallest owner has too few records for them: {names}")
        if explain_nothing(self.weighed):
            found.append("on the public rows no features explain 1 % of the target: there is hardly anything to learn")
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """As plain values: what is taken, and all that was compared."""
        compared = [each.to_dict() for each in self.weighed]
        return {"taken": str(self.taken.spec), "compared": compared, "too_long": list(map(str, self.too_long))}


def take(found: Sequence[WeighedFeatures]) -> WeighedFeatures:
    """The least judged loss; without a forecast, the least loss; the fewest numbers if all fail."""
    return min(found, key=lambda each: each.parameters) if explain_nothing(found) else least(found)


def explain_nothing(found: Sequence[WeighedFeatures]) -> bool:
    """Whether all differences are chance, because nothing explains anything worth the name."""
    return not any((each.public.explained or 0.0) >= LITTLE for each in found)


def least(found: Sequence[WeighedFeatures]) -> WeighedFeatures:
    """The least judged loss; without a forecast, the least loss."""
    best = min(found, key=lambda each: (each.judged_loss, each.parameters))
    if not math.isfinite(best.predicted_loss):
        return min(found, key=lambda each: (each.loss, each.parameters))
    return best
