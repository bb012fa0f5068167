"""A study worked out in full before the first answer: terms, rule, commitments and schedule.

It is built from a candidate of the search, so what is predicted is what `forecast` and `plan` say. No private record is
looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from copriv.entropy import seeded
from copriv.forecast.setting import Setting
from copriv.losses.sample import Sample
from copriv.planning.candidate import Candidate
from copriv.planning.outline import Outline, draft_outline, gather_evidence
from copriv.planning.outside import build_outside
from copriv.planning.search import choose
from copriv.planning.training_spec import TrainingSpec
from copriv.protocol.commitment import Commitment, make_commitments
from copriv.protocol.terms import Terms
from copriv.records.dictionary import Dictionary
from copriv.records.load import Intake
from copriv.rules.adaptive_newton import AdaptiveNewton
from copriv.rules.learned_curvature import LearnedCurvature
from copriv.rules.newton import NewtonRule
from copriv.rules.registry import resolve
from copriv.rules.rule import AnyRule
from copriv.rules.setting import NoiseModel
from copriv.rules.statistics import StatisticsRule
from copriv.schedule.poisson import draw, in_rounds, until_spent
from copriv.schedule.trace import Trace
from copriv.vectors import FloatArray

Noise = Literal["secure", "seeded", "none"]


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Ready to run; `predicted` is the ψ that is forecast, NaN where nothing is, and `candidate` where it is from."""

    terms: Terms
    rule: AnyRule[Any]
    commitments: tuple[Commitment, ...]
    trace: Trace
    public_model: FloatArray | None
    predicted: float = math.nan
    candidate: Candidate | None = None


def design(intake: Intake, wishes: TrainingSpec) -> TrainingPlan:
    """Work out a study of these owners."""
    sizes = tuple(owner.sample.records for owner in intake.owners)
    return design_ahead(intake.dictionary, intake.public, sizes, wishes)


def design_ahead(
    dictionary: Dictionary, public: Sample | None, sizes: tuple[int, ...], wishes: TrainingSpec
) -> TrainingPlan:
    """Work out a study of owners that are known by their sizes only."""
    evidence = None if public is None else gather_evidence(public, wishes)
    outline = draft_outline(dictionary, evidence, sizes, wishes)
    return plan_candidate(outline, choose(outline))


def plan_candidate(outline: Outline, candidate: Candidate) -> TrainingPlan:
    """The study of a candidate."""
    setting, evidence = candidate.setting, outline.evidence
    trace = outline.spec.trace or schedule(setting, outline.spec.seed)
    commitments = make_commitments(setting.terms, setting.owners, setting.accountant)
    return TrainingPlan(
        terms=setting.terms,
        rule=_rule(outline, setting, commitments),
        commitments=commitments,
        trace=trace,
        public_model=None if evidence is None else evidence.model,
        predicted=candidate.relative_fitness,
        candidate=candidate,
    )


def schedule(setting: Setting, seed: int) -> Trace:
    """T meetings where they are what counts, whoever comes; else until every owner has given its answers.

    Under a menu owners that are always there are met in rounds, so that a rule can look before it asks on.
    """
    stream = seeded(seed, "schedule")
    if resolve(setting.terms.rule).counts == "meetings":
        return draw(setting.by_clock, setting.terms.horizon, stream)
    if setting.terms.shares and setting.rates is None:
        return in_rounds(setting.answers, stream)
    return until_spent(setting.by_clock, setting.answers, stream)


def _rule(outline: Outline, setting: Setting, commitments: tuple[Commitment, ...]) -> AnyRule[Any]:
    """The rule at a setting; one from outside is built as its entry says."""
    make = _RULES.get(setting.terms.rule)
    if make is not None:
        return make(outline, setting, commitments)
    public = None if outline.evidence is None else outline.evidence.sample
    return build_outside(setting, NoiseModel.of(commitments, public))


def _newton(
    outline: Outline, setting: Setting, commitments: tuple[Commitment, ...]
) -> NewtonRule | AdaptiveNewton | LearnedCurvature:
    objective = setting.terms.objective()
    if outline.evidence is None and setting.terms.shares:
        noise = NoiseModel.of(commitments, None)
        return LearnedCurvature(setting.terms.parameters, objective, setting.records, noise)
    evidence = outline.require_public(NewtonRule.name)
    if setting.terms.shares:
        noise = NoiseModel.of(commitments, evidence.sample)
        return AdaptiveNewton.of(evidence.sample, objective, records=setting.records, noise=noise, start=evidence.model)
    return NewtonRule.of(
        evidence.sample,
        objective,
        records=setting.records,
        noise_std=_noise_std(commitments),
        clip=commitments[0].clip,
        norm=setting.norm,
        start=evidence.model,
    )


def _statistics(_outline: Outline, setting: Setting, commitments: tuple[Commitment, ...]) -> StatisticsRule:
    terms = setting.terms
    return StatisticsRule(
        parameters=terms.parameters,
        records=setting.records,
        noise_std=_noise_std(commitments),
        norm=setting.norm,
        regularization=terms.regularization,
        limit=terms.limit,
    )


_RULES: Mapping[str, Callable[[Outline, Setting, tuple[Commitment, ...]], AnyRule[Any]]] = {
    "newton": _newton,
    "statistics": _statistics,
    "averaged": lambda _outline, setting, _commitments: setting.averaged(),
    "paper": lambda _outline, setting, _commitments: setting.paper(),
}


def _noise_std(commitments: tuple[Commitment, ...]) -> tuple[float, ...]:
    return tuple(commitment.calibration.mechanism.noise_std for commitment in commitments)
