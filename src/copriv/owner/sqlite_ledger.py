"""A ledger on disk: SQLite with full synchronisation, so that a charge survives a kill or a power cut.

Every change is one transaction that takes the write lock first and reads what other processes have appended. A charge
is written before a record is touched, so that no kill loses it; charge and answer are on the disk, in the main file
itself, before the answer leaves, so that no power cut and no copy of the main file alone loses either. Entries can
neither be changed nor removed, and the database itself refuses to hold more spending than budget. A ledger is created
once, explicitly, and appears under its name complete or not at all; opening never creates one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from copriv.entropy import token
from copriv.errors import CoprivError, LedgerFailure, LedgerRefusal
from copriv.owner.block_accounts import altered_people
from copriv.owner.entries import Answered, Block, Charge, Enrolled, Entry, Expired, Opening, Renewed
from copriv.owner.format_1 import is_format_1, take_over
from copriv.owner.ledger import Stored
from copriv.owner.ledger_files import discard, identity, require_no_remains, synchronise_directory
from copriv.owner.ledger_state import LedgerState, append, fold_entries, open_state
from copriv.owner.ledger_tables import FORMAT, WITH_BLOCKS, block_rows, connect, guarded, insert, people_of, write_all
from copriv.owner.registry_store import known_mark
from copriv.owner.watermark import Watermark
from copriv.privacy.guarantee import Amount, Guarantee, Measure

Connect: TypeAlias = Callable[[Path], Any]

# Nothing leaves before `store` or `settle` has waited for the disk, so a charge need not. But the log begins anew with
# it, and without the wait for its head that NORMAL has, a power cut could mix it with what the main file has already.
_CHARGING = "NORMAL"
_PATIENCE = 30.0


def now() -> str:
    """This second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class SqliteLedger:
    """The durable account of one dataset.

    Args:
        path: the ledger's file; it must exist.
        connect: how to open it; tests of power loss bring their own.
        draw: a fresh receipt.
        marks: the high-water mark of the ledger with a given id, if it has one.
    """

    def __init__(
        self,
        path: Path,
        connect: Connect = connect,
        draw: Callable[[], str] = token,
        marks: Callable[[str], Watermark | None] = known_mark,
    ) -> None:
        if not path.is_file():
            raise LedgerFailure(
                f"there is no ledger {path}",
                remedy="restore it, or make one with `copriv ledger init`; answering never creates one",
                value=str(path),
            )
        self._path, self._draw = path, draw
        self._mark: Watermark | None = None
        with _failures(path):
            self._connection = connect(path)
            try:
                self._identity = identity(path)
                self._settle_format()
                self._state = self._read()
                self.keep_mark(marks(self._state.id))
            except BaseException:
                self.close()
                raise

    @classmethod
    def create(cls, path: Path, opening: Opening) -> SqliteLedger:
        """Make a new ledger; an existing file is never touched."""
        if path.exists():
            raise _exists(path)
        require_no_remains(path)
        draft = path.with_name(f".{path.name}.{os.getpid()}.new")
        with _failures(path):
            discard(draft)
            draft.touch(mode=0o600)
            try:
                _fill(draft, opening)
                os.link(draft, path)
            except FileExistsError as problem:
                raise _exists(path) from problem
            finally:
                discard(draft)
            synchronise_directory(path.parent)
        return cls(path)

    def state(self) -> LedgerState:
        """Budgets, spending, dataset and receipts, including what other processes have appended."""
        with _failures(self._path):
            self._catch_up()
        return self._state

    def reserve(self, query: str, question: str, amount: Amount, study: str, allowance: Amount) -> Stored | None:
        """Charge a query before it is answered."""
        with self._waiting(_CHARGING):
            charged = self._append(lambda state: state.charge(query, question, amount, study, allowance, now()))
        if charged is not None:
            return None
        receipt = self._state.queries[query].answer
        if receipt is None:
            return None
        with _failures(self._path):
            self._settle_in_main_file()  # whoever stored it may have been killed before
        return Stored(self.answer_to(query), receipt)

    def store(self, query: str, payload: bytes) -> str:
        """Keep the answer to a charged query."""
        receipt = self._draw()
        with self._waiting("NORMAL"):  # settling waits for the disk, so the commit before it need not
            self._append(lambda state: state.answer(query, payload, receipt, now()), payload)
        return receipt

    def stored_answer(self, question: str) -> bytes | None:
        """The newest stored answer to a question."""
        query = self.state().answers.get(question)
        return None if query is None else self.answer_to(query)

    def witnesses(self, receipt: str) -> bool:
        """Whether this ledger has given this receipt."""
        return receipt in self.state().receipts

    def stood_at(self, sequence: int, head: str) -> bool:
        """Whether the chain of this ledger passes through this entry; if not, it was rolled back or replaced."""
        if not 0 < sequence < 1 << 63:
            return False
        with _failures(self._path):
            row = self._connection.execute("SELECT head FROM entry WHERE sequence = ?", (sequence,)).fetchone()
        return row is not None and row[0] == head

    def settle(self) -> None:
        """Have everything on the disk, in the main file: where a charge is not followed by its answer."""
        with _failures(self._path):
            self._settle_in_main_file()
            if self._mark is not None:  # never ahead of what a power cut leaves
                self._mark.raise_to(self._state.sequence, self._state.head)

    def enroll(self, enrolled: Enrolled) -> None:
        """Name a study that may be charged from now on; once is enough."""
        self._append(lambda state: state.enroll(enrolled, now()))

    def open_epoch(self, guarantee: Guarantee, budgets: Mapping[Measure, int], signed_off_by: str) -> None:
        """Change the guarantee; the spending carries over."""
        self._append(lambda state: state.open_epoch(guarantee, budgets, signed_off_by, now()))

    def open_version(self, dataset: str, signed_off_by: str) -> None:
        """Take over a changed dataset with the spending of the old one."""
        self._append(lambda state: state.open_version(dataset, signed_off_by, now()))

    def open_block(self, block: Block, people: Iterable[bytes] = ()) -> None:
        """Add a block with the keyed ids of those who arrive in it, in one transaction; once is enough."""
        self._append(lambda state: state.open_block(block, now()), people=people)

    def change_block(self, policy: Renewed | Expired) -> None:
        """Put on record that a person gives a block a larger budget, or has it read no more."""
        self._append(lambda state: state.change_block(policy, now()))

    def people(self) -> dict[bytes, str]:
        """The block of everybody who ever arrived, by keyed id; checked, because whoever is forgotten seems new."""
        blocks = self.state().blocks
        with _failures(self._path):
            found = people_of(self._connection)
            forgotten = altered_people(found, blocks)
            if forgotten is not None:
                raise _damaged(self._path, f"the people of the block {forgotten!r} are not those of its entry")
            return found

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """All entries in order, or those after one, each checked against its stored seal."""
        yield from self._entries_after(after)

    def answer_to(self, query: str) -> bytes:
        """The bytes of an answer as they were kept; checked, because nothing else may leave under its id."""
        asked = self._state.queries[query]
        with _failures(self._path):
            statement = "SELECT content FROM entry WHERE sequence = ?"
            row = self._connection.execute(statement, (asked.sequence,)).fetchone()
            entry = None if row is None else msgspec.json.decode(row[0], type=Entry)
            if entry is None or not isinstance(entry.body, Answered) or entry.body.receipt != asked.answer:
                raise _damaged(self._path, f"entry {asked.sequence} was changed")
            return self._checked_payload(entry.body)

    def verify(self) -> int:
        """Check the chain, the accounts and every stored answer; the number of entries, or a failure."""
        with _failures(self._path):
            state = self._read()
            for entry in self._entries_after(0):
                if isinstance(entry.body, Answered):
                    self._checked_payload(entry.body)
        self.people()
        return state.sequence

    def keep_mark(self, mark: Watermark | None) -> None:
        """Keep a high-water mark from now on; a ledger that is behind it, or went another way, is refused."""
        if mark is None:
            return
        if self._mark is not None:
            self._mark.close()
        self._mark = mark
        self._check_mark()
        self.settle()

    def close(self) -> None:
        """Let go of the file, and of the mark."""
        self._connection.close()
        if self._mark is not None:
            self._mark.close()

    def _settle_format(self) -> None:
        """Take a ledger of format 1 over, in one transaction; refuse one that this version cannot read."""
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version in (FORMAT, WITH_BLOCKS):
            return
        if version != 0 or not is_format_1(self._connection):
            raise LedgerFailure(
                f"the ledger {self._path} is of format {version}, or none",
                remedy=f"this version reads format {FORMAT} and takes over format 1; use a newer version",
                value=version,
            )
        with self._transaction():
            if is_format_1(self._connection):
                entries, payloads = take_over(self._connection)
                write_all(self._connection, entries, payloads)
        self._settle_in_main_file()

    def _read(self) -> LedgerState:
        """Fold the whole ledger as it stands at one moment, and compare with what the database guards."""
        self._connection.execute("BEGIN")
        try:
            state = fold_entries(self._entries_after(0))
            accounts = guarded(self._connection)
            ending = self._connection.execute("SELECT sequence, head, answers FROM ending").fetchone()
            answers = self._connection.execute("SELECT count(*) FROM payload").fetchone()[0]
        finally:
            self._connection.execute("ROLLBACK")
        counted = sorted((measure, held.budget.nano, held.spent) for measure, held in state.accounts.items())
        answered = sum(asked.answer is not None for asked in state.queries.values())
        if accounts != (counted, block_rows(state)):
            raise _damaged(self._path, "its accounts do not agree with its entries")
        if ending is None or tuple(ending) != (state.sequence, state.head, answers) or answers != answered:
            raise _damaged(self._path, "its end is missing: it was cut short, or copied while it was written")
        return state

    def _catch_up(self) -> None:
        for entry in self._entries_after(self._state.sequence):
            self._state = append(self._state, entry)

    def _entries_after(self, sequence: int) -> Iterator[Entry]:
        statement = "SELECT content, head FROM entry WHERE sequence > ? ORDER BY sequence"
        for content, head in self._connection.execute(statement, (sequence,)):
            try:
                entry = msgspec.json.decode(content, type=Entry)
            except msgspec.DecodeError as problem:
                raise _damaged(self._path, "an entry cannot be read") from problem
            if entry.head != head:
                raise _damaged(self._path, f"entry {entry.sequence} was changed")
            yield entry

    def _append(
        self,
        propose: Callable[[LedgerState], Entry | None],
        payload: bytes | None = None,
        people: Iterable[bytes] = (),
    ) -> Entry | None:
        """Append what the newest state proposes, if anything; it is in the main file before this returns."""
        with _failures(self._path):
            with self._transaction():
                self._require_in_place()
                self._catch_up()
                self._check_mark()
                entry = propose(self._state)
                after = self._state
                if entry is not None:
                    after = insert(self._connection, entry, self._state, payload, people)
            self._state = after
            if entry is not None and not isinstance(entry.body, Charge):  # a charge is settled with its answer
                self.settle()
        return entry

    def _check_mark(self) -> None:
        if self._mark is not None:
            self._mark.check(self._state.sequence, self.stood_at)

    def _settle_in_main_file(self) -> None:
        """Move the log into the main file, and wait until it is on the disk there; others may be moving it too."""
        deadline, pause = time.monotonic() + _PATIENCE, 0.001
        while (row := self._connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone())[0] or row[1] != row[2]:
            if time.monotonic() > deadline:
                raise LedgerFailure(
                    f"the ledger {self._path} is being read by somebody who does not let go",
                    remedy="nothing was sent; end the other program, then start again",
                    value=str(self._path),
                )
            time.sleep(pause)
            pause = min(2 * pause, 0.05)

    def _payload(self, query: str) -> bytes:
        with _failures(self._path):
            row = self._connection.execute("SELECT bytes FROM payload WHERE query = ?", (query,)).fetchone()
        if row is None:
            raise _damaged(self._path, f"the answer to {query!r} is gone")
        return bytes(row[0])

    def _checked_payload(self, answered: Answered) -> bytes:
        payload = self._payload(answered.query)
        if hashlib.sha256(payload).hexdigest() != answered.payload:
            raise _damaged(self._path, f"the answer to {answered.query!r} was changed")
        return payload

    @contextmanager
    def _waiting(self, how: str) -> Iterator[None]:
        """How long commits wait for the disk, for a while."""
        with _failures(self._path):
            self._connection.execute(f"PRAGMA synchronous = {how}")
            try:
                yield
            finally:
                self._connection.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Lock, change, commit; whatever goes wrong, nothing of it is kept."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def _require_in_place(self) -> None:
        """A charge to a file that nobody will find again is none."""
        found = identity(self._path)
        if found is None or found != self._identity:
            raise LedgerFailure(
                f"the ledger {self._path} was moved, deleted or replaced while it was in use",
                remedy="nothing was sent; put the right one in its place, then start again",
                value=str(self._path),
            )


def _fill(path: Path, opening: Opening) -> None:
    _, entry = open_state(opening, now())
    connection = connect(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        write_all(connection, [entry], {})
        connection.execute("COMMIT")
    finally:
        connection.close()


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    """What the disk or the database says becomes one kind of failure, and so does what cannot be read as it should."""
    try:
        yield
    except CoprivError:
        raise
    except (sqlite3.Error, OSError, ValueError, TypeError, OverflowError) as problem:
        raise LedgerFailure(
            f"the ledger {path} cannot be used: {problem}",
            remedy="nothing was sent; free or repair the disk, check that the file can be written, start again",
            value=str(path),
        ) from problem


def _damaged(path: Path, how: str) -> LedgerFailure:
    return LedgerFailure(
        f"the ledger {path} is damaged: {how}",
        remedy="do not answer from it; keep the file and ask whoever backs it up",
        value=how,
    )


def _exists(path: Path) -> LedgerRefusal:
    return LedgerRefusal(f"there is a ledger {path} already", remedy="use it, or choose another place", value=str(path))
