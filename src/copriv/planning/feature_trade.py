"""What features cost and bring: every choice that was compared, at the ε that is asked for and at a tenth of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from copriv.errors import BadInput
from copriv.forecast.public_evidence import PublicEvidence
from copriv.planning.expected_quality import ratio
from copriv.planning.feature_choice import FeatureChoice, WeighedFeatures
from copriv.planning.outline import draft_outline, gather_evidence, wishes_in
from copriv.planning.scenario import Scenario
from copriv.planning.search import glance
from copriv.planning.training_spec import TrainingSpec
from copriv.records.dictionary import Dictionary
from copriv.records.fit_features import PublicRows

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


def trade(rows: PublicRows, choice: FeatureChoice, scenario: Scenario, spec: TrainingSpec) -> tuple[Traded, ...]:
    """Every choice of features that was compared, at ε and at a tenth of it; the fewest numbers first.

    Args:
        rows: the public rows.
        choice: what was compared on them.
        scenario: who would train, and what each promises.
        spec: what else is settled.
    """
    epsilon = scenario.epsilon_range[1]
    epsilons = (epsilon, epsilon / _LESS)
    less = scenario.with_largest_epsilon(epsilons[1])
    return tuple(_traded(rows, each, choice, (scenario, less), spec) for each in choice.weighed)


def _traded(
    rows: PublicRows, each: WeighedFeatures, choice: FeatureChoice, cases: Sequence[Scenario], spec: TrainingSpec
) -> Traded:
    fitted = rows.fit(each.spec)
    less = _forecast(fitted.dictionary, gather_evidence(fitted.public, spec), cases[1], spec)
    predicted = tuple(_explained(each, psi) for psi in (each.relative_fitness, less))
    epsilons = tuple(case.epsilon_range[1] for case in cases)
    share = each.public.explained
    return Traded(str(each.spec), each.parameters - 1, share, predicted, epsilons, each is choice.taken)


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


def _forecast(dictionary: Dictionary, evidence: PublicEvidence, scenario: Scenario, spec: TrainingSpec) -> float:
    """ψ of the way that would be taken; infinite if there is none."""
    try:
        wishes = wishes_in(scenario, spec)
        return glance(draft_outline(dictionary, evidence, scenario.records, wishes)).relative_fitness
    except BadInput:
        return math.inf


def _explained(each: WeighedFeatures, psi: float) -> float | None:
    """What the joint model should explain if ψ is this."""
    known = public_distance(each)
    return None if known is None or not math.isfinite(psi) else each.public.at_loss(ratio(psi, known)).explained
