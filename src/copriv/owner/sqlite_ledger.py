"""A ledger on disk: SQLite in WAL mode with full synchronisation, so that a charge survives a kill or a power cut.

Every change is one transaction that takes the write lock first and reads what other processes have appended. Entries
can neither be changed nor removed, and the database itself refuses to hold more spending than budget. A ledger is
created once, explicitly, and appears under its name complete or not at all; opening never creates one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from copriv.errors import CoprivError, LedgerFailure, LedgerRefusal
from copriv.owner.book import Answered, Book, Charge, Entry, Genesis, append, open_book, read_book
from copriv.owner.ledger import Stored
from copriv.privacy.guarantee import Amount, Guarantee
from copriv.protocol.messages import Receipt

Connect: TypeAlias = Callable[[Path], Any]

_MOST_ENTRIES = 1 << 63

_SCHEMA = (
    """CREATE TABLE entry (
    sequence INTEGER PRIMARY KEY,
    content  TEXT NOT NULL,
    head     TEXT NOT NULL
) STRICT""",
    """CREATE TABLE account (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    budget   INTEGER NOT NULL CHECK (budget > 0),
    spent    INTEGER NOT NULL CHECK (spent >= 0 AND spent <= budget)
) STRICT""",
    """CREATE TABLE payload (
    query TEXT PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    *(
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
        for table in ("entry", "payload")
        for verb in ("UPDATE", "DELETE")
    ),
)


def connect(path: Path) -> sqlite3.Connection:
    """A connection to an existing database: WAL, full synchronisation, explicit transactions."""
    address = path.absolute().as_uri() + "?mode=rw"
    # An owner answers one query at a time, but not always from the same thread.
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=30, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


class SqliteLedger:
    """The durable account of one dataset.

    Args:
        path: the ledger's file; it must exist.
        connect: how to open it; tests of power loss bring their own.
    """

    def __init__(self, path: Path, connect: Connect = connect) -> None:
        if not path.is_file():
            raise LedgerFailure(
                f"there is no ledger {path}",
                remedy="restore it, or make one with `copriv ledger init`; answering never creates one",
                value=str(path),
            )
        self._path = path
        with _failures(path):
            self._connection = connect(path)
            try:
                self._identity = _identity(path)
                self._book = self._read()
            except BaseException:
                self._connection.close()
                raise

    @classmethod
    def create(cls, path: Path, genesis: Genesis) -> SqliteLedger:
        """Make a new ledger; an existing file is never touched."""
        if path.exists():
            raise _exists(path)
        draft = path.with_name(f".{path.name}.{os.getpid()}.new")
        with _failures(path):
            _discard(draft)
            draft.touch(mode=0o600)
            try:
                _fill(draft, genesis)
                os.link(draft, path)
            except FileExistsError as problem:
                raise _exists(path) from problem
            finally:
                _discard(draft)
            _synchronise_directory(path.parent)
        return cls(path)

    def book(self) -> Book:
        """Budget, spending, dataset and the newest receipt, including what other processes have appended."""
        with _failures(self._path):
            self._catch_up()
        return self._book

    def reserve(self, query: str, question: str, amount: Amount, study: str, allowance: Amount) -> Stored | None:
        """Charge a query before it is answered."""
        with self._appending():
            entry = self._book.charge(query, question, amount, study, allowance)
            if entry is not None:
                self._insert(entry)
        if entry is not None:
            self._book = append(self._book, entry)
            return None
        receipt = self._book.queries[query].answer
        return None if receipt is None else self._stored(receipt)

    def store(self, query: str, payload: bytes) -> Receipt:
        """Keep the answer to a charged query."""
        with self._appending():
            entry = self._book.answer(query, payload)
            self._insert(entry)
            self._connection.execute("INSERT INTO payload VALUES (?, ?)", (query, payload))
        self._book = append(self._book, entry)
        return self._book.receipt

    def witnesses(self, receipt: Receipt) -> bool:
        """Whether this ledger once stood where the receipt says."""
        if not 0 < receipt.sequence < _MOST_ENTRIES:
            return False
        with _failures(self._path):
            row = self._connection.execute("SELECT head FROM entry WHERE sequence = ?", (receipt.sequence,)).fetchone()
        return row is not None and row[0] == receipt.head

    def open_epoch(self, guarantee: Guarantee, budget: Amount, signed_off_by: str) -> Receipt:
        """Change the guarantee; the spending carries over."""
        with self._appending():
            entry = self._book.open_epoch(guarantee, budget, signed_off_by)
            self._insert(entry)
            self._connection.execute("UPDATE account SET budget = ?", (budget.nano,))
        self._book = append(self._book, entry)
        return self._book.receipt

    def open_version(self, dataset: str, signed_off_by: str) -> Receipt:
        """Take over a changed dataset with the spending of the old one."""
        with self._appending():
            entry = self._book.open_version(dataset, signed_off_by)
            self._insert(entry)
        self._book = append(self._book, entry)
        return self._book.receipt

    def entries(self) -> Iterator[Entry]:
        """All entries in order, each checked against its stored head."""
        yield from self._entries_after(0)

    def verify(self) -> int:
        """Check the chain, the account and every stored answer; the number of entries, or a failure."""
        with _failures(self._path):
            book = self._read()
            for entry in self._entries_after(0):
                if isinstance(entry.body, Answered):
                    self._checked_payload(entry.body)
        return book.receipt.sequence

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _read(self) -> Book:
        """Fold the whole ledger as it stands at one moment, and compare with the account that the database guards."""
        self._connection.execute("BEGIN")
        try:
            book = read_book(self._entries_after(0))
            row = self._connection.execute("SELECT budget, spent FROM account").fetchone()
        finally:
            self._connection.execute("ROLLBACK")
        if row is None or tuple(row) != (book.budget.nano, book.spent):
            raise _damaged(self._path, "its account does not agree with its entries")
        return book

    def _catch_up(self) -> None:
        for entry in self._entries_after(self._book.receipt.sequence):
            self._book = append(self._book, entry)

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

    def _insert(self, entry: Entry) -> None:
        content = msgspec.json.encode(entry, order="deterministic").decode()
        self._connection.execute("INSERT INTO entry VALUES (?, ?, ?)", (entry.sequence, content, entry.head))
        if isinstance(entry.body, Charge):
            self._connection.execute("UPDATE account SET spent = spent + ?", (entry.body.nano,))

    def _stored(self, receipt: Receipt) -> Stored:
        """The answer as it was first sent; checked, because nothing else may leave under its id."""
        with _failures(self._path):
            statement = "SELECT content FROM entry WHERE sequence = ?"
            row = self._connection.execute(statement, (receipt.sequence,)).fetchone()
            entry = msgspec.json.decode(row[0], type=Entry)
            if entry.head != receipt.head or not isinstance(entry.body, Answered):
                raise _damaged(self._path, f"entry {receipt.sequence} was changed")
            return Stored(self._checked_payload(entry.body), receipt)

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
    def _appending(self) -> Iterator[None]:
        """One transaction: lock, catch up, append, commit; whatever goes wrong, nothing of it is kept."""
        with _failures(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._require_in_place()
                self._catch_up()
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def _require_in_place(self) -> None:
        """A charge to a file that nobody will find again is none."""
        found = _identity(self._path)
        if found is None or found != self._identity:
            raise LedgerFailure(
                f"the ledger {self._path} was moved, deleted or replaced while it was in use",
                remedy="nothing was sent; put the right one in its place, then start again",
                value=str(self._path),
            )


def _fill(path: Path, genesis: Genesis) -> None:
    book, entry = open_book(genesis)
    connection = connect(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            connection.execute(statement)
        content = msgspec.json.encode(entry, order="deterministic").decode()
        connection.execute("INSERT INTO entry VALUES (?, ?, ?)", (entry.sequence, content, entry.head))
        connection.execute("INSERT INTO account VALUES (1, ?, 0)", (book.budget.nano,))
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


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file it is; None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - asked at every answer
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _discard(draft: Path) -> None:
    """Remove a draft, this one or one that a killed process with the same id has left."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        draft.with_name(draft.name + suffix).unlink(missing_ok=True)


def _synchronise_directory(directory: Path) -> None:
    """Make the new file's name itself survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
