"""The learner's checkpoint: SQLite, one transaction after every meeting. A killed run goes on where it stood."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from copriv.errors import CoprivError
from copriv.learner.learner import Iteration, Position
from copriv.protocol.messages import Answer, Receipt
from copriv.rules.rule import Rule
from copriv.vectors import FloatArray

State = TypeVar("State")

_SCHEMA = (
    "CREATE TABLE run (one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT, terms TEXT, schedule TEXT) STRICT",
    "CREATE TABLE position (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER, state BLOB) STRICT",
    "CREATE TABLE receipt (owner TEXT PRIMARY KEY, sequence INTEGER NOT NULL, head TEXT NOT NULL) STRICT",
    "CREATE TABLE reply (number INTEGER PRIMARY KEY, owner TEXT NOT NULL, outcome TEXT NOT NULL, model BLOB) STRICT",
)


class Checkpoint:
    """Where a run stands, on disk.

    Args:
        path: the checkpoint's file; it must exist.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise CoprivError(
                f"there is no checkpoint {path}", remedy="resume a run that was interrupted", value=str(path)
            )
        self._path = path
        with self._failures():
            self._connection = _connect(path)
            found = self._connection.execute("SELECT name, terms, schedule FROM run").fetchone()
        if found is None:
            raise CoprivError(f"the checkpoint {path} is empty", remedy="start the run anew", value=str(path))
        self.run, self.terms, self.schedule = found

    @classmethod
    def create(cls, path: Path, *, run: str, terms: str, schedule: str) -> Checkpoint:
        """Begin a checkpoint for a run that has not met anybody yet; it appears complete or not at all."""
        draft = path.with_name(f".{path.name}.new")
        draft.touch(mode=0o600, exist_ok=False)
        connection = _connect(draft)
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute("INSERT INTO run VALUES (1, ?, ?, ?)", (run, terms, schedule))
        connection.execute("COMMIT")
        connection.close()
        draft.rename(path)
        _synchronise_directory(path.parent)
        return cls(path)

    def require(self, *, terms: str, schedule: str) -> None:
        """Refuse to go on with another study than the one that was interrupted."""
        if (self.terms, self.schedule) != (terms, schedule):
            raise CoprivError(
                "the checkpoint is of another study: its terms or its schedule differ",
                remedy="resume with the records and options of the first start",
                value=self.terms,
            )

    def position(self, rule: Rule[State]) -> Position[State] | None:
        """Where the run stands, or None if it has not met anybody yet."""
        with self._failures():
            row = self._connection.execute("SELECT number, state FROM position").fetchone()
            receipts = self._connection.execute("SELECT owner, sequence, head FROM receipt").fetchall()
        if row is None:
            return None
        return Position(row[0], rule.unpack(row[1]), {owner: Receipt(number, head) for owner, number, head in receipts})

    def save(self, rule: Rule[State], iteration: Iteration[State], *, keep_model: bool = False) -> None:
        """One meeting and everything it changed, in one transaction."""
        reply = iteration.reply
        outcome = "answer" if isinstance(reply, Answer) else reply.reason
        model = rule.model(iteration.state).tobytes() if keep_model else None
        with self._failures():
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute(
                "INSERT INTO position VALUES (1, ?, ?) "
                "ON CONFLICT (one) DO UPDATE SET number = excluded.number, state = excluded.state",
                (iteration.number, rule.pack(iteration.state)),
            )
            self._connection.execute(
                "INSERT INTO reply VALUES (?, ?, ?, ?)", (iteration.number, reply.owner, outcome, model)
            )
            if isinstance(reply, Answer):
                self._connection.execute(
                    "INSERT INTO receipt VALUES (?, ?, ?) ON CONFLICT (owner) DO UPDATE "
                    "SET sequence = excluded.sequence, head = excluded.head WHERE excluded.sequence > receipt.sequence",
                    (reply.owner, reply.receipt.sequence, reply.receipt.head),
                )
            self._connection.execute("COMMIT")

    def models(self) -> dict[int, FloatArray]:
        """The models that were kept, by iteration."""
        import numpy as np

        with self._failures():
            rows = self._connection.execute(
                "SELECT number, model FROM reply WHERE model IS NOT NULL ORDER BY number"
            ).fetchall()
        return {number: np.frombuffer(model, dtype=np.float64) for number, model in rows}

    def refusals(self) -> list[tuple[str, str]]:
        """Owner and reason of every refusal so far."""
        with self._failures():
            statement = "SELECT owner, outcome FROM reply WHERE outcome <> 'answer' ORDER BY number"
            return [(owner, outcome) for owner, outcome in self._connection.execute(statement)]

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            raise CoprivError(
                f"the checkpoint {self._path} cannot be used: {problem}",
                remedy="free or repair the disk and resume; what was answered is in the owners' ledgers",
                value=str(self._path),
            ) from problem


def _synchronise_directory(directory: Path) -> None:
    """Make the new file's name itself survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=30)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection
