"""Whether records can pay for a whole sweep with real noise: told and refused before the first training."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from copriv.api.settings import this_person
from copriv.api.sweep_cell import Cell
from copriv.errors import BadInput, LedgerRefusal
from copriv.owner.dataset_ledger import Word, open_registered, settle
from copriv.owner.declaration import lost_in_all, undeclared
from copriv.owner.registry import Registry
from copriv.privacy.guarantee import ADJACENCY, NANO, UNIT
from copriv.runtime.events import Note, Tell
from copriv.runtime.local_load import Sources, has_data
from copriv.runtime.local_request import TrainRequest
from copriv.runtime.local_rows import look_up
from copriv.runtime.local_spec import make_spec


def require_payable(cells: Sequence[Cell], sources: Sources, tell: Tell) -> None:
    """Tell the sum of ε, and refuse it if it is beyond what the records have left; nothing is written or spent.

    Guarantees are added up: with δ, where answers add up more slowly, that is more than will be charged. Trainings that
    were interrupted are not counted: they may have paid, and each is checked by itself once more.
    """
    real = [cell for cell in cells if not cell.request.simulate]
    due = [cell for cell in real if cell.request.out is None or not (cell.request.out / "start.json").is_file()]
    if not due:
        return
    price = sum(_price(cell.request, sources, tell) for cell in due)
    total = f"{len(due)} trainings with real noise cost at most ε = {_written(price)} for one {UNIT} ({ADJACENCY})"
    tell(Note(total))
    request = due[0].request
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


def _price(request: TrainRequest, sources: Sources, tell: Tell) -> int:
    """The largest promise of any owner, in billionths of ε: no record is in two owners' parts."""
    spec = make_spec(request, sources.intake(request, tell))
    return max(guarantee.nano_epsilon for guarantee in spec.guarantees)


def _left(request: TrainRequest, sources: Sources, tell: Tell) -> int | None:
    """What the records may still lose, in billionths of ε; None if nobody has declared a budget."""
    person = this_person()
    with Registry() as registry:
        found = look_up(registry, request, sources, tell)
        known = settle(registry, found, Word(person.name, request.version_of, request.unrelated, person.ask)).dataset
        said = None if request.budget is None else int(Decimal(request.budget) * NANO)
        if known is None:
            return said
        ledger = open_registered(registry, known)
        try:
            book = ledger.book()
        finally:
            ledger.close()
    spent = sum(account.spent for account in book.accounts.values()) and lost_in_all(book).nano_epsilon
    budgets = [said, None if undeclared(book) else book.guarantee.nano_epsilon]
    return min((budget - spent for budget in budgets if budget is not None), default=None)


def _written(nano: int) -> str:
    return f"{nano / NANO:g}"
