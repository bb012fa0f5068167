"""An owner's statement about a dataset: what all studies together have spent, what is left, and who signed what.

It follows from the ledger alone: from questions, prices and signatures, and from no record. It is for the owner, and
says what of it may be passed on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from copriv import __version__
from copriv.errors import BadInput
from copriv.owner.block_accounts import Account
from copriv.owner.block_sheet import BlockShown, block_lines, show_blocks
from copriv.owner.entries import Answered, Charge, Entry
from copriv.owner.ledger_opening import DEFAULT_DELTA, total_epsilon
from copriv.owner.ledger_state import LedgerState
from copriv.owner.owner import study_of
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.accounting import Accountant
from copriv.privacy.calibration import spent_epsilon
from copriv.privacy.guarantee import ADJACENCY, NANO, Amount, Guarantee, Measure
from copriv.privacy.weakness import weakness_of
from copriv.protocol.public_rows import PublicRows
from copriv.protocol.text import plain
from copriv.report.deployment import Deployment, Facts, describe_deployment
from copriv.report.ledger_history import NOT_NOTED, LedgerEvent, history, learner_name, study_name
from copriv.report.pages import render
from copriv.report.sentence import many

FOR_WHOM = (
    "This statement is for the owner of the records. It tells of every study and learner. Nothing in it was computed "
    "from records: it may be shown to whoever supervises their use. To a learner pass on the statement of its own "
    "study instead (privacy.json, privacy.html), so that it does not see what others have asked."
)

_SIGNED = frozenset({"epoch", "version", "block", "renewed", "expired"})


class AccountStated(msgspec.Struct):
    """One account: in ε for Laplace noise, in ρ for Gaussian noise; budget and left are null if none is declared."""

    currency: str
    budget: float | None
    spent: float
    left: float | None


class Loss(msgspec.Struct):
    """What any one record has lost."""

    epsilon: float
    delta: float


class StudyStated(msgspec.Struct):
    """What one study has had."""

    study: str
    learner: str
    approved_by: str
    terms: str
    first: str
    last: str
    answers: int
    spent: Loss
    rho: float | None
    public: str


class Change(msgspec.Struct):
    """A promise or a version that a person has signed off."""

    date: str
    what: str
    words: str
    signed_off_by: str


class DatasetStatement(msgspec.Struct):
    """The statement of one dataset; `ledger` is the ledger's random id: a file name may be anything."""

    owner: str
    ledger: str
    date: str
    copriv: str
    unit: str
    adjacency: str
    promised: Loss | None
    spent: Loss
    left: float | None
    accountant: str
    accounts: list[AccountStated]
    answers: int
    studies: list[StudyStated]
    changes: list[Change]
    public: list[str]
    weakness: str | None
    deployment: Deployment
    for_whom: str = FOR_WHOM
    blocks: list[BlockShown] = []


def state_dataset(path: Path, date: str) -> DatasetStatement:
    """The statement of the dataset that a ledger is for."""
    ledger = SqliteLedger(path)
    try:
        book, entries, events = ledger.state(), list(ledger.entries()), history(ledger, values=False)
    finally:
        ledger.close()
    declared, delta = not any(account.open for account in book.accounts.values()), _delta(book)
    promised = Loss(book.guarantee.epsilon, book.guarantee.delta) if declared else None
    spent = Loss(total_epsilon(book), delta)
    rows = _public(book)
    return DatasetStatement(
        owner=book.owner,
        ledger=book.id,
        date=date,
        copriv=__version__,
        unit=book.unit_words,
        adjacency=ADJACENCY,
        promised=promised,
        spent=spent,
        left=max(promised.epsilon - spent.epsilon, 0.0) if promised else None,
        accountant=book.accountant,
        accounts=[_account(measure, account) for measure, account in book.accounts.items()],
        answers=sum(isinstance(entry.body, Answered) for entry in entries),
        studies=[_study(book, digest, events) for digest in _studies(book)],
        changes=[_change(event) for event in events if event.event in _SIGNED],
        public=[each.words for each in rows] or [PublicRows().words],
        weakness=book_weakness(book),
        deployment=describe_deployment(_facts(book, entries, date, rows)),
        blocks=show_blocks(book),
    )


def book_weakness(book: LedgerState) -> str | None:
    """Why what a ledger promises means little; where no budget is declared, why what is spent does."""
    if any(account.open for account in book.accounts.values()):
        return weakness_of(total_epsilon(book), _delta(book))
    return weakness_of(book.guarantee.epsilon, book.guarantee.delta)


def write_dataset_statements(statements: Sequence[DatasetStatement], folder: Path) -> list[Path]:
    """statement.json for programs and statement.html for people, in a new folder that nobody else can read."""
    try:
        folder.mkdir(parents=True, mode=0o700)
    except OSError as problem:
        raise BadInput(
            f"{folder} cannot be made: {problem.strerror}", remedy="choose another --out", value=str(folder)
        ) from problem
    shown = statements[0] if len(statements) == 1 else statements
    contents = {
        "statement.json": msgspec.json.format(msgspec.json.encode(shown)) + b"\n",
        "statement.html": render("dataset.html", statements).encode(),
    }
    for name, content in contents.items():
        with os.fdopen(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
    return [folder / name for name in contents]


def statement_lines(told: DatasetStatement) -> Iterator[str]:
    """A statement for a terminal."""
    yield f"what the records of {plain(told.owner)} have lost; stated {told.date} by copriv {told.copriv}"
    lost = f"ε = {told.spent.epsilon:.6g}, δ = {told.spent.delta:g}"
    yield f"  lost      {lost} for any one {told.unit} ({told.adjacency})"
    if told.promised is None or told.left is None:
        yield "  promised  no budget is declared: spending is noted"
    else:
        yield f"  promised  ε = {told.promised.epsilon:g}, δ = {told.promised.delta:g}; left: ε = {told.left:.6g}"
    if told.weakness:
        yield f"  beware    {told.weakness}"
    for account in told.accounts:
        left = "no limit" if account.left is None else f"{account.left:.12g} left"
        yield f"  account   {account.currency}: {account.spent:.12g} spent, {left}"
    for line in block_lines(told.blocks):
        yield f"  block     {line}"
    for study in told.studies:
        spent = f"ε = {study.spent.epsilon:.6g}, δ = {study.spent.delta:g} in {many(study.answers, 'answer')}"
        who = f"{study.study}, learner: {study.learner}, approved by {plain(study.approved_by)}"
        yield f"  study     {who}: {spent}, {study.first or 'no answer yet'}"
    for change in told.changes:
        yield f"  signed    {change.date}: {change.words}"
    for words in told.public:
        yield f"  public    {words}"


def _delta(book: LedgerState) -> float:
    """At which what is spent is stated: 0 as long as only Laplace noise was added."""
    gaussian = "rho" in book.accounts and book.accounts["rho"].spent
    return (book.guarantee.delta or DEFAULT_DELTA) if gaussian else 0.0


def _account(measure: Measure, account: Account) -> AccountStated:
    words = {"epsilon": "ε of Laplace noise", "rho": "ρ of Gaussian noise"}[measure]
    if account.open:
        return AccountStated(words, None, account.spent / NANO, None)
    return AccountStated(words, account.budget.nano / NANO, account.spent / NANO, account.left / NANO)


def _studies(book: LedgerState) -> list[str]:
    """Every study that was enrolled or charged, by its digest, in order."""
    return list(dict.fromkeys([*book.enrolled, *(study_of(account) for account in book.studies)]))


def _study(book: LedgerState, digest: str, events: Sequence[LedgerEvent]) -> StudyStated:
    enrolled = book.enrolled.get(digest)
    dates = [event.date for event in events if event.terms == digest and event.event in {"answer", "charge"}]
    amounts = [amount for account, amount in book.studies.items() if study_of(account) == digest]
    rho = sum(amount.nano for amount in amounts if amount.measure == "rho")
    return StudyStated(
        study=study_name(book, digest),
        learner=learner_name(book, digest),
        approved_by=enrolled.approved_by if enrolled else NOT_NOTED,
        terms=digest,
        first=dates[0] if dates else "",
        last=dates[-1] if dates else "",
        answers=sum(event.terms == digest and event.event == "answer" for event in events),
        spent=_loss(book, amounts, rho),
        rho=rho / NANO if rho else None,
        public=enrolled.public.words if enrolled and enrolled.public else NOT_NOTED,
    )


def _loss(book: LedgerState, amounts: Sequence[Amount], rho: int) -> Loss:
    pure = sum(amount.nano for amount in amounts if amount.measure == "epsilon") / NANO
    if not rho:
        return Loss(pure, 0.0)
    delta = book.guarantee.delta or DEFAULT_DELTA
    accountant: Accountant = "zcdp" if book.accountant == "zcdp" else "pld"
    guarantee = Guarantee(book.guarantee.nano_epsilon, delta)
    return Loss(pure + spent_epsilon(Amount(rho, "rho"), guarantee, accountant), delta)


def _change(event: LedgerEvent) -> Change:
    return Change(event.date, event.event, event.words, event.person)


def _public(book: LedgerState) -> list[PublicRows]:
    """The rows that any study took as public, the owner's own file first."""
    found = {enrolled.public for enrolled in book.enrolled.values() if enrolled.public}
    return sorted(found, key=lambda rows: (not rows.own, rows.source, rows.rows))


def _facts(book: LedgerState, entries: Sequence[Entry], date: str, public: Sequence[PublicRows]) -> Facts:
    measures = {entry.body.measure for entry in entries if isinstance(entry.body, Charge)} or set(book.accounts)
    declared = not any(account.open for account in book.accounts.values())
    gaussian: Accountant = "zcdp" if book.accountant == "zcdp" else "pld"
    accountants: list[Accountant] = ["pure"] if "epsilon" in measures else []
    return Facts(
        name=f"all studies of the records of {book.owner}",
        kind="Noisy answers to the questions of studies",
        owners=(book.owner,),
        date=date,
        version=__version__,
        epsilon=book.guarantee.epsilon if declared else None,
        delta=book.guarantee.delta,
        accountants=tuple([*accountants, gaussian] if "rho" in measures else accountants),
        mechanisms=tuple(
            name for measure, name in (("epsilon", "laplace"), ("rho", "gaussian")) if measure in measures
        ),
        repeated=True,
        public=tuple(public) or (PublicRows(),),
        unit=book.unit_words,
    )
