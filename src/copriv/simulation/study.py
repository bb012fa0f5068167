"""A study worked out in full before the first answer: terms, rule, promises and schedule.

Everything comes from the user's wishes, the public rows and the owners' sizes; no private record is looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import msgspec
import numpy as np

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.loss import Loss
from copriv.losses.sample import Sample
from copriv.owner.promise import Promise, make_promise
from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.study_file import dictionary_digest
from copriv.protocol.terms import Terms
from copriv.records.dictionary import ROW_NORM, TARGET_BOUND, Dictionary
from copriv.records.intake import Intake
from copriv.rules.paper import CentralStep, PaperRule, step_from_rho
from copriv.schedule.poisson import availability, draw, likely_answers
from copriv.schedule.trace import Trace
from copriv.simulation.pilot import (
    Pilot,
    candidate_clips,
    candidate_steps,
    choose_clip_and_step,
    choose_limit,
    public_model,
)
from copriv.vectors import FloatArray

Noise = Literal["secure", "seeded", "none"]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asks for; None means that the pilot chooses.

    Args:
        guarantees: one an owner.
        loss: squared, huber or logistic.
        threshold: the Huber loss's.
        horizon: T.
        step: the rule's step; or give rho.
        rho: the paper's ρ instead of a step.
        clip: the most that one record's gradient may count.
        answers: the most answers of each owner; None for what the schedule is likely to ask for.
        central: which central step Algorithm 1 takes.
        regularization: λ.
        limit: θ_max of the box.
        rates: of the owners' clocks; None for equal ones.
        accountant: for guarantees with δ.
        seed: of the schedule and of simulated noise.
        trace: a recorded schedule to replay.
    """

    guarantees: tuple[Guarantee, ...]
    seed: int
    loss: str = "squared"
    threshold: float = 0.25
    horizon: int = 1000
    step: float | None = None
    rho: float | None = None
    clip: float | None = None
    answers: int | None = None
    central: CentralStep = CentralStep.PROOF
    regularization: float = 1e-5
    limit: float | None = None
    rates: tuple[float, ...] | None = None
    accountant: Accountant = "pld"
    trace: Trace | None = None


@dataclass(frozen=True, slots=True)
class Study:
    """Ready to run."""

    terms: Terms
    rule: PaperRule
    promises: tuple[Promise, ...]
    trace: Trace
    public_model: FloatArray


def design(intake: Intake, wishes: Wishes) -> Study:
    """Work out a study of these owners."""
    sizes = tuple(owner.sample.records for owner in intake.owners)
    return design_ahead(intake.dictionary, intake.public, sizes, wishes)


def design_ahead(dictionary: Dictionary, public: Sample, sizes: tuple[int, ...], wishes: Wishes) -> Study:
    """Work out a study of owners that are known by their sizes only."""
    _require_one_each(wishes, len(sizes))
    _require_sensible(wishes)
    probabilities = tuple(availability(wishes.rates or [1.0] * len(sizes)).tolist())
    trace = wishes.trace or draw(probabilities, wishes.horizon, seeded(wishes.seed, "schedule"))
    loss = choose(wishes.loss, wishes.threshold if wishes.loss == "huber" else 0.0)
    model = public_model(loss, wishes.regularization, public)
    draft = _draft_terms(dictionary, wishes, loss, model, len(trace))
    rule = PaperRule(
        parameters=draft.parameters,
        records=sizes,
        availability=probabilities,
        step=draft.step,
        regularization=draft.regularization,
        limit=draft.limit,
        central=wishes.central,
    )
    clip, step = _choose(public, wishes, rule, _promise(draft, wishes, rule), model)
    terms = msgspec.structs.replace(draft, clip=clip, step=step)
    rule = replace(rule, step=step)
    return Study(terms, rule, _promise(terms, wishes, rule), trace, model)


def _choose(
    public: Sample, wishes: Wishes, rule: PaperRule, promises: tuple[Promise, ...], model: FloatArray
) -> tuple[float, float]:
    """The clip and step that were wished for, or those of the pilot."""
    pilot = Pilot(
        objective=promises[0].objective,
        public=public,
        model=promises[0].objective.project(model),
        norm=promises[0].norm,
        deviations=np.asarray([promise.calibration.mechanism.deviation / promise.clip for promise in promises]),
        caps=tuple(promise.calibration.answers for promise in promises),
        horizon=wishes.horizon if wishes.trace is None else len(wishes.trace),
        gaussian=promises[0].calibration.mechanism.name == "gaussian",
    )
    clips = candidate_clips(pilot) if wishes.clip is None else [wishes.clip]
    fixed = wishes.step is not None or wishes.rho is not None
    steps = [rule.step] if fixed else candidate_steps(rule, pilot)
    return choose_clip_and_step(rule, pilot, clips, steps, seeded(wishes.seed, "pilot"))


def _require_one_each(wishes: Wishes, owners: int) -> None:
    for what, given in (("guarantees", wishes.guarantees), ("rates", wishes.rates)):
        if given is not None and len(given) != owners:
            raise BadInput(
                f"{len(given)} {what} for {owners} owners", remedy=f"give {owners}, one an owner", value=len(given)
            )
    if wishes.trace is not None and wishes.trace.owners != owners:
        raise BadInput(
            f"the recorded schedule is for {wishes.trace.owners} owners, and there are {owners}",
            remedy="replay it with the owners it was recorded with",
            value=wishes.trace.owners,
        )
    if wishes.step is not None and wishes.rho is not None:
        raise BadInput("a step and a rho", remedy="give one of them: step = rho/(T² sigma)", value=wishes.rho)


def _require_sensible(wishes: Wishes) -> None:
    if wishes.horizon < 1:
        raise BadInput(f"the horizon is {wishes.horizon}", remedy="give at least 1 iteration", value=wishes.horizon)
    if wishes.answers is not None and wishes.answers < 1:
        raise BadInput(f"{wishes.answers} answers", remedy="let owners answer at least once", value=wishes.answers)
    for what, value in (("step", wishes.step), ("rho", wishes.rho), ("clip", wishes.clip), ("box limit", wishes.limit)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise BadInput(f"the {what} is {value}", remedy="give a finite number greater than 0", value=value)


def _draft_terms(dictionary: Dictionary, wishes: Wishes, loss: Loss, model: FloatArray, horizon: int) -> Terms:
    """Terms with a clip and a step of 1 wherever the pilot is yet to choose."""
    step = wishes.step or 1.0
    if wishes.rho is not None:
        step = step_from_rho(wishes.rho, horizon=horizon, strong_convexity=2 * wishes.regularization)
    return Terms(
        loss=loss.name,
        threshold=loss.threshold,
        parameters=dictionary.parameters,
        regularization=wishes.regularization,
        limit=wishes.limit or choose_limit(model),
        clip=wishes.clip or 1.0,
        row_norm=ROW_NORM,
        target_bound=TARGET_BOUND,
        rule=PaperRule.name,
        horizon=horizon,
        step=step,
        central=wishes.central.value,
        dictionary=dictionary_digest(dictionary),
    )


def _promise(terms: Terms, wishes: Wishes, rule: PaperRule) -> tuple[Promise, ...]:
    return tuple(
        make_promise(
            terms,
            guarantee,
            records=records,
            answers=wishes.answers or likely_answers(probability, terms.horizon),
            accountant=wishes.accountant,
        )
        for guarantee, records, probability in zip(wishes.guarantees, rule.records, rule.availability, strict=True)
    )
