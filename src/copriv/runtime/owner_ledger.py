"""What the `copriv ledger` commands do to a ledger; each returns how the ledger stands afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from copriv.errors import BadInput, LedgerFailure
from copriv.owner.dataset_ledger import Word, dataset_at, open_settled, require_unknown, settle, take_version
from copriv.owner.declaration import declare_epoch
from copriv.owner.ledger_opening import begin, fingerprint_of_file
from copriv.owner.ledger_state import LedgerState
from copriv.owner.registry import Dataset, Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import Guarantee, read_nano

_RECEIPT = re.compile(r"([0-9]{1,18}:)?[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLedger:
    """A ledger to be made.

    Args:
        path: its file.
        owner: whose budget it is.
        data: the file of the records; the ledger keeps its fingerprint.
        guarantee: promised about any one record, in all.
        accountant: how answers add up, with δ.
        pure: with δ, the part of ε set aside for Laplace noise, as people write it.
        word: what a person says about records that look like known ones.
    """

    path: Path
    owner: str
    data: Path
    guarantee: Guarantee
    accountant: Accountant
    pure: str | None
    word: Word


@contextmanager
def opened(path: Path) -> Iterator[SqliteLedger]:
    """A ledger for as long as the block lasts."""
    with closing(SqliteLedger(path)) as ledger:
        yield ledger


def make_ledger(wanted: NewLedger) -> LedgerState:
    """Make a ledger, or register one that was made for this very file before and never registered."""
    folder = wanted.path.parent
    if not folder.is_dir():
        raise BadInput(f"there is no folder {folder}", remedy="make it first", value=str(folder))
    aside = 0 if wanted.pure is None else read_nano(wanted.pure)
    dataset = fingerprint_of_file(wanted.data)
    opening = begin(wanted.owner, dataset, wanted.guarantee, wanted.accountant, pure=aside)
    with Registry() as registry:
        found = registry.lookup(wanted.data)
        require_unknown(found)
        settled = settle(registry, found, wanted.word)
        with closing(open_settled(registry, settled, wanted.path, lambda: opening)) as made:
            return made.state()


def verify_ledger(path: Path, data: Path | None, receipt: str | None) -> tuple[int, LedgerState]:
    """Check everything that can be checked; how many entries there are."""
    with opened(path) as ledger:
        entries = ledger.verify()
        if data is not None:
            ledger.state().require_dataset(fingerprint_of_file(data))
        if receipt is not None and not _knows(ledger, receipt):
            raise LedgerFailure(
                f"the ledger does not know the receipt {receipt}",
                remedy="an old copy was restored, or this is another ledger: find the right one before answering",
                value=receipt,
            )
        return entries, ledger.state()


def change_promise(path: Path, epsilon: str, delta: float | None, pure: str | None, by: str) -> LedgerState:
    """Begin a new epoch; δ and what is for Laplace noise stay as they are unless they are given."""
    with opened(path) as ledger:
        book = ledger.state()
        total = Guarantee.of(epsilon, book.guarantee.delta if delta is None else delta)
        declared = declare_epoch(book, total, None if pure is None else read_nano(pure))
        ledger.open_epoch(declared.guarantee, declared.budgets, by)
        return ledger.state()


def note_move(path: Path) -> tuple[Dataset, LedgerState]:
    """Tell the registry where a ledger is now."""
    with Registry() as registry:
        dataset = dataset_at(registry, path)
    with opened(path) as ledger:
        return dataset, ledger.state()


def change_version(path: Path, data: Path, word: Word) -> LedgerState:
    """Take over a changed dataset, with everything that was spent on the old one."""
    with opened(path) as ledger:
        with Registry() as registry:
            take_version(registry, ledger, path, data, word)
        return ledger.state()


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
