"""What a fit promises about any one record, what it cost, and what the promise does not cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from copriv.planning.training_plan import TrainingPlan
from copriv.privacy.guarantee import ADJACENCY, UNIT, Guarantee
from copriv.privacy.weakness import weakness

_BEFORE = "whatever was done to X, y and owner before fit"
_PUBLIC_KNOWLEDGE = "taken as public: the number of records of each owner, the columns, and which row is whose"


@dataclass(frozen=True, slots=True)
class Spent:
    """What one fit cost, for any one record (replace-one).

    Args:
        epsilon: of this fit.
        delta: of this fit.
        ledger: which has paid; None for a simulation, which pays nothing and protects nothing.
        epsilon_in_all: what the ledger's records have lost so far, this fit included.
        delta_in_all: likewise.
        simulated: whether the noise was only simulated, so that the model is not private.
    """

    epsilon: float
    delta: float
    ledger: str | None
    epsilon_in_all: float
    delta_in_all: float
    simulated: bool
    unit: str = UNIT
    adjacency: str = ADJACENCY

    def to_dict(self) -> dict[str, object]:
        """The figures by their names."""
        return asdict(self)


def state(
    guarantee: Guarantee, plan: TrainingPlan, spent: Spent, public_rows: int, steps: Sequence[str], refusals: int
) -> str:
    """The statement of a fit, one fact a line.

    Args:
        guarantee: what each owner promises.
        plan: how it was trained.
        spent: what it cost.
        public_rows: how many rows were taken as public.
        steps: what was fitted before, and is not covered.
        refusals: how many questions were refused.
    """
    facts = [
        "Simulated, not private: the noise can be drawn again." if spent.simulated else f"Promised: {guarantee.words}.",
        f"Rule {plan.terms.rule!r}, {_count(len(plan.commitments), 'owner')}, {_count(len(plan.trace), 'question')}.",
        _public(public_rows, steps),
        _paid(spent),
    ]
    if not spent.simulated and (weak := weakness(guarantee)):
        facts.append(f"Weak: {weak}.")
    if refusals:
        facts.append(f"Refused: {_count(refusals, 'question')}.")
    facts.extend(f"Not covered: {what}." for what in (*steps, _BEFORE))
    facts.append(f"{_PUBLIC_KNOWLEDGE[0].upper()}{_PUBLIC_KNOWLEDGE[1:]}.")
    return "\n".join(facts)


def _public(rows: int, steps: Sequence[str]) -> str:
    if not rows:
        return "No public rows: agreed bounds."
    given = ", taken as they were given and not through the steps before" if steps else ""
    return f"{rows:,} public rows{given}: nobody in them is protected."


def _paid(spent: Spent) -> str:
    if spent.ledger is None:
        return "Nothing was charged."
    lost = f"ε = {spent.epsilon_in_all:g}, δ = {spent.delta_in_all:g} for any one {UNIT} ({ADJACENCY})"
    return f"Charged to {spent.ledger}, whose records have lost {lost} in all."


def _count(number: int, what: str) -> str:
    """A number of things.

    >>> _count(1, "owner"), _count(1200, "question")
    ('1 owner', '1,200 questions')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"
