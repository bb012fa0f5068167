"""What an owner's process tells while it serves: what changed, in words, and every query with its price.

Prices follow from the terms and the ledger. No number here was computed from a record.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from copriv.owner.ledger_state import LedgerState
from copriv.owner.owner import account_of
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.workspace import Contact, OwnerWorkspace
from copriv.privacy.guarantee import NANO, Measure
from copriv.protocol.messages import Kind
from copriv.protocol.text import plain
from copriv.runtime.events import Note
from copriv.runtime.network_events import Replied, TellNetwork

_SECONDS_BETWEEN_NOTES = 1.0
_LONGEST_WORDS = 1000
_KINDS: tuple[Kind, ...] = ("gradient", "moments", "loss")


@dataclass(slots=True)
class OwnerLog:
    """Events for whoever listens and, now and then, a note in the folder.

    Args:
        home: the owner's folder.
        ledger: its account, which is open.
        report: is told everything.
        replies: how many queries this session had.
        spent: what the study had cost when the last of them was answered, in billionths.
        last_words: so that nothing is told twice in a row.
        last_note: when the folder was last written to.
    """

    home: OwnerWorkspace
    ledger: SqliteLedger
    report: TellNetwork
    replies: int = 0
    spent: int = field(init=False)
    last_words: str = ""
    last_note: float = field(default_factory=lambda: -_SECONDS_BETWEEN_NOTES)

    def __post_init__(self) -> None:
        """Begin with what the study has cost before."""
        self.spent = _spent(self.ledger.state(), self.home.study.terms.digest())

    def tell(self, words: str) -> None:
        """Something changed."""
        if words != self.last_words:
            shown = plain(words, most=_LONGEST_WORDS)
            self.report(Note(shown))
            self.last_words = words
            self._note(shown)

    def contact(self) -> None:
        """A query was replied to."""
        self.replies += 1
        self.last_words = ""
        self.report(self._replied())
        if time.monotonic() - self.last_note >= _SECONDS_BETWEEN_NOTES:
            self._note(f"{self.replies} queries in this session")

    def _replied(self) -> Replied:
        book, before = self.ledger.state(), self.spent
        self.spent = _spent(book, self.home.study.terms.digest())
        measure: Measure = "epsilon" if self.home.enrollment.guarantee.pure else "rho"
        account = book.accounts.get(measure)
        left = None if account is None or account.open else account.left / NANO
        return Replied(self.replies, (self.spent - before) / NANO, self.spent / NANO, left, measure)

    def _note(self, words: str) -> None:
        self.last_note = time.monotonic()
        self.home.note_contact(Contact(datetime.now(UTC).isoformat(timespec="seconds"), words))


def _spent(book: LedgerState, study: str) -> int:
    """What a study has cost, over all kinds of questions."""
    return sum(map(book.spent_by, {account_of(study, kind) for kind in _KINDS}))
