"""What features cost and bring: every choice that was compared, at the ε that is asked for and at a tenth of it."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from copriv.planning.feature_choice import FeatureChoice, WeighedFeatures
from copriv.planning.feature_contest import FeatureContest
from copriv.planning.outline import wishes_in
from copriv.planning.scenario import Scenario
from copriv.planning.training_spec import TrainingSpec

_LESS = 10
_STANDARD_ERRORS = 2


class Traded(msgspec.Struct, frozen=True):
    """One choice of features.

    Args:
        features: which.
        count: how many.
        public: what the public model explains, cross-validated.
        predicted: what the joint model should explain, for each ε.
        epsilon: the largest ε of each.
        taken: whether these are chosen.
    """

    features: str
    count: int
    public: float | None
    predicted: tuple[float | None, ...]
    epsilon: tuple[float, ...]
    taken: bool


def trade(contest: FeatureContest, choice: FeatureChoice, scenario: Scenario, spec: TrainingSpec) -> tuple[Traded, ...]:
    """Every choice of features that was compared, at ε and at a tenth of it; the fewest numbers first.

    Args:
        contest: the candidates on the public rows.
        choice: what came of it for the owners of the scenario.
        scenario: who would train, and what each promises.
        spec: what else is settled.
    """
    epsilon = scenario.epsilon_range[1]
    epsilons = (epsilon, epsilon / _LESS)
    less = contest.choose(scenario.records, wishes_in(scenario.with_largest_epsilon(epsilons[1]), spec))
    others = {each.spec: each for each in less.weighed}
    return tuple(_traded(each, others[each.spec], epsilons, taken=each is choice.taken) for each in choice.weighed)


def _traded(each: WeighedFeatures, less: WeighedFeatures, epsilons: tuple[float, ...], *, taken: bool) -> Traded:
    predicted = tuple(way.predicted.explained if math.isfinite(way.ratio) else None for way in (each, less))
    return Traded(str(each.spec), each.parameters - 1, each.public.explained, predicted, epsilons, taken)


def public_distance(weighed: WeighedFeatures) -> float | None:
    """ψ of the public models that were cross-validated, as the choice has counted it; None if nothing is forecast."""
    if not math.isfinite(weighed.ratio):
        return None
    return (1 + weighed.relative_fitness) / weighed.ratio - 1


def beaten_by_public(choice: FeatureChoice) -> bool:
    """Whether a public model in some features should beat the joint model in those taken, by two standard errors."""
    joint = np.asarray(choice.taken.predicted_losses)
    if not np.all(np.isfinite(joint)):
        return True
    return any(_is_below(np.asarray(each.losses) - joint) for each in choice.weighed)


def _is_below(apart: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
    return bool(np.mean(apart) < -_STANDARD_ERRORS * np.std(apart, ddof=1) / math.sqrt(apart.size))
