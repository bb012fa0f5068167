"""The privacy statement of a study: what was promised, spent and protected, and what was not. Meant to be passed on.

Everything in it follows from the terms, the promises and what this study has charged. No figure measured on records is
part of it, and nothing that other studies have spent: that is in each owner's own statement (`dataset_statement`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from copriv import __version__
from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import ADJACENCY, UNITS
from copriv.privacy.weakness import weakness
from copriv.protocol.commitment import Commitment
from copriv.protocol.public_rows import PublicRows
from copriv.protocol.unit import PersonUnit
from copriv.report.deployment import Deployment, Facts, describe_deployment
from copriv.report.figures import Spending, spending
from copriv.report.menu import MenuStated, chosen_words, told_along
from copriv.report.pages import render
from copriv.runtime.local_run import LocalRun

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
PEOPLE_PROTECTED = (
    (
        "Any one person of an owner, with all rows that it has there: whatever anybody sees of the owner's answers is "
        "almost as likely if that person is replaced by any other, however many rows either has. How much 'almost' "
        "allows is the owner's ε and δ. A row that names nobody is a person of its own."
    ),
    PROTECTED[1],
)
_SEVERAL = "A person with several records at one owner, or at several owners: what is lost on each of them adds up."
_PEOPLE_SEVERAL = "A person at several owners: what is lost at each of them adds up."
_COUNTED = "The number of an owner's records, the owner's name, when it was reachable, and that it took part."
_PEOPLE_COUNTED = (
    "The number of an owner's people (not that of their rows), the owner's name, when it was reachable, and that it "
    "took part."
)
NOT_PROTECTED = (
    _COUNTED,
    (
        "What is true of a whole population: a model may reveal that smokers stay longer in hospital without revealing "
        "who smokes."
    ),
    _SEVERAL,
    (
        "Figures measured on the records themselves, such as how good a model is on them: they exist only where all "
        "records are, are marked as not private, and are not part of this statement or of model.json."
    ),
    (
        "The public rows: they are taken to be known to everybody. model.json holds what was fitted on them, as the "
        "dictionary of features: means, quantiles, categories, components, trees."
    ),
    "What an owner's machine reveals by other ways than its answers: timing, power, memory, a stolen disk.",
)
PEOPLE_NOT_PROTECTED = tuple(
    {_COUNTED: _PEOPLE_COUNTED, _SEVERAL: _PEOPLE_SEVERAL}.get(words, words) for words in NOT_PROTECTED
)
ABOUT = (
    "This statement is about one study. What an owner's records have lost in other studies adds to it; each owner's "
    "own statement has all of them (copriv owner statement, copriv ledger statement)."
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
    """What one owner promised and did.

    Where the terms have a menu, `scale` is that of a gradient for the whole training budget, and `menu` has every
    choice with its noise and how often it was made. `axes` is along how many sums of features gradients were told, and
    `clip` counts along them; 0 if along the features.
    """

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
    accountant: Accountant
    weakness: str | None
    menu: list[MenuStated] = []
    axes: int = 0


class PublicStated(msgspec.Struct):
    """Which rows were taken as public, and from where."""

    rows: int
    source: str
    rows_of_this_very_file: bool
    words: str


@dataclass(frozen=True, slots=True)
class Heading:
    """What a study is called, who asked, when it ended, the rows it took as public, and whom it protects as one."""

    study: str
    learner: str
    date: str
    public: PublicRows
    person: PersonUnit | None = None

    @property
    def unit(self) -> str:
        """What is protected as one."""
        return UNITS["record" if self.person is None else "person"]


class ExpelledStatement(msgspec.Struct):
    """An owner that was caught lying, and what was wrong."""

    owner: str
    why: str


class Statement(msgspec.Struct):
    """The privacy statement of a study."""

    study: str
    learner: str
    terms: str
    date: str
    copriv: str
    unit: str
    adjacency: str
    noise: str
    private: bool
    owners: list[OwnerStatement]
    public: PublicStated
    weakness: str | None
    deployment: Deployment
    about: str = ABOUT
    protected: tuple[str, ...] = PROTECTED
    not_protected: tuple[str, ...] = NOT_PROTECTED
    assumed: tuple[str, ...] = ASSUMED
    expelled: list[ExpelledStatement] = []
    people: str = ""


def state(run: LocalRun, date: str) -> Statement:
    """The statement of a finished run on one machine."""
    heading = Heading(run.origin.name, run.origin.learner, date, run.origin.public, run.study.terms.people)
    return make_statement(heading, run.study.terms.digest(), run.noise, _owners(run))


def make_statement(
    heading: Heading,
    terms: str,
    noise: str,
    owners: list[OwnerStatement],
    expelled: Sequence[ExpelledStatement] = (),
) -> Statement:
    """The statement of a study.

    Args:
        heading: what it is called, who asked, when, and the rows it took as public.
        terms: the digest of its terms.
        noise: secure, or what a simulation had.
        owners: what each promised and did.
        expelled: who was caught lying.
    """
    public = heading.public
    return Statement(
        study=heading.study,
        learner=heading.learner,
        terms=terms,
        date=heading.date,
        copriv=__version__,
        unit=heading.unit,
        adjacency=ADJACENCY,
        noise=noise,
        private=noise == "secure",
        owners=owners,
        public=PublicStated(public.rows, public.source, public.own, public.words),
        weakness=next((owner.weakness for owner in owners if owner.weakness), None),
        deployment=describe_deployment(_facts(heading, owners)),
        expelled=list(expelled),
        protected=PROTECTED if heading.person is None else PEOPLE_PROTECTED,
        not_protected=NOT_PROTECTED if heading.person is None else PEOPLE_NOT_PROTECTED,
        people="" if heading.person is None else f"Records are {heading.person.words}.",
    )


def _facts(heading: Heading, owners: Sequence[OwnerStatement]) -> Facts:
    return Facts(
        name=heading.study,
        kind="Machine learning model",
        owners=tuple(owner.owner for owner in owners),
        date=heading.date,
        version=__version__,
        epsilon=max(owner.epsilon for owner in owners),
        delta=max(owner.delta for owner in owners),
        accountants=tuple(sorted({owner.accountant for owner in owners})),
        mechanisms=tuple(sorted({owner.mechanism for owner in owners})),
        repeated=any(owner.most_answers > 1 for owner in owners),
        public=(heading.public,),
        unit=heading.unit,
    )


def describe(statement: Statement) -> str:
    """The statement as text."""
    lines = [
        f"Privacy statement of {statement.study}, {statement.date}, copriv {statement.copriv}",
        f"unit: one {statement.unit}; adjacency: {statement.adjacency}; noise: {_noise(statement)}",
        *(
            f"{owner.owner}: ε = {owner.epsilon:g}, δ = {owner.delta:g} promised, ε = {owner.epsilon_spent:.6g} spent, "
            f"{owner.answers} of {owner.most_answers} answers, {owner.mechanism} noise of scale {owner.scale:.4g}"
            f"{_chosen(owner)}{_along(owner)}"
            for owner in statement.owners
        ),
        statement.public.words,
        *([statement.people] if statement.people else []),
        *([f"warning: {statement.weakness}"] if statement.weakness else []),
        statement.about,
    ]
    for title, words in (
        ("Protected:", statement.protected),
        ("Not protected:", statement.not_protected),
        ("Assumed:", statement.assumed),
    ):
        lines += [title, *(f"- {each}" for each in words)]
    return "\n".join(lines)


def _chosen(owner: OwnerStatement) -> str:
    """What the learner has chosen from the menu, if there is one."""
    if not owner.menu:
        return ""
    return f" for the whole training budget, and more for a share of it; asked: {chosen_words(owner.menu) or 'nothing'}"


def _along(owner: OwnerStatement) -> str:
    words = told_along(owner.axes)
    return f"; {words}" if words else ""


def _noise(statement: Statement) -> str:
    return "secure" if statement.private else f"{statement.noise}: simulated, not private, this run protects nobody"


def write_statement(statement: Statement, folder: Path) -> Sequence[Path]:
    """privacy.json for programs and privacy.html for people."""
    page = render("privacy.html", statement)
    (folder / "privacy.json").write_bytes(msgspec.json.format(msgspec.json.encode(statement)) + b"\n")
    (folder / "privacy.html").write_text(page, encoding="utf-8")
    return [folder / "privacy.json", folder / "privacy.html"]


def owner_statement(spent: Spending, commitment: Commitment) -> OwnerStatement:
    """What one owner promised and did."""
    return OwnerStatement(
        owner=spent.owner,
        records=spent.records,
        epsilon=spent.promised,
        delta=spent.delta,
        epsilon_spent=spent.epsilon,
        answers=spent.answers,
        most_answers=spent.most_answers,
        mechanism=commitment.calibration.mechanism.name,
        scale=commitment.calibration.mechanism.scale,
        norm=commitment.norm.name,
        clip=commitment.clip,
        sensitivity=commitment.sensitivity.value,
        accountant=commitment.calibration.accountant,
        weakness=weakness(commitment.calibration.guarantee, spent.records),
        menu=spent.menu,
        axes=len(commitment.axes),
    )


def _owners(run: LocalRun) -> list[OwnerStatement]:
    return [
        owner_statement(spent, commitment)
        for spent, commitment in zip(spending(run), run.study.commitments, strict=True)
    ]
