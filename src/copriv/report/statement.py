"""The privacy statement of a run: what was promised, spent and protected, and what was not. Meant to be passed on.

Everything in it follows from the terms, the promises and the ledgers. No figure measured on records is part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from copriv.owner.promise import Promise
from copriv.privacy.guarantee import ADJACENCY, UNIT
from copriv.report.figures import Run, Spending, spending

PROTECTED = (
    (
        "Any one record of an owner: whatever anybody sees of the owner's answers is almost as likely if that record "
        "is replaced by any other. How much 'almost' allows is the owner's ε and δ."
    ),
    (
        "This holds against the learner, the other owners and everybody they talk to, together, whatever else they "
        "know, now and later, and for every model, figure or decision derived from the answers."
    ),
)
NOT_PROTECTED = (
    "The number of an owner's records, the owner's name, when it was reachable, and that it took part.",
    (
        "What is true of a whole population: a model may reveal that smokers stay longer in hospital without revealing "
        "who smokes."
    ),
    "A person with several records at one owner, or at several owners: what is lost on each of them adds up.",
    (
        "Figures measured on the records themselves, such as how good a model is on them: they exist only where all "
        "records are, are marked as not private, and are not part of this statement or of model.json."
    ),
    "The public rows: they are taken to be known to everybody.",
    "What an owner's machine reveals by other ways than its answers: timing, power, memory, a stolen disk.",
)
ASSUMED = (
    "The owner's software and ledger are what they seem: whoever can change them can break the promise.",
    (
        "The learner is honest but curious. A learner that lies can waste an owner's budget or spoil the model, but it "
        "cannot make an owner spend more than it promised."
    ),
    "The operating system's randomness is good.",
)


class OwnerStatement(msgspec.Struct):
    """What one owner promised and did."""

    owner: str
    records: int
    epsilon: float
    delta: float
    epsilon_spent: float
    answers: int
    most_answers: int
    mechanism: str
    scale: float
    norm: str
    clip: float
    sensitivity: float
    accountant: str


class ExpelledStatement(msgspec.Struct):
    """An owner that was caught lying, and what was wrong."""

    owner: str
    why: str


class Statement(msgspec.Struct):
    """The privacy statement of a run."""

    unit: str
    adjacency: str
    noise: str
    private: bool
    terms: str
    owners: list[OwnerStatement]
    protected: tuple[str, ...] = PROTECTED
    not_protected: tuple[str, ...] = NOT_PROTECTED
    assumed: tuple[str, ...] = ASSUMED
    expelled: list[ExpelledStatement] = []


def state(run: Run) -> Statement:
    """The statement of a finished run."""
    return Statement(
        unit=UNIT,
        adjacency=ADJACENCY,
        noise=run.noise,
        private=run.noise == "secure",
        terms=run.study.terms.digest(),
        owners=_owners(run),
    )


def write_statement(statement: Statement, folder: Path) -> Sequence[Path]:
    """privacy.json for programs and privacy.html for people."""
    import jinja2

    loader = jinja2.PackageLoader("copriv.report")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    page = environment.get_template("privacy.html").render(statement=statement)
    (folder / "privacy.json").write_bytes(msgspec.json.format(msgspec.json.encode(statement)) + b"\n")
    (folder / "privacy.html").write_text(page, encoding="utf-8")
    return [folder / "privacy.json", folder / "privacy.html"]


def owner_statement(spent: Spending, promise: Promise) -> OwnerStatement:
    """What one owner promised and did."""
    return OwnerStatement(
        owner=spent.owner,
        records=spent.records,
        epsilon=spent.promised,
        delta=spent.delta,
        epsilon_spent=spent.epsilon,
        answers=spent.answers,
        most_answers=spent.most_answers,
        mechanism=promise.calibration.mechanism.name,
        scale=promise.calibration.mechanism.scale,
        norm=promise.norm.name,
        clip=promise.clip,
        sensitivity=promise.sensitivity.value,
        accountant=promise.calibration.accountant,
    )


def _owners(run: Run) -> list[OwnerStatement]:
    return [owner_statement(spent, promise) for spent, promise in zip(spending(run), run.study.promises, strict=True)]
