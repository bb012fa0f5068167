"""A study whose terms are agreed already: nothing is chosen any more, only owners are added.

The rule is set up as the learner of a consortium sets it up, from the terms, the owners' sizes and what they promise,
so that a run in one process is a rehearsal of the same study over the network.
"""

from __future__ import annotations

import math

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.learner.roster import Prospects, Roster, rule_of
from copriv.losses.sample import Sample
from copriv.owner.promise import Promise, make_promise
from copriv.protocol.meeting import Hello
from copriv.protocol.terms import Terms
from copriv.records.intake import Intake, OwnerSample
from copriv.rules import prospect
from copriv.rules.newton import NewtonRule
from copriv.rules.paper import PaperRule
from copriv.schedule.poisson import availability, draw, likely_answers, until_spent
from copriv.schedule.trace import Trace
from copriv.simulation.pilot import public_model
from copriv.simulation.study import Study
from copriv.simulation.wishes import Wishes, require_one_each


def follow_terms(terms: Terms, intake: Intake, wishes: Wishes) -> Study:
    """The study of these owners under these terms; the wishes say who promises what, and how often each is there."""
    owners = len(intake.owners)
    require_one_each(wishes, owners)
    rates = wishes.rates or (1.0,) * owners
    gammas = tuple(availability(rates).tolist())
    answers = tuple(_answers(terms, wishes, gamma) for gamma in gammas)
    promises = tuple(
        make_promise(terms, guarantee, records=owner.sample.records, answers=most, accountant=wishes.accountant)
        for owner, guarantee, most in zip(intake.owners, wishes.guarantees, answers, strict=True)
    )
    roster = Roster(tuple(map(_hello, [terms] * owners, intake.owners, promises, rates)))
    public = intake.public
    return Study(
        terms=terms,
        rule=rule_of(terms, roster, _prospects(promises, public)),
        promises=promises,
        trace=wishes.trace or _schedule(terms, gammas, answers, wishes.seed),
        public_model=None if public is None else public_model(terms.objective().loss, terms.regularization, public),
        foreseen=_foreseen(terms, promises, roster, public),
    )


def _answers(terms: Terms, wishes: Wishes, gamma: float) -> int:
    """As the terms ask; where they leave it to the owner, as it wishes, or what its clock is likely to ask for."""
    if terms.answers or wishes.answers:
        return terms.answers or wishes.answers or 1
    if terms.rule == PaperRule.name:
        return likely_answers(gamma, terms.horizon)
    raise BadInput(
        f"the study's rule {terms.rule!r} has no number of answers",
        remedy="say how often each owner answers at most: --answers K",
        value=terms.answers,
    )


def _schedule(terms: Terms, gammas: tuple[float, ...], answers: tuple[int, ...], seed: int) -> Trace:
    """T meetings for the paper's rule, else meetings until every owner has given its answers."""
    stream = seeded(seed, "schedule")
    return draw(gammas, terms.horizon, stream) if terms.rule == PaperRule.name else until_spent(gammas, answers, stream)


def _hello(terms: Terms, owner: OwnerSample, promise: Promise, rate: float) -> Hello:
    """What an owner of a consortium says of itself, and so all that a rule may know of it."""
    calibration = promise.calibration
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


def _prospects(promises: tuple[Promise, ...], public: Sample | None) -> Prospects:
    deviations = tuple(promise.calibration.mechanism.deviation for promise in promises)
    return Prospects(deviations, promises[0].clip, promises[0].norm, public)


def _foreseen(terms: Terms, promises: tuple[Promise, ...], roster: Roster, public: Sample | None) -> float:
    """The ψ foretold of public Newton at the agreed clip; the other rules are left to `copriv forecast`."""
    if terms.rule != NewtonRule.name or public is None:
        return math.nan
    clip, norm = promises[0].clip, promises[0].norm
    ahead = prospect.Prospects.of(public, terms.objective(), norm, clips=(clip,))
    units = [promise.calibration.mechanism.deviation / promise.clip for promise in promises]
    answers = promises[0].calibration.answers
    return ahead.best([hello.records for hello in roster.owners], {answers: units}).cost
