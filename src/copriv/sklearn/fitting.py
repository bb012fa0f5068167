"""One fit: plan on what is public, pay, train owner after owner, and come back to the units of X."""

from __future__ import annotations

import math
import threading
from collections.abc import Collection
from dataclasses import dataclass

from copriv.errors import ProtocolError
from copriv.forecast.forecast import Forecast
from copriv.owner.ledger import Ledger
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.planning.training_plan import Noise, TrainingPlan
from copriv.privacy.guarantee import Guarantee, Measure
from copriv.protocol.commitment import Commitment
from copriv.records.load import OwnerSample
from copriv.runtime.local import Consortium, assemble, run
from copriv.sklearn.charging import Bill, Paid, Rows, column_names, currencies_of, pay
from copriv.sklearn.planned import plan_payable
from copriv.sklearn.problem import Problem, Promise
from copriv.sklearn.rows import Line, intake_of, line_of, sample_of
from copriv.sklearn.settings import training_spec
from copriv.sklearn.statement import Spent, state
from copriv.vectors import FloatArray

_NOTHING_KNOWN = Forecast(math.nan, math.nan, math.nan)
# Compiled passes use all cores. Under some of numba's threading layers, two threads that do so end the process.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a fit leads to; of `forecast` nothing is known where there are no public rows."""

    line: Line
    spent: Spent
    forecast: Forecast
    statement: str
    questions: int


def fit_line(problem: Problem, promise: Promise, steps: list[str]) -> Outcome:
    """Plan, pay, train; `steps` were fitted before and are not covered.

    Raises:
        BadInput: something does not fit; nothing is spent.
        LedgerRefusal: the budget does not allow the fit; nothing is spent.
        ProtocolError: no owner has answered anything.
    """
    with _ONE_AT_A_TIME:
        return _fit_line(problem, promise, steps)


def _fit_line(problem: Problem, promise: Promise, steps: list[str]) -> Outcome:
    records = sample_of(problem.dictionary, problem.rows, problem.targets)
    intake = intake_of(problem.dictionary, records, problem.owners, problem.public_sample())
    spec = training_spec(promise.rule, promise.guarantee, len(intake.owners), problem.loss, promise.settings)
    plan = plan_payable(intake, spec, _currencies(promise))
    noise: Noise = "seeded" if promise.simulate else "secure"
    consortium = assemble(intake, plan, noise=noise, seed=spec.seed, make_ledger=_paid_in_advance)
    paid = None if promise.simulate else _pay(problem, promise, plan)
    theta, refusals = _train(consortium, plan)
    guarantee = plan.commitments[0].calibration.guarantee
    spent = _spent(guarantee, paid)
    public = 0 if problem.public is None else len(problem.public.rows)
    words = state(guarantee, plan, spent, public, steps, refusals)
    line = line_of(problem.dictionary, theta, problem.rows.shape[1])
    forecast = _NOTHING_KNOWN if plan.candidate is None else plan.candidate.forecast
    return Outcome(line, spent, forecast, words, len(plan.trace))


def _currencies(promise: Promise) -> Collection[Measure]:
    """In which the fit can be paid for; a ledger of the registry, and a simulation, take any."""
    if promise.simulate or promise.ledger is None:
        return ("epsilon", "rho")
    return currencies_of(promise.ledger)


def _paid_in_advance(owner: OwnerSample, commitment: Commitment) -> Ledger:
    """Counts the answers of one owner within one fit, whose whole price is on a durable ledger before the first."""
    calibration = commitment.calibration
    return MemoryLedger(begin(owner.name, "paid in advance", calibration.guarantee, calibration.accountant))


def _pay(problem: Problem, promise: Promise, plan: TrainingPlan) -> Paid:
    settings, columns = promise.settings, column_names(problem.names, problem.rows.shape[1])
    budget = settings.get("budget")
    bill = Bill(
        price=max((commitment.budget for commitment in plan.commitments), key=lambda amount: amount.nano),
        question=plan.terms.digest(),
        asks=plan.terms.kind,
        delta=promise.guarantee.delta,
        accountant=settings.get("accountant", "pld"),
        budget=None if budget is None else str(budget),
        unrelated=settings.get("unrelated", False),
    )
    public = None if problem.public is None else Rows("public rows", columns, problem.public.rows)
    return pay(promise.ledger, Rows(f"rows of {promise.name}", columns, problem.rows), public, bill)


def _train(consortium: Consortium, plan: TrainingPlan) -> tuple[FloatArray, int]:
    """The model after the last meeting, and how many questions were refused."""
    theta, refusals = plan.rule.model(plan.rule.begin()), 0
    for iteration in run(consortium, plan, "fit"):
        theta, refusals = plan.rule.model(iteration.state), refusals + (iteration.refusal is not None)
    if refusals == len(plan.trace):
        raise ProtocolError(
            "every question was refused, and the charge stands",
            remedy="give other bounds or public rows: the models that were asked about leave the box",
            value=refusals,
        )
    return theta, refusals


def _spent(guarantee: Guarantee, paid: Paid | None) -> Spent:
    if paid is None:
        return Spent(guarantee.epsilon, guarantee.delta, None, 0.0, 0.0, simulated=True)
    return Spent(guarantee.epsilon, guarantee.delta, paid.ledger, paid.lost.epsilon, paid.lost.delta, simulated=False)
