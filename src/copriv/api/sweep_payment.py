"""Whether records can pay for a whole sweep with real noise: told and refused before the first training."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import msgspec

from copriv.api.settings import this_person
from copriv.api.sweep_cell import Cell, is_left_behind, is_started
from copriv.api.sweep_grid import Grid
from copriv.errors import BadInput, LedgerRefusal
from copriv.owner.dataset_ledger import Word, open_registered, settle
from copriv.owner.declaration import lost_in_all, undeclared
from copriv.owner.ledger_opening import require_left
from copriv.owner.registry import Registry
from copriv.owner.split import require_same_split
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import ADJACENCY, NANO, UNITS, Amount
from copriv.runtime.events import Note, Progress, Tell, silent
from copriv.runtime.local_dataset import book_after, check_payment
from copriv.runtime.local_folder import ledger_path, require_new
from copriv.runtime.local_load import Sources, has_data
from copriv.runtime.local_request import TrainRequest
from copriv.runtime.local_rows import look_up
from copriv.runtime.local_run import begin, prepare
from copriv.runtime.local_spec import make_spec

_SAID_ONCE = ("budget", "data", "public", "public_rows", "shuffle", "version_of", "unrelated", "ledgers")


def require_payable(cells: Sequence[Cell], sources: Sources, tell: Tell) -> None:
    """Tell the sum of ε, and refuse it if it is beyond what the records have left; nothing is written or spent.

    Then every training is planned, and pays in thought: whatever would stop one of them stops all of them now.

    Guarantees are added up: with δ, where answers add up more slowly, that is more than will be charged. Trainings that
    were interrupted are not counted: they may have paid, and each is checked by itself once more.
    """
    real = [cell for cell in cells if not cell.request.simulate]
    due = [cell for cell in real if not is_started(cell.request.out)]
    if not due:
        return
    for folder in (cell.request.out for cell in due):
        if folder is not None and not is_left_behind(folder):
            require_new(folder)
    price = sum(_price(cell.request, sources, tell) for cell in due)
    request = due[0].request
    unit = UNITS["person" if request.person else "record"]
    total = f"{len(due)} trainings with real noise cost at most ε = {_written(price)} for one {unit} ({ADJACENCY})"
    tell(Note(total))
    if not has_data(request, sources):
        return
    left = _left(request, sources, tell)
    if left is None:
        raise BadInput(
            f"{total}, and nobody has said how much these records may lose",
            remedy=f"say it: a budget of at least {_written(price)}, or simulate",
            value=_written(price),
        )
    if price > left:
        raise LedgerRefusal(
            f"{total}, and their budget has {_written(max(left, 0))} left",
            remedy="vary less, take fewer runs, or simulate",
            value=_written(price),
        )
    _require_each_payable(due, sources, tell)


def require_same_records(grid: Grid, requests: Sequence[TrainRequest]) -> None:
    """With real noise, refuse to vary what is said once about records: which they are, what is public, the budget."""
    shuffled = any(request.shuffle for request in requests)
    for name, values in grid.axes.items():
        if len(values) > 1 and (name in _SAID_ONCE or (name == "seed" and shuffled)):
            words = "the seed of a shuffle" if name == "seed" else name
            raise BadInput(
                f"{words} is varied with real noise, and is said once about records: the first training would be paid, "
                "and the next one refused",
                remedy=f"give one {name}, or simulate",
                value=name,
            )


def _require_each_payable(due: Sequence[Cell], sources: Sources, tell: Tell) -> None:
    """Plan every training, and let it pay in thought, one after the other: the budget, its currency, public rows."""
    person, book, split = this_person(), None, None
    owed: dict[Path, list[Amount]] = {}
    with Registry() as registry:
        for place, cell in enumerate(due):
            tell(Progress("checking that every training can be paid", place, len(due)))
            try:
                asked = msgspec.structs.replace(cell.request, out=None)
                job, intake, study = prepare(begin(asked, sources, tuple(cell.settings), person, silent))
                payment = check_payment(registry, job.request, sources, study, person, None, silent)
                require_same_split(split or payment.split, payment.split)
                book, split = book_after(payment, book), split or payment.split
            except (BadInput, LedgerRefusal) as problem:
                said = f"training {place + 1} of {len(due)} cannot be paid or run: {problem.problem}"
                raise type(problem)(said, remedy=problem.remedy, value=problem.value) from problem
            if job.request.ledgers is not None:
                for owner, commitment in zip(intake.owners, study.commitments, strict=True):
                    owed.setdefault(ledger_path(job.request.ledgers, owner.name), []).append(commitment.budget)
    for path, prices in owed.items():
        _require_shared(path, prices)


def _require_shared(path: Path, prices: Sequence[Amount]) -> None:
    """Refuse trainings that the ledger which they share cannot pay; a new one has what the first of them promises."""
    if len(prices) > 1 and not path.exists():
        raise LedgerRefusal(
            f"{len(prices)} trainings share the ledger {path}, which would be made for the first of them alone",
            remedy="leave out ledgers, so that each training has its own; the budget of the records holds for all",
            value=str(path),
        )
    if path.exists():
        with closing(SqliteLedger(path)) as ledger:
            for measure in {price.measure for price in prices}:
                total = sum(price.nano for price in prices if price.measure == measure)
                require_left(ledger.state(), Amount(total, measure))


def _price(request: TrainRequest, sources: Sources, tell: Tell) -> int:
    """The largest promise of any owner, in billionths of ε: no record is in two owners' parts."""
    spec = make_spec(request, sources.intake(request, tell))
    return max(guarantee.nano_epsilon for guarantee in spec.guarantees)


def _left(request: TrainRequest, sources: Sources, tell: Tell) -> int | None:
    """What the records may still lose, in billionths of ε; None if nobody has declared a budget."""
    person = this_person()
    with Registry() as registry:
        found = look_up(registry, request, sources, tell)
        word = Word(person.name, request.version_of, request.unrelated, person.ask)
        known = settle(registry, found, word, request.person or "").dataset
        said = None if request.budget is None else int(Decimal(request.budget) * NANO)
        if known is None:
            return said
        ledger = open_registered(registry, known)
        try:
            book = ledger.state()
        finally:
            ledger.close()
    spent = sum(account.spent for account in book.accounts.values()) and lost_in_all(book).nano_epsilon
    budgets = [said, None if undeclared(book) else book.guarantee.nano_epsilon]
    return min((budget - spent for budget in budgets if budget is not None), default=None)


def _written(nano: int) -> str:
    return f"{nano / NANO:g}"
