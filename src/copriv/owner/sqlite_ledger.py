"""A ledger on disk: SQLite in WAL mode with full synchronisation, so that a charge survives a kill or a power cut.

Every change is one transaction that takes the write lock first, and the database itself refuses to hold more spending
than budget. A ledger is created once, explicitly; opening never creates one.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from copriv.errors import LedgerRefusal
from copriv.owner.ledger import Account, answered, conflict, exhausted, require_currency, unknown
from copriv.privacy.guarantee import Amount, Measure

_SCHEMA = """
CREATE TABLE account (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    owner    TEXT    NOT NULL,
    measure  TEXT    NOT NULL CHECK (measure IN ('epsilon', 'rho')),
    budget   INTEGER NOT NULL CHECK (budget > 0),
    spent    INTEGER NOT NULL CHECK (spent >= 0 AND spent <= budget)
) STRICT;
CREATE TABLE entry (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    query    TEXT    NOT NULL UNIQUE,
    question BLOB    NOT NULL,
    charge   INTEGER NOT NULL CHECK (charge > 0),
    answer   BLOB
) STRICT;
"""


class SqliteLedger:
    """The durable account of one owner."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise LedgerRefusal(
                f"there is no ledger {path}", remedy="create it first; answering never creates one", value=str(path)
            )
        self._connection = _connect(path)

    @classmethod
    def create(cls, path: Path, owner: str, budget: Amount) -> SqliteLedger:
        """Make a new ledger; an existing file is never touched."""
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError as problem:
            raise LedgerRefusal(
                f"there is a ledger {path} already", remedy="open it, or choose another place", value=str(path)
            ) from problem
        with _connect(path) as connection:
            connection.executescript(_SCHEMA)
            values = (owner, budget.measure, budget.nano)
            connection.execute("INSERT INTO account VALUES (1, ?, ?, ?, 0)", values)
        connection.close()
        _synchronise_directory(path.parent)
        return cls(path)

    def account(self) -> Account:
        """Budget, spending and number of charged queries."""
        return self._account()

    def reserve(self, query: str, question: bytes, charge: Amount) -> bytes | None:
        """Charge a query before it is answered."""
        with self._transaction():
            account = self._account()
            require_currency(account.budget, charge)
            row = self._connection.execute("SELECT question, answer FROM entry WHERE query = ?", (query,)).fetchone()
            if row is not None:
                if row[0] != question:
                    raise conflict(query)
                return cast("bytes | None", row[1])
            if account.spent.nano + charge.nano > account.budget.nano:
                raise exhausted(account, charge)
            self._connection.execute("UPDATE account SET spent = spent + ?", (charge.nano,))
            entry = (query, question, charge.nano)
            self._connection.execute("INSERT INTO entry (query, question, charge) VALUES (?, ?, ?)", entry)
        return None

    def store(self, query: str, answer: bytes) -> None:
        """Keep the answer to a charged query."""
        with self._transaction():
            row = self._connection.execute("SELECT answer FROM entry WHERE query = ?", (query,)).fetchone()
            if row is None:
                raise unknown(query)
            if row[0] is not None:
                raise answered(query)
            self._connection.execute("UPDATE entry SET answer = ? WHERE query = ?", (answer, query))

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _account(self) -> Account:
        measure, budget, spent = self._connection.execute("SELECT measure, budget, spent FROM account").fetchone()
        (answers,) = self._connection.execute("SELECT count(*) FROM entry").fetchone()
        currency = cast("Measure", measure)
        return Account(Amount(budget, currency), Amount(spent, currency), answers)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=30)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _synchronise_directory(directory: Path) -> None:
    """Make the new file's name itself survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
