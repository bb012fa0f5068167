"""An owner's house, seen from inside: its folder and its ledger. What it shows is for the owner alone."""

from __future__ import annotations

import fcntl
import threading
import time
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from copriv.dashboard.live import Mark, mark_of
from copriv.errors import CoprivError
from copriv.owner.block_sheet import BlockShown, show_blocks
from copriv.owner.entries import Charge, Entry
from copriv.owner.fit import Fit, fit_of
from copriv.owner.ledger_opening import total_epsilon
from copriv.owner.ledger_state import LedgerState
from copriv.owner.owner import study_of
from copriv.owner.pause import Pause, read_pause
from copriv.owner.remaining import Remaining, remaining
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.workspace import Contact, OwnerWorkspace, Vitals, commitment_of, read_records
from copriv.privacy.guarantee import ADJACENCY, NANO, UNIT
from copriv.protocol.text import plain
from copriv.report.dataset_statement import book_weakness
from copriv.report.fit_lines import fit_lines
from copriv.report.ledger_history import LedgerEvent, history, learner_name, study_name
from copriv.runtime.owner_metrics import certificates_at, owner_metrics

PER_PAGE = 100
_SECONDS_BETWEEN_SUMS = 2.0
_PENDING = 50
_DAY = 86_400
_LONGEST_NAME, _LONGEST_WORDS = 120, 300


class AccountShown(msgspec.Struct):
    """One currency of the ledger, over all studies; budget and left are null if none is declared."""

    measure: str
    budget: float | None
    spent: float
    left: float | None


class StudySpent(msgspec.Struct):
    """What one study has had from these records."""

    study: str
    learner: str
    answers: int
    spent: float
    measure: str
    last: str


class FitShown(msgspec.Struct):
    """How the records compare with the public rows, if somebody has asked. Not private: it stays on this page."""

    state: str = "not asked"
    lines: list[str] = []
    fit: Fit | None = None


class OwnerShown(msgspec.Struct, kw_only=True):
    """An owner's house as it stands; unit and adjacency are those of every ε and ρ here."""

    owner: str
    study: str
    learner: str
    terms: str
    serving: bool
    paused: Pause | None
    epsilon: float | None
    delta: float
    epsilon_spent: float
    epsilon_left: float | None
    accounts: list[AccountShown]
    promised: float
    promised_delta: float
    study_spent: float
    study_left: float
    answers: int
    answers_left: int
    studies: list[StudySpent]
    history: list[LedgerEvent]
    events: int
    page: int
    pages: int
    vitals: Vitals | None
    contact: Contact | None
    certificates: dict[str, float]
    weakness: str | None
    model: bool
    fit: FitShown
    unit: str = UNIT
    adjacency: str = ADJACENCY
    blocks: list[BlockShown] = []


class OwnerView:
    """An owner's folder. It remembers what it has read: a memo, and not a value.

    Args:
        folder: where `copriv owner join` has made it.
    """

    def __init__(self, folder: Path) -> None:
        self.home = OwnerWorkspace(folder)
        self._ledger = SqliteLedger(Path(self.home.enrollment.ledger))
        self._entries: list[Entry] = []
        self._events: list[LedgerEvent] = []
        self._settled = 0
        self._sums: tuple[float, int, float, Remaining | None] = (-_SECONDS_BETWEEN_SUMS, -1, 0.0, None)
        self._fit = FitShown()
        self._one_at_a_time = threading.Lock()
        approval = self.home.approval()
        records = (approval.records if approval else 0) or 1
        self._commitment = commitment_of(self.home.enrollment, self.home.study.terms, records)

    def mark(self) -> Mark:
        """What changes when there is something new to see."""
        ledger = Path(self.home.enrollment.ledger)
        names = ("contact.json", "vitals.json", "paused.json", "model.json")
        marks = mark_of(ledger, ledger.with_name(f"{ledger.name}-wal"), *(self.home.folder / name for name in names))
        return (*marks, (len(self._fit.state), len(self._fit.lines)))

    def show(self, page: int = 1) -> OwnerShown:
        """The house as it stands now."""
        with self._one_at_a_time:
            return self._show(page)

    def metrics(self) -> str:
        """What is given to those that count."""
        with self._one_at_a_time:
            return owner_metrics(self.home, self._ledger.state(), self.home.vitals())

    def compare(self) -> None:
        """Read the records again, at home, and compare them with the public rows; in a thread of its own."""
        with self._one_at_a_time:
            if self._fit.state == "reading":
                return
            self._fit = FitShown("reading")
        threading.Thread(target=self._compare, daemon=True).start()

    def _compare(self) -> None:
        try:
            found = fit_of(self.home.study, read_records(self.home.enrollment, self.home.study).records)
            self._fit = FitShown("compared", [line.strip() for line in fit_lines(found)], found)
        except CoprivError as problem:
            self._fit = FitShown("not compared", [problem.problem, problem.remedy])
        except Exception as problem:  # noqa: BLE001 - whatever it was, the page must not wait for it for ever
            self._fit = FitShown("not compared", [f"something broke that should not: {type(problem).__name__}"])

    def _show(self, page: int) -> OwnerShown:
        home, book = self.home, self._read()
        terms, spent, left = home.study.terms, *self._sum(book)
        declared = not any(account.open for account in book.accounts.values())
        promised = book.guarantee.epsilon if declared else None
        pages = max(1, -(-len(self._events) // PER_PAGE))
        page = min(page, pages)
        newest = self._events[::-1][(page - 1) * PER_PAGE : page * PER_PAGE]
        return OwnerShown(
            owner=plain(home.enrollment.owner, _LONGEST_NAME),
            study=plain(terms.name, _LONGEST_NAME),
            learner=plain(terms.learner, _LONGEST_NAME),
            terms=terms.digest(),
            serving=_is_locked(home.folder / "serve.lock"),
            paused=read_pause(home.folder),
            epsilon=promised,
            delta=book.guarantee.delta,
            epsilon_spent=spent,
            epsilon_left=None if promised is None else max(promised - spent, 0.0),
            accounts=_accounts(book),
            promised=home.enrollment.guarantee.epsilon,
            promised_delta=home.enrollment.guarantee.delta,
            study_spent=left.epsilon_spent,
            study_left=left.epsilon_left,
            answers=left.answers,
            answers_left=left.answers_left,
            studies=self._studies(book),
            history=newest,
            events=len(self._events),
            page=page,
            pages=pages,
            vitals=home.vitals(),
            contact=home.last_contact(),
            certificates=_days(home),
            weakness=book_weakness(book),
            unit=terms.unit_words,
            model=(home.folder / "model.json").is_file(),
            fit=self._fit,
            blocks=show_blocks(book),
        )

    def _read(self) -> LedgerState:
        """What is new in the ledger, in one short look: whoever answers waits for readers that do not let go."""
        book = self._ledger.state()
        last = self._entries[-1].sequence if self._entries else 0
        self._entries += list(self._ledger.entries(last))
        kept = [event for event in self._events if event.number <= self._settled]
        self._events = kept + history(self._ledger, values=False, after=self._settled)
        pending = [event.number for event in self._events if event.event == "charge"]
        recent = [number for number in pending if number > book.sequence - _PENDING]
        self._settled = min(recent, default=book.sequence + 1) - 1
        return book

    def _sum(self, book: LedgerState) -> tuple[float, Remaining]:
        """ε of everything that was spent, and what is left for this study; worked out now and then."""
        at, sequence, spent, left = self._sums
        if left is None or (book.sequence != sequence and time.monotonic() - at >= _SECONDS_BETWEEN_SUMS):
            spent = total_epsilon(book)
            left = remaining(book, self._entries, self._commitment, self.home.study.terms.digest())
            self._sums = (time.monotonic(), book.sequence, spent, left)
        return spent, left

    def _studies(self, book: LedgerState) -> list[StudySpent]:
        """What each study has had, in the order of their first question."""
        charges = [entry.body for entry in self._entries if isinstance(entry.body, Charge)]
        spent: Counter[tuple[str, str]] = Counter()
        for charge in charges:
            spent[study_of(charge.study), charge.measure] += charge.nano
        answers = Counter(event.terms for event in self._events if event.event == "answer")
        last = {event.terms: event.date for event in self._events if event.terms}
        return [
            StudySpent(
                study_name(book, digest),
                learner_name(book, digest),
                answers[digest],
                nano / NANO,
                measure,
                last.get(digest, ""),
            )
            for (digest, measure), nano in spent.items()
        ]


def _accounts(book: LedgerState) -> list[AccountShown]:
    return [
        AccountShown(
            measure,
            None if account.open else account.budget.nano / NANO,
            account.spent / NANO,
            None if account.open else account.left / NANO,
        )
        for measure, account in book.accounts.items()
    ]


def _days(home: OwnerWorkspace) -> dict[str, float]:
    now = datetime.now(UTC)
    found: Mapping[str, str] = {each.holder: each.expires for each in certificates_at(home)}
    return {
        holder: round((datetime.fromisoformat(ends) - now).total_seconds() / _DAY, 3) for holder, ends in found.items()
    }


def _is_locked(path: Path) -> bool:
    """Whether an owner serves from the folder now."""
    if not path.is_file():
        return False
    with path.open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        return False
