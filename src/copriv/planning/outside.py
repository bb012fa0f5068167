"""The plan of a rule from outside: what its entry says, a clip from the public rows, and ψ by simulated runs on them.

The planner knows nothing of such a rule but its traits. What the user and the entry leave open is chosen as follows.
The clip is a quantile of the public gradients' lengths, where training starts and where it should end. The predicted ψ
is that of a few runs in which the public rows play every owner, with the noise that owners would add.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.losses.objective import relative_fitness
from copriv.losses.passes import gradient_norms
from copriv.losses.sample import Sample
from copriv.planning.training_plan import Outline, TrainingPlan
from copriv.privacy.calibration import mechanism_norm
from copriv.privacy.exact import SimulatedVector
from copriv.protocol.commitment import Commitment
from copriv.protocol.terms import RANGES, Terms
from copriv.rules.entry import RuleEntry
from copriv.rules.rule import Rule
from copriv.rules.setting import NoiseModel, Owners
from copriv.schedule.poisson import likely_answers
from copriv.schedule.trace import Trace
from copriv.vectors import FloatArray

_CLIP_QUANTILE = 0.9
_RUNS = 4
_MOST_ROWS = 2000


def design_outside(outline: Outline, entry: RuleEntry) -> TrainingPlan:
    """The plan of one rule by its traits alone; the ψ is NaN where there are no public rows to foretell it from."""
    _require_what_it_needs(outline, entry)
    answers, trace = _meetings(outline, entry)
    step = outline.wishes.step or entry.step or 0.0
    terms = outline.terms(entry.name, horizon=len(trace), clip=_clip(outline, entry), step=step)
    commitments = outline.commitments(terms, answers)
    noise_std = tuple(commitment.calibration.mechanism.noise_std for commitment in commitments)
    owners = Owners(outline.sizes, answers, outline.probabilities)
    rule = entry.make(terms, owners, NoiseModel(noise_std, commitments[0].clip, commitments[0].norm, outline.public))
    predicted = _simulated_cost(outline, terms, rule, commitments, trace)
    return TrainingPlan(terms, rule, commitments, trace, outline.model, predicted)


def _require_what_it_needs(outline: Outline, entry: RuleEntry) -> None:
    if "public" in entry.needs:
        outline.require_public(entry.name)
    if not entry.suits(outline.loss.name):
        raise BadInput(
            f"the rule {entry.name!r} with the {outline.loss.name} loss",
            remedy=f"use the {' or '.join(entry.losses)} loss, or another rule",
            value=outline.loss.name,
        )
    if "step" in entry.needs and outline.wishes.step is None and entry.step is None:
        raise BadInput(
            f"the rule {entry.name!r} needs a step, and has none of its own", remedy="give a step", value=entry.name
        )


def _meetings(outline: Outline, entry: RuleEntry) -> tuple[tuple[int, ...], Trace]:
    """How often each owner answers at most, and when owners are met."""
    if entry.counts == "meetings":
        trace = outline.schedule()
        likely = tuple(likely_answers(gamma, len(trace)) for gamma in outline.probabilities)
        return likely if outline.wishes.answers is None else (outline.wishes.answers,) * len(outline.sizes), trace
    answers = (outline.wishes.answers or entry.answers,) * len(outline.sizes)
    return answers, outline.schedule_of_answers(answers)


def _clip(outline: Outline, entry: RuleEntry) -> float:
    """The user's, or the entry's, or one of the public rows; without them, no tighter than what is proven anyway."""
    if outline.wishes.clip or entry.clip:
        return outline.wishes.clip or entry.clip or 1.0
    if entry.asks == "moments":
        return 1.0
    if outline.public is None or outline.model is None:
        return RANGES["clip"][1]
    norm = mechanism_norm(outline.wishes.guarantees[0])
    places = (np.zeros_like(outline.model), outline.model)
    lengths = [gradient_norms(outline.loss, outline.public, theta, norm) for theta in places]
    return float(f"{max(float(np.quantile(np.concatenate(lengths), _CLIP_QUANTILE)), 1e-9):.2e}")


def _simulated_cost(
    outline: Outline, terms: Terms, rule: Rule[Any], commitments: tuple[Commitment, ...], trace: Trace
) -> float:
    """The mean ψ on the public rows of a few runs in which they play every owner."""
    if outline.public is None or outline.model is None:
        return math.nan
    objective, chance = terms.objective(), seeded(outline.wishes.seed, "outside")
    rows = _some_rows(outline.public)
    fitness = [
        objective.fitness(outline.public, _play(rule, rows, outline.sizes, commitments, trace, chance))
        for _ in range(_RUNS)
    ]
    best = objective.fitness(outline.public, objective.project(outline.model))
    return relative_fitness(float(np.mean(fitness)), best)


def _play(
    rule: Rule[Any],
    rows: Sample,
    sizes: tuple[int, ...],
    commitments: tuple[Commitment, ...],
    trace: Trace,
    chance: np.random.Generator,
) -> FloatArray:
    """The model of one run; an owner that has given its answers says nothing."""
    state, left = rule.begin(), [commitment.calibration.answers for commitment in commitments]
    for meeting in trace:
        owner = meeting.owner
        if left[owner] > 0:
            left[owner] -= 1
            exact = commitments[owner].exact_answer(rows, rule.question(state, owner))
            scaled = exact * (sizes[owner] / rows.records) if rule.asks == "moments" else exact
            noisy = commitments[owner].calibration.mechanism.simulate_noise(SimulatedVector(scaled), chance)
            state = rule.absorb(state, owner, noisy)
    return rule.model(state)


def _some_rows(public: Sample) -> Sample:
    chosen = np.linspace(0, public.records - 1, min(_MOST_ROWS, public.records)).astype(np.int64)
    return Sample.of_rows(public.columns[:, chosen].T, public.targets[chosen])
