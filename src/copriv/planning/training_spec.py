"""What a user asks of a study, before anything is worked out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from copriv.errors import BadInput
from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.unit import PersonUnit
from copriv.records.held_back import MOST
from copriv.rules.entry import RuleEntry
from copriv.rules.paper import CentralStep
from copriv.schedule.trace import Trace

RuleChoice: TypeAlias = str | RuleEntry


@dataclass(frozen=True, slots=True)
class TrainingSpec:
    """What the user asks for; None means that the search chooses.

    Args:
        guarantees: one an owner.
        rule: the name of a rule, or the entry of one from outside; auto for the one with the least predicted ψ.
        loss: the name of a loss: squared, huber, logistic, or one from outside.
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
        heterogeneity: κ, how much owners are thought to differ truly.
        person: who is protected, if the unit is a person; None if it is a record.
        validate: the part of every budget that is set aside for a validation; 0 for none.
        held_back: with one, the share of every owner's records that is kept from training for it.
    """

    guarantees: tuple[Guarantee, ...]
    seed: int = 0
    rule: RuleChoice = "paper"
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
    heterogeneity: float = 0.0
    person: PersonUnit | None = None
    validate: float = 0.0
    held_back: float = 0.2

    @property
    def meant_rule(self) -> RuleChoice:
        """The rule: whoever leaves it open and gives Algorithm 1's step, ρ or central step means Algorithm 1."""
        means_paper = bool(self.step or self.rho) or self.central is not CentralStep.PROOF
        return "paper" if self.rule == "auto" and means_paper else self.rule


def require_one_each(wishes: TrainingSpec, owners: int) -> None:
    """Refuse lists that do not fit the owners there are."""
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


def require_sensible(wishes: TrainingSpec) -> None:
    """Refuse numbers that cannot be meant."""
    if wishes.horizon < 1:
        raise BadInput(f"the horizon is {wishes.horizon}", remedy="give at least 1 iteration", value=wishes.horizon)
    if wishes.answers is not None and wishes.answers < 1:
        raise BadInput(f"{wishes.answers} answers", remedy="let owners answer at least once", value=wishes.answers)
    for what, value in (("step", wishes.step), ("rho", wishes.rho), ("clip", wishes.clip), ("box limit", wishes.limit)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise BadInput(f"the {what} is {value}", remedy="give a finite number greater than 0", value=value)
    require_validation(wishes.validate, wishes.held_back)


def require_validation(validate: float, held_back: float) -> None:
    """Refuse shares of budget and records that leave nothing to train with."""
    if not (math.isfinite(validate) and 0 <= validate < 1):
        raise BadInput(
            f"a part of {validate:g} of the budget validates", remedy="give one from 0 up to 0.9", value=validate
        )
    if validate and not (math.isfinite(held_back) and 0 < held_back <= MOST):
        raise BadInput(
            f"a share of {held_back:g} of the records is held back",
            remedy=f"give one above 0, up to {MOST}",
            value=held_back,
        )
