"""The budget of a file in `copriv train`: recognise the records, check, charge once, and say what they lost in all.

Owners' rows are disjoint, and the owner column and the order of rows are public, which replacing a record keeps. So one
record is in one owner's part, and a run costs the file the largest promise of its owners, whatever the partition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from copriv.cli.person import asker, who
from copriv.cli.progress import bar
from copriv.cli.train_options import TrainOptions
from copriv.cli.train_origin import Origin
from copriv.cli.train_rows import check_public, wanted_split
from copriv.entropy import token
from copriv.errors import BadInput
from copriv.owner.dataset_ledger import Settled, Word, check_split, open_registered, open_settled, settle
from copriv.owner.declaration import (
    Declaration,
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
from copriv.owner.ledger_state import Account, LedgerState, open_book
from copriv.owner.registry import Found, Registry
from copriv.owner.split import Split
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.planning.training_plan import TrainingPlan
from copriv.privacy.guarantee import Amount, Guarantee
from copriv.privacy.weakness import weakness
from copriv.protocol.commitment import main_kind
from copriv.report.figures import DatasetSpending
from copriv.report.run_folder import ledger_path


@dataclass(frozen=True, slots=True)
class Payment:
    """What a run will cost its file, checked and not yet charged.

    Args:
        registry: the user's registry.
        options: of the run.
        settled: whose records they are.
        split: which rows are public.
        public: the file of public rows, if there is one.
        price: what the run costs.
        new: where a ledger is made if the records have none; its name is the file's and chance, and says nothing of
            what is in the file.
    """

    registry: Registry
    options: TrainOptions
    settled: Settled
    split: Split
    public: Found | None
    price: Amount
    new: Path

    @property
    def ledger(self) -> Path:
        """The ledger of the records; or where one is made, if they have none."""
        return self.new if self.settled.dataset is None else self.settled.dataset.ledger


def check_payment(
    registry: Registry, options: TrainOptions, seed: int, study: TrainingPlan, console: Console, run: str | None
) -> Payment:
    """Recognise the file, and refuse what its budget or the rows declared before do not allow; nothing is written.

    Args:
        registry: the user's registry.
        options: of the run.
        seed: of the run.
        study: as it was designed.
        console: where a person may be asked.
        run: the id of a run that is resumed, which may have paid already.
    """
    if options.data is None:
        raise BadInput("generated records have no budget", remedy="give --data")
    with bar(console, "recognising the records") as tell:
        found = registry.lookup(options.data, tell)
    settled = settle(registry, found, Word(who(), options.version_of, options.unrelated, asker(console)))
    split = wanted_split(registry, found, options, seed)
    check_split(registry, settled, split)
    public = None if options.public is None else check_public(registry, settled, split, options, console)
    price = max((commitment.budget for commitment in study.commitments), key=lambda amount: amount.nano)
    new = ledger_path(registry.folder / "ledgers", f"{options.data.stem} {token()[:16]}")
    payment = Payment(registry, options, settled, split, public, price, new)
    _check_room(payment, run)
    return payment


def charge(payment: Payment, run: str, study: TrainingPlan, origin: Origin) -> DatasetSpending:
    """Charge a run to its file, before the first answer; once, so that a resumed run pays nothing more."""
    payment.ledger.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path, options = payment.settled.found.path, payment.options
    ledger = open_settled(
        payment.registry,
        payment.settled,
        payment.ledger,
        lambda: begin_open(path.name, fingerprint_of_file(path), options.delta, options.accountant),
    )
    try:
        payment.registry.keep_split(payment.settled.found.fingerprint, payment.split)
        if payment.public is not None:
            payment.registry.note_public(payment.public)
        with payment.registry.exclusive():
            _pay(payment, ledger, run, study, origin)
        return _spending(ledger.book(), payment.ledger)
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
    )


def _query(run: str) -> str:
    return f"run {run}"


def _pay(payment: Payment, ledger: SqliteLedger, run: str, study: TrainingPlan, origin: Origin) -> None:
    """Check once more, because other runs may have paid since; then charge."""
    if _query(run) in ledger.book().queries:
        return
    declared = _require_room(payment, ledger.book())
    if declared is not None:
        ledger.open_epoch(declared.guarantee, declared.budgets, who())
    name = _query(run)
    asks = main_kind(study.terms)
    ledger.enroll(Enrolled(name, origin.name, origin.learner, who(), asks, origin.public))
    ledger.reserve(name, study.terms.digest(), payment.price, name, payment.price)
    ledger.settle()


def _check_room(payment: Payment, run: str | None) -> None:
    """Whether the records can pay for the run, under the budget that they have or that the options declare."""
    book = _book_now(payment)
    if run is None or _query(run) not in book.queries:
        _require_room(payment, book)


def _require_room(payment: Payment, book: LedgerState) -> Declaration | None:
    """The budget to declare, if any, under which the records can pay for the run."""
    options = payment.options
    if options.budget is not None:
        require_within(book, payment.price, Guarantee.of(options.budget, options.delta))
    declared = _declaration(payment, book)
    require_room(book if declared is None else _declared(book, declared), payment.price, str(payment.ledger))
    return declared


def _declaration(payment: Payment, book: LedgerState) -> Declaration | None:
    """The budget that the options declare, if nobody has declared one before."""
    options = payment.options
    if not undeclared(book):
        return None
    if options.budget is not None:
        return declare_total(book, Guarantee.of(options.budget, options.delta), payment.price)
    return None if options.ledgers is None else declare_spent_and(book, payment.price, options.delta)


def _declared(book: LedgerState, declared: Declaration) -> LedgerState:
    accounts = {
        measure: Account(Amount(nano, measure), spent_in(book, measure)) for measure, nano in declared.budgets.items()
    }
    return replace(book, accounts=accounts)


def _book_now(payment: Payment) -> LedgerState:
    """The book of the records as it stands; that of a new ledger if they have none."""
    dataset, options = payment.settled.dataset, payment.options
    if dataset is None:
        return open_book(begin_open("", "", options.delta, options.accountant))[0]
    ledger = open_registered(payment.registry, dataset)
    try:
        return ledger.book()
    finally:
        ledger.close()
