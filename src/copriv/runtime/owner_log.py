"""What an owner's process tells while it serves: what changed, in words, and every query with its outcome and price.

Prices follow from the terms and the ledger. No number here was computed from a record.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

from copriv.owner.ledger_state import LedgerState
from copriv.owner.owner import account_of
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.timed_ledger import TimedLedger
from copriv.owner.workspace import Contact, OwnerWorkspace, Vitals
from copriv.privacy.guarantee import NANO, Measure
from copriv.protocol.messages import Answer, Kind
from copriv.protocol.text import plain
from copriv.protocol.wire import decode_reply
from copriv.runtime.events import Note
from copriv.runtime.network_events import Replied, TellNetwork

_SECONDS_BETWEEN_NOTES = 1.0
_LONGEST_WORDS = 1000
_KINDS: tuple[Kind, ...] = ("gradient", "moments", "loss", "validation")


def now() -> str:
    """The time, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(slots=True)
class OwnerLog:
    """Events for whoever listens and, now and then, a note in the folder.

    Args:
        home: the owner's folder.
        ledger: its account, which is open.
        report: is told everything.
        disk: how long the owner's ledger has waited for the disk, if that is counted.
        replies: how many queries this session had.
        outcomes: the same, by what came of them.
        spent: what the study had cost when the last of them was answered, in billionths.
        last_words: so that nothing is told twice in a row.
        last_note: when the folder was last written to.
        since: when the session began.
    """

    home: OwnerWorkspace
    ledger: SqliteLedger
    report: TellNetwork
    disk: TimedLedger | None = None
    replies: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    spent: int = field(init=False)
    last_words: str = ""
    last_note: float = field(default_factory=lambda: -_SECONDS_BETWEEN_NOTES)
    since: str = field(default_factory=now)

    def __post_init__(self) -> None:
        """Begin with what the study has cost before."""
        self.spent = _spent(self.ledger.state(), self.home.study.terms.digest())
        self.home.note_vitals(self.vitals())

    def vitals(self) -> Vitals:
        """What was counted in this session."""
        refusals = {reason: count for reason, count in sorted(self.outcomes.items()) if reason != "answer"}
        waits, seconds = (self.disk.waits, round(self.disk.seconds, 6)) if self.disk is not None else (0, 0.0)
        return Vitals(self.since, self.outcomes["answer"], refusals, waits, seconds)

    def tell(self, words: str) -> None:
        """Something changed."""
        if words != self.last_words:
            shown = plain(words, most=_LONGEST_WORDS)
            self.report(Note(shown))
            self.last_words = words
            self._note(shown)

    def contact(self, reply: bytes) -> None:
        """A query was replied to, with this."""
        self.replies += 1
        self.last_words = ""
        said = decode_reply(reply)
        outcome = "answer" if isinstance(said, Answer) else said.reason
        self.outcomes[outcome] += 1
        self.report(self._replied(outcome))
        if time.monotonic() - self.last_note >= _SECONDS_BETWEEN_NOTES:
            self._note(f"{self.replies} queries in this session")
        elif outcome != "answer":
            self.home.note_vitals(self.vitals())

    def _replied(self, outcome: str) -> Replied:
        book, before = self.ledger.state(), self.spent
        self.spent = _spent(book, self.home.study.terms.digest())
        measure: Measure = "epsilon" if self.home.enrollment.guarantee.pure else "rho"
        account = book.accounts.get(measure)
        left = None if account is None or account.open else account.left / NANO
        price, spent, unit = (self.spent - before) / NANO, self.spent / NANO, self.home.study.terms.unit_words
        return Replied(self.replies, price, spent, left, measure, outcome, unit)

    def _note(self, words: str) -> None:
        self.last_note = time.monotonic()
        self.home.note_contact(Contact(now(), words))
        self.home.note_vitals(self.vitals())


def _spent(book: LedgerState, study: str) -> int:
    """What a study has cost, over all kinds of questions."""
    return sum(map(book.spent_by, {account_of(study, kind) for kind in _KINDS}))
