"""The learner's checkpoint: SQLite, one transaction a meeting. A killed run goes on where it stood.

Along a known schedule every meeting is saved when it is over. In a live run it is held until the next query is put on
record, and both are committed together: if the learner dies in between, it asks the same again and gets the same bytes.
Where that query was announced by the record before, the commit goes on in the background while it is asked.

Every answer is kept with the model at which it was asked for, so that an owner that is caught lying can be taken out:
the model is then set up again from what the others have answered.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from copriv.errors import CoprivError
from copriv.learner.learner import Iteration, Position
from copriv.protocol.messages import Answer, Query
from copriv.protocol.wire import decode_query, encode
from copriv.rules.rule import Ask, BaseRule
from copriv.vectors import FloatArray

State = TypeVar("State")

_SCHEMA = (
    "CREATE TABLE run (one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT, terms TEXT, schedule TEXT) STRICT",
    # The row of the query that was asked last names who is met when it is answered, if that was settled.
    "CREATE TABLE unanswered (owner TEXT PRIMARY KEY, query BLOB NOT NULL, sequel TEXT) STRICT, WITHOUT ROWID",
    "CREATE TABLE position (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER, state BLOB) STRICT",
    "CREATE TABLE newest_receipt (owner TEXT PRIMARY KEY, receipt TEXT NOT NULL) STRICT, WITHOUT ROWID",
    """CREATE TABLE reply (
    number  INTEGER PRIMARY KEY,
    owner   TEXT NOT NULL,
    outcome TEXT NOT NULL,
    query   TEXT NOT NULL,
    time    REAL NOT NULL,
    nano    INTEGER NOT NULL,
    model   BLOB,
    theta   BLOB,
    answer  BLOB,
    kind    TEXT,
    share   INTEGER,
    level_before INTEGER
) STRICT""",
)
_EXPELLED = (
    "CREATE TABLE IF NOT EXISTS expelled "
    "(owner TEXT PRIMARY KEY, number INTEGER NOT NULL, why TEXT NOT NULL) STRICT, WITHOUT ROWID"
)


def _nothing() -> None:
    """Nothing is held."""


class Entry(NamedTuple):
    """One meeting as it is kept: whom, what came of it, which query it answered, when, and what it cost the owner.

    `kind`, `share` and `before` say what was asked for, where that was on record.
    """

    number: int
    owner: str
    outcome: str
    query: str
    time: float
    nano: int
    kind: str = "gradient"
    share: int = 0
    before: int = 0

    @property
    def level(self) -> int:
        """The share that the noise of the answer stands for."""
        return self.before + self.share


class Told(NamedTuple):
    """An answer that was absorbed: whose, what was asked, and its numbers."""

    owner: str
    ask: Ask
    values: FloatArray


class Expelled(NamedTuple):
    """An owner that was caught lying: who, at which meeting, and what was wrong."""

    owner: str
    number: int
    why: str


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
            _take_over(self._connection)
            found = self._connection.execute("SELECT name, terms, schedule FROM run").fetchone()
        if found is None:
            raise CoprivError(f"the checkpoint {path} is empty", remedy="start the run anew", value=str(path))
        self.run, self.terms, self.schedule = found
        self._held: Callable[[], None] = _nothing
        self._background = ThreadPoolExecutor(1, "checkpoint")
        self._writing: Future[None] | None = None
        self.commits, self.commit_seconds = 0, 0.0

    @classmethod
    def create(cls, path: Path, *, run: str, terms: str, schedule: str) -> Checkpoint:
        """Begin a checkpoint for a run that has not met anybody yet; it appears complete or not at all."""
        draft = path.with_name(f".{path.name}.new")
        draft.touch(mode=0o600, exist_ok=False)
        connection = _connect(draft)
        connection.execute("BEGIN IMMEDIATE")
        for statement in (*_SCHEMA, _EXPELLED):
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

    def position(self, rule: BaseRule[State]) -> Position[State] | None:
        """Where the run stands, or None if nobody has been met or asked yet."""
        row = next(iter(self._select("SELECT number, state FROM position")), None)
        receipts = dict(self._select("SELECT owner, receipt FROM newest_receipt"))
        queries = self._select("SELECT owner, query, sequel FROM unanswered")
        if row is None and not queries:
            return None
        number, state = (0, rule.begin()) if row is None else (row[0], rule.unpack(row[1]))
        unanswered = {owner: decode_query(query) for owner, query, _ in queries}
        pledged = [name for owner, _, sequel in queries if sequel is not None for name in (owner, sequel)]
        return Position(number, state, receipts, unanswered, pledged)

    def save(self, rule: BaseRule[State], iteration: Iteration[State], *, keep_model: bool = False) -> None:
        """One meeting and everything it changed, in one transaction."""
        self._settle()
        with self._transaction():
            self._write(rule, iteration, keep_model)

    def hold(self, rule: BaseRule[State], iteration: Iteration[State], *, keep_model: bool = False) -> None:
        """Save a meeting together with the query that follows it."""
        self._held = lambda: self._write(rule, iteration, keep_model)

    def intend(self, query: Query, *, sequel: str | None = None, announced: bool = False) -> None:
        """Put on record that this is asked next, and what is held; in the background, if it was announced."""
        self._settle()
        held, self._held = self._held, _nothing

        def record() -> None:
            with self._transaction():
                held()
                self._connection.execute("UPDATE unanswered SET sequel = NULL WHERE sequel IS NOT NULL")
                self._connection.execute(
                    "INSERT INTO unanswered VALUES (?, ?, ?) "
                    "ON CONFLICT (owner) DO UPDATE SET sequel = excluded.sequel",
                    (query.owner, encode(query), sequel),
                )

        if announced:
            self._writing = self._background.submit(record)
        else:
            record()

    def _settle(self) -> None:
        """Wait for what is written in the background; whatever went wrong with it is told now."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def flush(self) -> None:
        """Put on record what is held."""
        self._settle()
        if self._held is not _nothing:
            with self._transaction():
                self._held()
            self._held = _nothing

    def _write(self, rule: BaseRule[State], iteration: Iteration[State], keep_model: bool) -> None:
        reply, execute = iteration.reply, self._connection.execute
        outcome, nano = ("answer", reply.release.nano) if isinstance(reply, Answer) else (reply.reason, 0)
        model = rule.model(iteration.state).tobytes() if keep_model else None
        kept = (_pack(iteration.query.theta), _pack(reply.values)) if isinstance(reply, Answer) else (None, None)
        self._stand(rule, iteration.number, iteration.state)
        execute(
            "INSERT INTO reply (number, owner, outcome, query, time, nano, model, theta, answer, kind, share, "
            "level_before) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(iteration.number, reply.owner, outcome, iteration.query.id),
                *(iteration.meeting.time, nano, model, *kept),
                *(iteration.query.kind, iteration.query.share, iteration.query.before),
            ),
        )
        execute("DELETE FROM unanswered WHERE owner = ?", (reply.owner,))
        if isinstance(reply, Answer):
            execute(
                "INSERT INTO newest_receipt VALUES (?, ?) ON CONFLICT (owner) DO UPDATE SET receipt = excluded.receipt",
                (reply.owner, reply.receipt),
            )

    def _stand(self, rule: BaseRule[State], number: int, state: State) -> None:
        self._connection.execute(
            "INSERT INTO position VALUES (1, ?, ?) "
            "ON CONFLICT (one) DO UPDATE SET number = excluded.number, state = excluded.state",
            (number, rule.pack(state)),
        )

    def expel(self, rule: BaseRule[State], iteration: Iteration[Any], state: State, why: str) -> None:
        """Put the meeting on record at which an owner was caught, and the state without it: both or neither.

        Args:
            rule: for the owners that are left.
            iteration: the meeting; its own state is not kept.
            state: what the answers of the others lead to.
            why: what was wrong.
        """
        owner = iteration.query.owner
        self.flush()
        with self._transaction():
            self._write(rule, replace(iteration, state=state), keep_model=False)
            self._connection.execute("INSERT INTO expelled VALUES (?, ?, ?)", (owner, iteration.number, why))
            self._connection.execute("UPDATE unanswered SET sequel = NULL WHERE sequel IS NOT NULL")
            self._connection.execute("UPDATE reply SET model = NULL WHERE model IS NOT NULL")

    def expelled(self) -> list[Expelled]:
        """Who was caught lying, in the order of the meetings."""
        return [Expelled(*row) for row in self._select("SELECT owner, number, why FROM expelled ORDER BY number")]

    def answers(self) -> list[Told]:
        """Every answer absorbed so far, in order: whose, what was asked, its numbers."""
        rows = self._select(
            "SELECT owner, theta, coalesce(kind, 'gradient'), coalesce(share, 0), coalesce(level_before, 0), answer "
            "FROM reply WHERE outcome = 'answer' ORDER BY number"
        )
        if any(answer is None for *_, answer in rows):
            raise CoprivError(
                f"the checkpoint {self._path} was begun by a version that did not keep answers",
                remedy="start the study anew, without the owner that was caught: its answers cannot be taken out",
                value=str(self._path),
            )
        return [
            Told(owner, Ask(np.frombuffer(theta), kind, share, before), np.frombuffer(answer))
            for owner, theta, kind, share, before, answer in rows
        ]

    def log(self) -> list[Entry]:
        """Every meeting so far, in order."""
        rows = self._select(
            "SELECT number, owner, outcome, query, time, nano, coalesce(kind, 'gradient'), coalesce(share, 0), "
            "coalesce(level_before, 0) FROM reply ORDER BY number"
        )
        return [Entry(*row) for row in rows]

    def models(self) -> dict[int, FloatArray]:
        """The models that were kept, by iteration."""
        rows = self._select("SELECT number, model FROM reply WHERE model IS NOT NULL ORDER BY number")
        return {number: np.frombuffer(model, dtype=np.float64) for number, model in rows}

    def refusals(self) -> list[tuple[str, str]]:
        """Owner and reason of every refusal so far."""
        return self._select("SELECT owner, outcome FROM reply WHERE outcome <> 'answer' ORDER BY number")

    def close(self) -> None:
        """Let go of the file, after what is being written."""
        try:
            self._settle()
        finally:
            self._background.shutdown()
            self._connection.close()

    def _select(self, statement: str) -> list[Any]:
        self._settle()
        with self._failures():
            return self._connection.execute(statement).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._failures():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                started = time.perf_counter()
                self._connection.execute("COMMIT")
                self.commits += 1
                self.commit_seconds += time.perf_counter() - started
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

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


def _take_over(connection: sqlite3.Connection) -> None:
    """Older checkpoints name no sequels, keep receipts as NUMBER and HEAD, no answers or kinds, and expel nobody."""
    for table, column, kind in (
        ("unanswered", "sequel", "TEXT"),
        ("reply", "theta", "BLOB"),
        ("reply", "answer", "BLOB"),
        ("reply", "kind", "TEXT"),
        ("reply", "share", "INTEGER"),
        ("reply", "level_before", "INTEGER"),
    ):
        known = [row[1] for row in connection.execute(f"PRAGMA table_info ({table})")]
        if known and column not in known:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")
    connection.execute(_EXPELLED)
    if [row[1] for row in connection.execute("PRAGMA table_info (receipt)")]:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(_SCHEMA[3])
        connection.execute("INSERT INTO newest_receipt SELECT owner, sequence || ':' || head FROM receipt")
        connection.execute("DROP TABLE receipt")
        connection.execute("COMMIT")


def _pack(numbers: Sequence[float]) -> bytes:
    return np.asarray(numbers, dtype=np.float64).tobytes()


def _synchronise_directory(directory: Path) -> None:
    """Make the new file's name itself survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _connect(path: Path) -> sqlite3.Connection:
    # Written by one thread at a time, but not always by the same.
    connection = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection
