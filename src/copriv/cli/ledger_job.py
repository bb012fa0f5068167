"""What the `copriv ledger` commands do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
import typer

from copriv.errors import BadInput, LedgerFailure
from copriv.owner.book import Book
from copriv.owner.genesis import begin, budget_of, fingerprint_of_file
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.calibration import spent_epsilon
from copriv.privacy.guarantee import ADJACENCY, UNIT, Amount, Guarantee
from copriv.protocol.messages import Receipt


class Standing(msgspec.Struct):
    """Where a budget stands, as it is shown."""

    owner: str
    dataset: str
    epsilon: float
    delta: float
    unit: str
    adjacency: str
    accountant: str
    currency: str
    budget: int
    spent: int
    epsilon_spent: float
    answers: int
    studies: dict[str, int]
    sequence: int
    head: str


def run_init(
    path: Path,
    owner: str,
    data: Path,
    epsilon: str,
    delta: float,
    accountant: Literal["pld", "zcdp"],
    *,
    as_json: bool,
) -> None:
    """Make a ledger."""
    if not path.parent.is_dir():
        raise BadInput(f"there is no folder {path.parent}", remedy="make it first", value=str(path.parent))
    genesis = begin(owner, fingerprint_of_file(data), Guarantee.of(epsilon, delta), accountant)
    made = SqliteLedger.create(path, genesis)
    _tell(made.book(), f"a new ledger for {owner!r} in {path}", as_json=as_json)
    made.close()


def run_show(path: Path, *, as_json: bool) -> None:
    """Show where the budget stands."""
    with _opened(path) as ledger:
        _tell(ledger.book(), f"the ledger {path}", as_json=as_json)


def run_verify(path: Path, data: Path | None, receipt: str | None, *, as_json: bool) -> None:
    """Check everything that can be checked."""
    with _opened(path) as ledger:
        entries = ledger.verify()
        if data is not None:
            ledger.book().require_dataset(fingerprint_of_file(data))
        if receipt is not None and not ledger.witnesses(_read_receipt(receipt)):
            raise LedgerFailure(
                f"the ledger does not know the receipt {receipt}",
                remedy="an old copy was restored, or this is another ledger: find the right one before answering",
                value=receipt,
            )
        words = f"{path} is in order: {entries} entries, an unbroken chain, every answer as it was sent"
        _tell(ledger.book(), words, as_json=as_json)


def run_receipt(path: Path, *, as_json: bool) -> None:
    """Print the newest receipt."""
    with _opened(path) as ledger:
        newest = ledger.book().receipt
    told = {"sequence": newest.sequence, "head": newest.head}
    typer.echo(msgspec.json.encode(told).decode() if as_json else f"{newest.sequence}:{newest.head}")


def run_epoch(path: Path, epsilon: str, signed_off_by: str, *, as_json: bool) -> None:
    """Change the promise."""
    with _opened(path) as ledger:
        book = ledger.book()
        guarantee = Guarantee.of(epsilon, book.guarantee.delta)
        ledger.open_epoch(guarantee, budget_of(guarantee, book.accountant), signed_off_by)
        _tell(ledger.book(), f"a new epoch, signed off by {signed_off_by}", as_json=as_json)


def run_version(path: Path, data: Path, signed_off_by: str, *, as_json: bool) -> None:
    """Take over a changed dataset."""
    with _opened(path) as ledger:
        ledger.open_version(fingerprint_of_file(data), signed_off_by)
        _tell(ledger.book(), f"a new version of the dataset, signed off by {signed_off_by}", as_json=as_json)


@contextmanager
def _opened(path: Path) -> Iterator[SqliteLedger]:
    ledger = SqliteLedger(path)
    try:
        yield ledger
    finally:
        ledger.close()


def _read_receipt(text: str) -> Receipt:
    number, _, head = text.partition(":")
    if not number.isdigit() or len(head) != 64:
        raise BadInput(f"{text!r} is not a receipt", remedy="give NUMBER:HEAD, as `copriv ledger receipt` prints it")
    return Receipt(int(number), head)


def _standing(book: Book) -> Standing:
    spent = Amount(book.spent, book.budget.measure)
    return Standing(
        owner=book.owner,
        dataset=book.dataset,
        epsilon=book.guarantee.epsilon,
        delta=book.guarantee.delta,
        unit=UNIT,
        adjacency=ADJACENCY,
        accountant=book.accountant,
        currency=f"nano-{book.budget.measure}",
        budget=book.budget.nano,
        spent=book.spent,
        epsilon_spent=spent_epsilon(spent, book.guarantee, book.accountant),
        answers=len(book.queries),
        studies=book.studies,
        sequence=book.receipt.sequence,
        head=book.receipt.head,
    )


def _tell(book: Book, words: str, *, as_json: bool) -> None:
    told = _standing(book)
    if as_json:
        typer.echo(msgspec.json.encode(told).decode())
        return
    typer.echo(words)
    for name, value in (
        ("owner", told.owner),
        ("dataset", told.dataset),
        ("promised", f"ε = {told.epsilon:g}, δ = {told.delta:g} for any one {told.unit} ({told.adjacency})"),
        ("spent", f"ε = {told.epsilon_spent:.6g} in {told.answers} answers, {len(told.studies)} studies"),
        ("account", f"{told.spent:,} of {told.budget:,} {told.currency} ({told.accountant})"),
        ("receipt", f"{told.sequence}:{told.head}"),
    ):
        typer.echo(f"  {name:<9} {value}")
