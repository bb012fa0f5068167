"""A study whose terms are agreed already: nothing is chosen any more, only owners are added.

The rule is set up as the learner of a consortium sets it up, from the terms, the owners' sizes and what they promise,
so that a run in one process is a rehearsal of the same study over the network. What is predicted is the forecast of
that setting, as everywhere.
"""

from __future__ import annotations

from typing import Any

from copriv.learner.roster import Roster, rule_of
from copriv.planning.outline import Outline, evidence_for
from copriv.planning.search import choose
from copriv.planning.training_plan import TrainingPlan, schedule
from copriv.planning.training_spec import TrainingSpec, require_one_each
from copriv.protocol.commitment import Commitment, make_commitments
from copriv.protocol.meeting import Hello
from copriv.protocol.terms import Terms
from copriv.records.dictionary import Dictionary
from copriv.records.load import Intake, OwnerSample
from copriv.rules.setting import NoiseModel


def plan_from_terms(terms: Terms, intake: Intake, wishes: TrainingSpec) -> TrainingPlan:
    """The study of these owners under these terms; the wishes say who promises what, and how often each is there."""
    sizes = tuple(owner.sample.records for owner in intake.owners)
    require_one_each(wishes, len(sizes))
    evidence = None if intake.public is None else evidence_for(terms, intake.public)
    candidate = choose(Outline(wishes, sizes, terms.parameters, evidence, agreed=terms))
    setting = candidate.setting
    commitments = make_commitments(setting.terms, setting.owners, setting.accountant)
    rates = wishes.rates or (1.0,) * len(sizes)
    roster = Roster(tuple(map(_hello, [terms] * len(sizes), intake.owners, commitments, rates)))
    return TrainingPlan(
        terms=terms,
        rule=rule_of(terms, roster, NoiseModel.of(commitments, intake.public)),
        commitments=commitments,
        trace=wishes.trace or schedule(setting, wishes.seed),
        public_model=None if evidence is None else evidence.model,
        predicted=candidate.relative_fitness,
        candidate=candidate,
    )


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


def settled_by(terms: Terms, dictionary: Dictionary) -> dict[str, Any]:
    """What agreed terms say about the settings of training, by the names that users give them."""
    answers = {"answers": terms.answers} if terms.answers else {}
    return answers | {
        "target": dictionary.target.name,
        "features": dictionary.features,
        "loss": terms.loss,
        "huber_threshold": terms.threshold,
        "rule": terms.rule,
        "horizon": terms.horizon,
        "step": terms.step,
        "clip": terms.clip,
        "central": terms.central,
        "regularization": terms.regularization,
        "box": terms.limit,
        "person": terms.person or None,
        "rows_cap": terms.rows_cap or None,
        "weigh": terms.weigh or None,
    }
