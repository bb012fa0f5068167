"""What the `copriv ledger` commands do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
import typer

from copriv.cli.person import who
from copriv.errors import BadInput, LedgerFailure
from copriv.owner.dataset_ledger import Word, dataset_at, open_settled, require_unknown, settle, take_version
from copriv.owner.declaration import declare_epoch
from copriv.owner.ledger_opening import begin, fingerprint_of_file, total_epsilon
from copriv.owner.ledger_state import LedgerState
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import ADJACENCY, UNIT, Amount, Guarantee, Measure, read_nano
from copriv.report.dataset_statement import book_weakness
from copriv.report.ledger_history import learner_name, study_name

_RECEIPT = re.compile(r"([0-9]{1,18}:)?[0-9a-f]{64}")


class AccountShown(msgspec.Struct):
    """One account of a ledger: billionths of ε for Laplace, of ρ for Gaussian noise; None if no budget is declared."""

    currency: str
    budget: int | None
    spent: int


class Standing(msgspec.Struct):
    """Where a budget stands, as it is shown."""

    ledger: str
    owner: str
    id: str
    epsilon: float | None
    delta: float
    unit: str
    adjacency: str
    accountant: str
    accounts: list[AccountShown]
    epsilon_spent: float
    answers: int
    studies: dict[str, int]
    receipt: str
    names: dict[str, str]
    weakness: str | None


def run_init(
    path: Path,
    owner: str,
    data: Path,
    epsilon: str,
    delta: float,
    accountant: Literal["pld", "zcdp"],
    pure: str | None,
    *,
    unrelated: bool,
    signed_off_by: str | None,
    as_json: bool,
) -> None:
    """Make a ledger, or register one that was made for this very file before and never registered."""
    if not path.parent.is_dir():
        raise BadInput(f"there is no folder {path.parent}", remedy="make it first", value=str(path.parent))
    words = f"a new ledger for {owner!r} in {path}"
    if path.exists():
        words = f"{path} was made for these records and never registered: it is taken over, with the promise it has"
    aside = 0 if pure is None else read_nano(pure)
    genesis = begin(owner, fingerprint_of_file(data), Guarantee.of(epsilon, delta), accountant, pure=aside)
    with Registry() as registry:
        found = registry.lookup(data)
        require_unknown(found)
        settled = settle(registry, found, Word(who(signed_off_by), unrelated=unrelated))
        made = open_settled(registry, settled, path, lambda: genesis)
    _tell(path, made.book(), words, as_json=as_json)
    made.close()


def run_show(paths: Sequence[Path], *, as_json: bool) -> None:
    """Show where budgets stand; as JSON one object, or a list of them if several ledgers are named."""
    standings = []
    for path in paths:
        with _opened(path) as ledger:
            standings.append(_standing(path, ledger.book()))
    if as_json:
        typer.echo(msgspec.json.encode(standings[0] if len(paths) == 1 else standings).decode())
        return
    for standing in standings:
        _print(standing, f"the ledger {standing.ledger}")


def run_verify(path: Path, data: Path | None, receipt: str | None, *, as_json: bool) -> None:
    """Check everything that can be checked."""
    with _opened(path) as ledger:
        entries = ledger.verify()
        if data is not None:
            ledger.book().require_dataset(fingerprint_of_file(data))
        if receipt is not None and not _knows(ledger, receipt):
            raise LedgerFailure(
                f"the ledger does not know the receipt {receipt}",
                remedy="an old copy was restored, or this is another ledger: find the right one before answering",
                value=receipt,
            )
        words = f"{path} is in order: {entries} entries, an unbroken chain, every answer as it was sent"
        _tell(path, ledger.book(), words, as_json=as_json)


def run_receipt(path: Path, *, as_json: bool) -> None:
    """Print where the ledger stands: number and seal of its last entry."""
    with _opened(path) as ledger:
        book = ledger.book()
    told = {"receipt": f"{book.sequence}:{book.head}", "sequence": book.sequence, "head": book.head}
    typer.echo(msgspec.json.encode(told).decode() if as_json else told["receipt"])


def run_epoch(
    path: Path, epsilon: str, delta: float | None, pure: str | None, signed_off_by: str, *, as_json: bool
) -> None:
    """Change the promise; δ and what is for Laplace noise stay as they are unless they are given."""
    with _opened(path) as ledger:
        book = ledger.book()
        total = Guarantee.of(epsilon, book.guarantee.delta if delta is None else delta)
        declared = declare_epoch(book, total, None if pure is None else read_nano(pure))
        ledger.open_epoch(declared.guarantee, declared.budgets, signed_off_by)
        _tell(path, ledger.book(), f"a new epoch, signed off by {signed_off_by}", as_json=as_json)


def run_moved(path: Path, *, as_json: bool) -> None:
    """Tell the registry where a ledger is now."""
    with Registry() as registry:
        dataset = dataset_at(registry, path)
    with _opened(path) as ledger:
        _tell(path, ledger.book(), f"the ledger of {dataset.name!r} is now {dataset.ledger}", as_json=as_json)


def run_version(path: Path, data: Path, signed_off_by: str, *, unrelated: bool, as_json: bool) -> None:
    """Take over a changed dataset."""
    with _opened(path) as ledger:
        with Registry() as registry:
            take_version(registry, ledger, path, data, Word(signed_off_by, unrelated=unrelated))
        _tell(path, ledger.book(), f"a new version of the dataset, signed off by {signed_off_by}", as_json=as_json)


@contextmanager
def _opened(path: Path) -> Iterator[SqliteLedger]:
    ledger = SqliteLedger(path)
    try:
        yield ledger
    finally:
        ledger.close()


def _knows(ledger: SqliteLedger, receipt: str) -> bool:
    """Whether the ledger has given this receipt to a learner, or once printed it as NUMBER:HEAD."""
    if not _RECEIPT.fullmatch(receipt):
        raise BadInput(
            f"{receipt!r} is not a receipt",
            remedy="give NUMBER:HEAD, as `copriv ledger receipt` prints it, or 64 digits, as a learner got it",
            value=receipt,
        )
    number, _, head = receipt.rpartition(":")
    return ledger.witnesses(receipt) or (bool(number) and ledger.stood_at(int(number), head))


def _standing(path: Path, book: LedgerState) -> Standing:
    undeclared = any(account.open for account in book.accounts.values())
    return Standing(
        ledger=str(path),
        owner=book.owner,
        id=book.id,
        epsilon=None if undeclared else book.guarantee.epsilon,
        delta=book.guarantee.delta,
        unit=UNIT,
        adjacency=ADJACENCY,
        accountant=book.accountant,
        accounts=[
            AccountShown(f"nano-{measure}", None if account.open else account.budget.nano, account.spent)
            for measure, account in book.accounts.items()
        ],
        epsilon_spent=total_epsilon(book),
        answers=len(book.queries),
        studies={study: amount.nano for study, amount in book.studies.items()},
        receipt=f"{book.sequence}:{book.head}",
        names={study: f"{study_name(book, study)}, {learner_name(book, study)}" for study in book.enrolled},
        weakness=book_weakness(book),
    )


def _tell(path: Path, book: LedgerState, words: str, *, as_json: bool) -> None:
    told = _standing(path, book)
    if as_json:
        typer.echo(msgspec.json.encode(told).decode())
    else:
        _print(told, words)


def _print(told: Standing, words: str) -> None:
    promised = "no budget is declared: spending is noted" if told.epsilon is None else f"ε = {told.epsilon:g}"
    typer.echo(words)
    rows = [
        ("owner", told.owner),
        ("promised", f"{promised}, δ = {told.delta:g} for any one {told.unit} ({told.adjacency})"),
        ("spent", f"ε = {told.epsilon_spent:.6g} in {told.answers} answers, {len(told.studies)} studies"),
    ]
    rows.extend(("account", f"{_account_words(account)} ({told.accountant})") for account in told.accounts)
    rows.extend(("study", f"{name} ({study[:12]})") for study, name in told.names.items())
    if told.weakness:
        rows.append(("beware", told.weakness))
    for name, value in (*rows, ("receipt", told.receipt)):
        typer.echo(f"  {name:<9} {value}")


def _account_words(account: AccountShown) -> str:
    """What an account has spent and may spend, in ε or ρ."""
    measure: Measure = "epsilon" if account.currency == "nano-epsilon" else "rho"
    limit = "no limit" if account.budget is None else Amount(account.budget, measure).words
    return f"{Amount(account.spent, measure).words} of {limit}"
