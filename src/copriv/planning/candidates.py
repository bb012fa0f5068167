"""How each rule is set up from an outline: its clip, step and answers, and the ψ that the public rows foretell.

Everything is judged on the public rows, so nothing private is looked at and nothing is spent. `auto` works out every
rule that the loss and the public rows allow, and takes the one that is expected to cost the least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import msgspec
import numpy as np

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.forecast.newton import ANSWERS, best_prediction
from copriv.losses.moments import pack_moments
from copriv.losses.objective import Objective, relative_fitness
from copriv.losses.sample import Sample
from copriv.planning.averaged_tuning import best_step
from copriv.planning.training_plan import Outline, TrainingPlan
from copriv.planning.tuning import Pilot, candidate_clips, candidate_steps, judge_clips_and_steps
from copriv.privacy.calibration import mechanism_norm
from copriv.privacy.exact import SimulatedVector
from copriv.protocol.commitment import Commitment
from copriv.rules.averaged import AveragedRule
from copriv.rules.newton import NewtonRule
from copriv.rules.paper import PaperRule, step_from_rho
from copriv.rules.statistics import StatisticsRule
from copriv.schedule.poisson import likely_answers
from copriv.vectors import FloatArray

_AVERAGED_ANSWERS = 30
_TRIALS = 8


def design_paper(outline: Outline) -> TrainingPlan:
    """Algorithm 1: T meetings, clip and step by simulated runs on the public rows."""
    wishes, (public, model) = outline.wishes, outline.require_public(PaperRule.name)
    trace = outline.schedule()
    step = wishes.step or 1.0
    if wishes.rho is not None:
        step = step_from_rho(wishes.rho, horizon=len(trace), strong_convexity=2 * wishes.regularization)
    draft = outline.terms(PaperRule.name, horizon=len(trace), clip=wishes.clip or 1.0, step=step)
    rule = PaperRule(
        parameters=draft.parameters,
        records=outline.sizes,
        availability=outline.probabilities,
        step=draft.step,
        regularization=draft.regularization,
        limit=draft.limit,
        central=wishes.central,
    )
    answers = tuple(wishes.answers or likely_answers(gamma, len(trace)) for gamma in outline.probabilities)
    commitments = outline.commitments(draft, answers)
    pilot = Pilot(
        objective=commitments[0].objective,
        public=public,
        model=commitments[0].objective.project(model),
        norm=commitments[0].norm,
        deviations=_unit_deviations(commitments),
        caps=answers,
        horizon=len(trace),
        gaussian=commitments[0].calibration.mechanism.name == "gaussian",
    )
    clips = candidate_clips(pilot) if wishes.clip is None else [wishes.clip]
    fixed = wishes.step is not None or wishes.rho is not None
    steps = [rule.step] if fixed else candidate_steps(rule, pilot)
    clip, step, fitness = judge_clips_and_steps(rule, pilot, clips, steps, seeded(wishes.seed, "pilot"))
    terms = msgspec.structs.replace(draft, clip=clip, step=step)
    rule = replace(rule, step=step)
    predicted = _foreseen(pilot.objective, public, pilot.model, fitness)
    return TrainingPlan(terms, rule, outline.commitments(terms, answers), trace, outline.model, predicted)


def design_averaged(outline: Outline) -> TrainingPlan:
    """Averaged steps: as many answers of each owner; clip and step by simulated runs on public rows, if there are."""
    wishes, owners = outline.wishes, len(outline.sizes)
    answers = (wishes.answers or _AVERAGED_ANSWERS,) * owners
    trace = outline.schedule_of_answers(answers)
    draft = outline.terms(AveragedRule.name, horizon=len(trace), clip=wishes.clip or 1.0, step=wishes.step or 1.0)
    rule = AveragedRule(draft.parameters, outline.sizes, draft.step, len(trace), draft.regularization, draft.limit)
    predicted = math.nan
    if outline.public is not None or wishes.clip is None or wishes.step is None:
        public, model = outline.require_public(AveragedRule.name)
        commitments = outline.commitments(draft, answers)
        best = commitments[0].objective.project(model)
        clip, step, fitness = best_step(rule, commitments, public, best, wishes, seeded(wishes.seed, "pilot"))
        draft, rule = msgspec.structs.replace(draft, clip=clip, step=step), replace(rule, step=step)
        predicted = _foreseen(commitments[0].objective, public, best, fitness)
    return TrainingPlan(draft, rule, outline.commitments(draft, answers), trace, outline.model, predicted)


def design_statistics(outline: Outline) -> TrainingPlan:
    """One-shot statistics: one contact with each owner, no clip, no step, no public rows."""
    answers = (outline.wishes.answers or 1,) * len(outline.sizes)
    trace = outline.schedule_of_answers(answers)
    terms = outline.terms(StatisticsRule.name, horizon=len(trace), clip=1.0, step=0.0)
    commitments = outline.commitments(terms, answers)
    rule = StatisticsRule(
        parameters=terms.parameters,
        records=outline.sizes,
        noise_std=_noise_std(commitments),
        norm=commitments[0].norm,
        regularization=terms.regularization,
        limit=terms.limit,
    )
    predicted = math.nan if outline.public is None else _statistics_cost(rule, commitments, outline)
    return TrainingPlan(terms, rule, commitments, trace, outline.model, predicted)


def design_newton(outline: Outline) -> TrainingPlan:
    """Public Newton: clip and number of answers with the least expected ψ."""
    wishes, (public, model) = outline.wishes, outline.require_public(NewtonRule.name)
    choices = ANSWERS if wishes.answers is None else (wishes.answers,)
    owners = len(outline.sizes)
    draft = outline.terms(NewtonRule.name, horizon=owners, clip=1.0, step=0.0)
    objective, norm = draft.objective(), mechanism_norm(wishes.guarantees[0])
    prospect = best_prediction(
        public,
        objective,
        records=outline.sizes,
        deviations={k: _unit_deviations(outline.commitments(draft, (k,) * owners)).tolist() for k in choices},
        norm=norm,
        start=model,
    )
    answers = (prospect.answers,) * owners
    trace = outline.schedule_of_answers(answers)
    clip = wishes.clip or prospect.clip
    terms = outline.terms(NewtonRule.name, horizon=len(trace), clip=clip, step=0.0)
    commitments = outline.commitments(terms, answers)
    rule = NewtonRule.of(
        public,
        objective,
        records=outline.sizes,
        noise_std=_noise_std(commitments),
        clip=commitments[0].clip,
        norm=norm,
        start=model,
    )
    return TrainingPlan(terms, rule, commitments, trace, model, prospect.cost)


DESIGNS: Mapping[str, Callable[[Outline], TrainingPlan]] = {
    "newton": design_newton,
    "statistics": design_statistics,
    "averaged": design_averaged,
    "paper": design_paper,
}


def design_all(outline: Outline) -> list[TrainingPlan]:
    """Every rule that loss and public rows allow, the least expected cost first; without public rows, one."""
    squared = outline.loss.name == "squared"
    if outline.public is None:
        if not squared:
            raise BadInput(
                f"the {outline.loss.name} loss without public rows",
                remedy="give public rows, or --rule averaged with --step and --clip",
                value=outline.loss.name,
            )
        return [design_statistics(outline)]
    found = [design(outline) for name, design in DESIGNS.items() if squared or name != "statistics"]
    return sorted(found, key=lambda study: study.predicted)


def _noise_std(commitments: tuple[Commitment, ...]) -> tuple[float, ...]:
    return tuple(commitment.calibration.mechanism.noise_std for commitment in commitments)


def _unit_deviations(commitments: tuple[Commitment, ...]) -> FloatArray:
    """Of each owner's noise if the clip were 1."""
    return np.asarray([commitment.calibration.mechanism.noise_std / commitment.clip for commitment in commitments])


def _foreseen(objective: Objective, public: Sample, model: FloatArray, fitness: float) -> float:
    return relative_fitness(fitness, objective.fitness(public, model))


def _statistics_cost(rule: StatisticsRule, commitments: tuple[Commitment, ...], outline: Outline) -> float:
    """The mean ψ on the public rows of a few simulated runs in which every owner's moments look like theirs."""
    (public, model), chance = outline.require_public(rule.name), seeded(outline.wishes.seed, "moments")
    objective = commitments[0].objective
    exact = pack_moments(public, rule.norm) / public.records
    fitness = []
    for _ in range(_TRIALS):
        state = rule.begin()
        for owner, commitment in enumerate(commitments):
            moments = SimulatedVector(exact * rule.records[owner])
            state = rule.absorb(state, owner, commitment.calibration.mechanism.simulate_noise(moments, chance))
        fitness.append(objective.fitness(public, rule.model(state)))
    return _foreseen(objective, public, objective.project(model), float(np.mean(fitness)))
