"""What features cost and bring: every choice that was compared, at the ε that is asked for and at a tenth of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from copriv.errors import BadInput
from copriv.forecast.public_evidence import PublicEvidence
from copriv.losses.metrics import Metrics
from copriv.planning.expected_quality import ratio
from copriv.planning.feature_choice import FeatureChoice, WeighedFeatures
from copriv.planning.few_rows import are_too_few
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
    evidence = gather_evidence(fitted.public, spec)
    costs = (each.relative_fitness, _forecast(fitted.dictionary, evidence, cases[1], spec))
    predicted = tuple(
        _explained(each.public, evidence, psi, case.total) for psi, case in zip(costs, cases, strict=True)
    )
    epsilons = tuple(case.epsilon_range[1] for case in cases)
    share = each.public.explained
    return Traded(str(each.spec), each.parameters - 1, share, predicted, epsilons, each is choice.taken)


def beaten_by_public(choice: FeatureChoice, psi: float, psi_public: float) -> bool:
    """Whether a public model in some features should beat the joint model in those taken, by two standard errors.

    Args:
        choice: what was compared, loss by loss over folds.
        psi: of the joint model, in the features that are taken.
        psi_public: of the public model in the same ones.
    """
    joint = ratio(psi, psi_public) * np.asarray(choice.taken.losses)
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


def _explained(public: Metrics, evidence: PublicEvidence, psi: float, records: int) -> float | None:
    if not math.isfinite(psi) or are_too_few(evidence.sample):
        return None
    return public.at_loss(ratio(psi, evidence.view.public_model(records))).explained
