"""The budget of a file in a run: recognise the records, check, charge once, and say what they lost in all.

Owners' rows are disjoint, and the owner column and the order of rows are public, which replacing a record keeps. So one
record is in one owner's part, and a run costs the file the largest promise of its owners, whatever the partition. A
person may be at several owners, and the file counts what one person has lost at one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from copriv.entropy import token
from copriv.owner.block_accounts import Account, require_counted
from copriv.owner.dataset_ledger import Settled, Word, check_split, open_registered, open_settled, settle
from copriv.owner.declaration import (
    Declaration,
    after_spending,
    declare_spent_and,
    declare_total,
    lost_in_all,
    require_room,
    require_within,
    spent_in,
    undeclared,
)
from copriv.owner.entries import Enrolled
from copriv.owner.ledger_opening import begin_open, fingerprint_of_file
from copriv.owner.ledger_state import LedgerState, open_state
from copriv.owner.reading import block_of_file, narrowed, require_none_expired, require_people_known
from copriv.owner.registry import Found, Registry
from copriv.owner.split import Split
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.planning.training_plan import TrainingPlan
from copriv.privacy.guarantee import ADJACENCY, UNIT, Amount, Guarantee
from copriv.privacy.weakness import weakness
from copriv.runtime.events import Tell
from copriv.runtime.local_folder import ledger_path
from copriv.runtime.local_load import Sources
from copriv.runtime.local_origin import Origin
from copriv.runtime.local_request import Person, TrainRequest
from copriv.runtime.local_rows import check_public, look_up, wanted_split


class DatasetSpending(msgspec.Struct):
    """What the records of a file have lost in all their studies, this one included, and where that is kept."""

    ledger: str
    epsilon: float
    delta: float
    budget: float | None
    studies: int
    weakness: str | None = None
    unit: str = UNIT
    adjacency: str = ADJACENCY


@dataclass(frozen=True, slots=True)
class Payment:
    """What a run will cost its records, checked and not yet charged.

    Args:
        registry: the user's registry.
        request: of the run.
        settled: whose records they are.
        split: which rows are public.
        public: the table of public rows, if there is one.
        price: what the run costs.
        person: who runs it.
        new: where a ledger is made if the records have none; its name is the file's and chance, and says nothing of
            what is in the file.
        unit: what the run protects as one.
    """

    registry: Registry
    request: TrainRequest
    settled: Settled
    split: Split
    public: Found | None
    price: Amount
    person: Person
    new: Path
    unit: str = "record"

    @property
    def ledger(self) -> Path:
        """The ledger of the records; or where one is made, if they have none."""
        return self.new if self.settled.dataset is None else self.settled.dataset.ledger

    @property
    def records(self) -> str:
        """The fingerprint of the records, for their ledgers."""
        return fingerprint_of(self.settled.found)


def fingerprint_of(found: Found) -> str:
    """How a ledger knows its records: by the bytes of their file, or by the content of a table in memory."""
    return found.fingerprint.hex() if found.in_memory else fingerprint_of_file(found.path)


def check_payment(
    registry: Registry,
    request: TrainRequest,
    sources: Sources,
    study: TrainingPlan,
    person: Person,
    run: str | None,
    tell: Tell,
) -> Payment:
    """Recognise the records, and refuse what their budget or the rows declared before do not allow; nothing is written.

    Args:
        registry: the user's registry.
        request: of the run; seed and number of public rows are settled.
        sources: tables in memory.
        study: as it was designed.
        person: may be asked.
        run: the id of a run that is resumed, which may have paid already.
        tell: is told how far it is.
    """
    found = look_up(registry, request, sources, tell)
    word = Word(person.name, request.version_of, request.unrelated, person.ask)
    settled = settle(registry, found, word, request.person or "")
    split = wanted_split(registry, found, request, sources)
    check_split(registry, settled, split)
    public = check_public(registry, settled, split, request, sources, tell)
    price = max((commitment.budget for commitment in study.commitments), key=lambda amount: amount.nano)
    unit = study.terms.unit
    new = ledger_path(registry.folder / "ledgers", f"{found.path.stem} {token()[:16]}")
    payment = Payment(registry, request, settled, split, public, price, person, new, unit)
    _check_room(payment, run)
    return payment


def charge(payment: Payment, run: str, study: TrainingPlan, origin: Origin) -> DatasetSpending:
    """Charge a run to its file, before the first answer; once, so that a resumed run pays nothing more."""
    payment.ledger.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    name, request = payment.settled.found.path.name, payment.request
    ledger = open_settled(
        payment.registry,
        payment.settled,
        payment.ledger,
        lambda: begin_open(name, payment.records, request.delta, request.accountant),
    )
    try:
        payment.registry.keep_split(payment.settled.found.fingerprint, payment.split)
        if payment.public is not None:
            payment.registry.note_public(payment.public)
        with payment.registry.exclusive():
            _pay(payment, ledger, run, study, origin)
        return _spending(_of_run(payment, ledger.state()), payment.ledger)
    finally:
        ledger.close()


def _spending(book: LedgerState, ledger: Path) -> DatasetSpending:
    lost = lost_in_all(book)
    return DatasetSpending(
        ledger=str(ledger),
        epsilon=lost.epsilon,
        delta=lost.delta,
        budget=None if undeclared(book) else book.guarantee.epsilon,
        studies=len(book.studies),
        weakness=weakness(lost),
        unit=book.unit_words,
    )


def _query(run: str) -> str:
    return f"run {run}"


def _pay(payment: Payment, ledger: SqliteLedger, run: str, study: TrainingPlan, origin: Origin) -> None:
    """Check once more, because other runs may have paid since; then charge."""
    if _query(run) in ledger.state().queries:
        return
    declared = _require_room(payment, _of_run(payment, ledger.state()))
    if declared is not None:
        ledger.open_epoch(declared.guarantee, declared.budgets, payment.person.name)
    name = _query(run)
    terms = study.terms
    about = (name, origin.name, origin.learner, payment.person.name, terms.kind, origin.public, terms.unit)
    blocks = block_of_file(ledger.state(), payment.records)
    ledger.enroll(Enrolled(*about, blocks=blocks, person=terms.person, axes=len(terms.axes)))
    ledger.reserve(name, terms.digest(), payment.price, name, payment.price)
    ledger.settle()


def book_after(payment: Payment, before: LedgerState | None) -> LedgerState:
    """The book of the records as it would stand after this run; nothing is written.

    Args:
        payment: what the run costs.
        before: as it would stand after other runs; None for as it stands now.

    Raises:
        LedgerRefusal: the records could not pay then.
    """
    book = _book_now(payment) if before is None else before
    declared = _require_room(payment, book)
    if declared is not None:
        book = replace(_declared(book, declared), guarantee=declared.guarantee)
    return after_spending(book, payment.price)


def _check_room(payment: Payment, run: str | None) -> None:
    """Whether the records can pay for the run, under the budget that they have or that the options declare."""
    book = _book_now(payment)
    if run is None or _query(run) not in book.queries:
        _require_room(payment, book)


def _require_room(payment: Payment, book: LedgerState) -> Declaration | None:
    """The budget to declare, if any, under which the records can pay for the run."""
    request = payment.request
    unit = payment.unit, payment.request.person or ""
    book.require_unit(*unit)
    require_counted(book.blocks, book.owner, *unit)
    require_people_known(book, payment.records)
    require_none_expired(book)
    if request.budget is not None:
        require_within(book, payment.price, Guarantee.of(request.budget, request.delta))
    declared = _declaration(payment, book)
    require_room(book if declared is None else _declared(book, declared), payment.price, str(payment.ledger))
    return declared


def _declaration(payment: Payment, book: LedgerState) -> Declaration | None:
    """The budget that the options declare, if nobody has declared one before."""
    request = payment.request
    if not undeclared(book):
        return None
    if request.budget is not None:
        return declare_total(book, Guarantee.of(request.budget, request.delta), payment.price)
    return None if request.ledgers is None else declare_spent_and(book, payment.price, request.delta)


def _declared(book: LedgerState, declared: Declaration) -> LedgerState:
    accounts = {
        measure: Account(Amount(nano, measure), spent_in(book, measure)) for measure, nano in declared.budgets.items()
    }
    return replace(book, accounts=accounts)


def _of_run(payment: Payment, book: LedgerState) -> LedgerState:
    """The book as far as the rows of this file are concerned: its block, if it is one and nobody is in two files."""
    return narrowed(book, block_of_file(book, payment.records) if payment.unit == "record" else ())


def _book_now(payment: Payment) -> LedgerState:
    """The book of the records as it stands; that of a new ledger if they have none."""
    dataset, request = payment.settled.dataset, payment.request
    if dataset is None:
        return open_state(begin_open("", "", request.delta, request.accountant))[0]
    ledger = open_registered(payment.registry, dataset)
    try:
        return _of_run(payment, ledger.state())
    finally:
        ledger.close()
