"""Receipts that a learner keeps across its studies: by the ledger that gave them, the newest one.

An owner's ledger is known to the learner by a random id that says nothing else. At the first hello of a later study the
learner shows the newest receipt it has of that ledger; a ledger that was restored from an older copy does not know it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from copriv.errors import CoprivError

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS newest (ledger TEXT PRIMARY KEY, receipt TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "PRAGMA user_version = 1",
)


class ReceiptStore:
    """The newest receipt of each ledger, on disk; made when it is first needed.

    Args:
        path: of the file, readable by its user only.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._failures():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=30)
            # Lost with the power, a receipt costs a little vigilance, and nobody waits for the disk.
            for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", *_SCHEMA):
                self._connection.execute(statement)

    def newest(self, ledger: str) -> str | None:
        """The newest receipt of a ledger, if it ever gave one to this learner."""
        with self._failures():
            row = self._connection.execute("SELECT receipt FROM newest WHERE ledger = ?", (ledger,)).fetchone()
        return None if row is None else str(row[0])

    def keep(self, ledger: str, receipt: str) -> None:
        """Remember a receipt as the newest of its ledger."""
        with self._failures():
            self._connection.execute(
                "INSERT INTO newest VALUES (?, ?) ON CONFLICT (ledger) DO UPDATE SET receipt = excluded.receipt",
                (ledger, receipt),
            )

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as problem:
            raise CoprivError(
                f"the receipts in {self._path} cannot be used: {problem}",
                remedy="free or repair the disk; if the file is lost, move it away, and receipts are kept anew",
                value=str(self._path),
            ) from problem
