"""A study whose terms are agreed already: nothing is chosen any more, only owners are added.

The rule is set up as the learner of a consortium sets it up, from the terms, the owners' sizes and what they promise,
so that a run in one process is a rehearsal of the same study over the network.
"""

from __future__ import annotations

import math

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.forecast import newton
from copriv.learner.roster import Roster, rule_of
from copriv.losses.sample import Sample
from copriv.planning.training_plan import TrainingPlan
from copriv.planning.training_spec import TrainingSpec, require_one_each
from copriv.planning.tuning import public_model
from copriv.protocol.commitment import Commitment, make_commitment
from copriv.protocol.meeting import Hello
from copriv.protocol.terms import Terms
from copriv.records.load import Intake, OwnerSample
from copriv.rules.newton import NewtonRule
from copriv.rules.registry import resolve
from copriv.rules.setting import NoiseModel
from copriv.schedule.poisson import availability, draw, likely_answers, until_spent
from copriv.schedule.trace import Trace


def plan_from_terms(terms: Terms, intake: Intake, wishes: TrainingSpec) -> TrainingPlan:
    """The study of these owners under these terms; the wishes say who promises what, and how often each is there."""
    owners = len(intake.owners)
    require_one_each(wishes, owners)
    rates = wishes.rates or (1.0,) * owners
    gammas = tuple(availability(rates).tolist())
    answers = tuple(_answers(terms, wishes, gamma) for gamma in gammas)
    commitments = tuple(
        make_commitment(terms, guarantee, records=owner.sample.records, answers=most, accountant=wishes.accountant)
        for owner, guarantee, most in zip(intake.owners, wishes.guarantees, answers, strict=True)
    )
    roster = Roster(tuple(map(_hello, [terms] * owners, intake.owners, commitments, rates)))
    public = intake.public
    return TrainingPlan(
        terms=terms,
        rule=rule_of(terms, roster, _prospects(commitments, public)),
        commitments=commitments,
        trace=wishes.trace or _schedule(terms, gammas, answers, wishes.seed),
        public_model=None if public is None else public_model(terms.objective().loss, terms.regularization, public),
        predicted=_foreseen(terms, commitments, roster, public),
    )


def _answers(terms: Terms, wishes: TrainingSpec, gamma: float) -> int:
    """As the terms ask; where they leave it to the owner, as it wishes, or what its clock is likely to ask for."""
    if terms.answers or wishes.answers:
        return terms.answers or wishes.answers or 1
    if resolve(terms.rule).counts == "meetings":
        return likely_answers(gamma, terms.horizon)
    raise BadInput(
        f"the study's rule {terms.rule!r} has no number of answers",
        remedy="say how often each owner answers at most: --answers K",
        value=terms.answers,
    )


def _schedule(terms: Terms, gammas: tuple[float, ...], answers: tuple[int, ...], seed: int) -> Trace:
    """T meetings for a rule that counts them, else meetings until every owner has given its answers."""
    stream = seeded(seed, "schedule")
    counts_meetings = resolve(terms.rule).counts == "meetings"
    return draw(gammas, terms.horizon, stream) if counts_meetings else until_spent(gammas, answers, stream)


def _hello(terms: Terms, owner: OwnerSample, commitment: Commitment, rate: float) -> Hello:
    """What an owner of a consortium says of itself, and so all that a rule may know of it."""
    calibration = commitment.calibration
    return Hello(
        terms=terms.digest(),
        owner=owner.name,
        instance="",
        records=owner.sample.records,
        nano_epsilon=calibration.guarantee.nano_epsilon,
        delta=calibration.guarantee.delta,
        accountant=calibration.accountant,
        answers=calibration.answers,
        rate=rate,
    )


def _prospects(commitments: tuple[Commitment, ...], public: Sample | None) -> NoiseModel:
    noise_std = tuple(commitment.calibration.mechanism.noise_std for commitment in commitments)
    return NoiseModel(noise_std, commitments[0].clip, commitments[0].norm, public)


def _foreseen(terms: Terms, commitments: tuple[Commitment, ...], roster: Roster, public: Sample | None) -> float:
    """The ψ foretold of public Newton at the agreed clip; the other rules are left to `copriv forecast`."""
    if terms.rule != NewtonRule.name or public is None:
        return math.nan
    clip, norm = commitments[0].clip, commitments[0].norm
    ahead = newton.NewtonForecast.of(public, terms.objective(), norm, clips=(clip,))
    units = [commitment.calibration.mechanism.noise_std / commitment.clip for commitment in commitments]
    answers = commitments[0].calibration.answers
    return ahead.best([hello.records for hello in roster.owners], {answers: units}).cost
