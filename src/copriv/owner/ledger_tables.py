"""The tables of a ledger on disk, and the statements that write them; each belongs into a transaction of its caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from copriv.owner.entries import Answered, Charge, Entry, Epoch
from copriv.owner.ledger_state import Account, fold_entries
from copriv.privacy.guarantee import Measure

FORMAT = 2

SCHEMA = (
    """CREATE TABLE entry (
    sequence INTEGER PRIMARY KEY,
    content  TEXT NOT NULL,
    head     TEXT NOT NULL
) STRICT""",
    """CREATE TABLE account (
    measure TEXT PRIMARY KEY,
    budget  INTEGER NOT NULL CHECK (budget >= 0),
    spent   INTEGER NOT NULL CHECK (spent >= 0 AND spent <= budget)
) STRICT""",
    # Where the chain ends and how many answers lie beside it: what a torn or shortened file gets wrong.
    """CREATE TABLE ending (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    sequence INTEGER NOT NULL,
    head     TEXT NOT NULL,
    answers  INTEGER NOT NULL
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
    f"PRAGMA user_version = {FORMAT}",
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


def write_all(connection: Any, entries: Iterable[Entry], payloads: Mapping[str, bytes]) -> None:  # noqa: ANN401 - SQLite's or apsw's
    """A ledger with these entries and answers, in a database that has none."""
    kept = list(entries)
    state = fold_entries(kept)
    for statement in SCHEMA:
        connection.execute(statement)
    for entry in kept:
        connection.execute("INSERT INTO entry VALUES (?, ?, ?)", _row(entry))
    for measure, account in state.accounts.items():
        connection.execute("INSERT INTO account VALUES (?, ?, ?)", (measure, account.budget.nano, account.spent))
    for query, payload in payloads.items():
        connection.execute("INSERT INTO payload VALUES (?, ?)", (query, payload))
    connection.execute("INSERT INTO ending VALUES (1, ?, ?, ?)", (state.sequence, state.head, len(payloads)))


def insert(
    connection: Any,  # noqa: ANN401 - SQLite's or apsw's
    entry: Entry,
    accounts: Mapping[Measure, Account],
    payload: bytes | None,
) -> None:
    """One more entry, and all that it changes.

    Args:
        connection: within a transaction.
        entry: to be appended.
        accounts: as they were before.
        payload: of an answer.
    """
    execute, body = connection.execute, entry.body
    execute("INSERT INTO entry VALUES (?, ?, ?)", _row(entry))
    answered = isinstance(body, Answered)
    execute(
        "UPDATE ending SET sequence = ?, head = ?, answers = answers + ?", (entry.sequence, entry.head, int(answered))
    )
    if isinstance(body, Answered):
        execute("INSERT INTO payload VALUES (?, ?)", (body.query, payload))
    elif isinstance(body, Charge):
        execute("UPDATE account SET spent = spent + ? WHERE measure = ?", (body.nano, body.measure))
    elif isinstance(body, Epoch):
        execute("DELETE FROM account")
        for measure, nano in body.budgets.items():
            spent = accounts[measure].spent if measure in accounts else 0
            execute("INSERT INTO account VALUES (?, ?, ?)", (measure, nano, spent))


def _row(entry: Entry) -> tuple[int, str, str]:
    return entry.sequence, msgspec.json.encode(entry, order="deterministic").decode(), entry.head
