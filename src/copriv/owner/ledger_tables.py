"""The tables of a ledger on disk, and the statements that write them; each belongs into a transaction of its caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from copriv.owner.block_accounts import is_known, named
from copriv.owner.entries import Answered, Block, Charge, Entry, Epoch, Renewed
from copriv.owner.ledger_state import LedgerState, append, fold_entries
from copriv.privacy.guarantee import Measure

# A ledger whose records arrived in blocks is of format 3, from the first block on.
FORMAT, WITH_BLOCKS = 2, 3

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

_BLOCKS = (
    """CREATE TABLE block_account (
    block   TEXT NOT NULL,
    measure TEXT NOT NULL,
    budget  INTEGER NOT NULL CHECK (budget >= 0),
    spent   INTEGER NOT NULL CHECK (spent >= 0 AND spent <= budget),
    PRIMARY KEY (block, measure)
) STRICT""",
    """CREATE TABLE person (
    id    BLOB PRIMARY KEY,
    block TEXT NOT NULL
) STRICT, WITHOUT ROWID""",
    *(
        f"CREATE TRIGGER person_no_{verb.lower()} BEFORE {verb} ON person "
        f"BEGIN SELECT RAISE(ABORT, 'a person keeps its block'); END"
        for verb in ("UPDATE", "DELETE")
    ),
    f"PRAGMA user_version = {WITH_BLOCKS}",
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
    before: LedgerState,
    payload: bytes | None,
    people: Iterable[bytes] = (),
) -> LedgerState:
    """One more entry, and all that it changes; the state after it.

    Args:
        connection: within a transaction.
        entry: to be appended.
        before: the state before.
        payload: of an answer.
        people: the keyed ids of those who arrive in a block.
    """
    execute, body, after = connection.execute, entry.body, append(before, entry)
    execute("INSERT INTO entry VALUES (?, ?, ?)", _row(entry))
    answered = isinstance(body, Answered)
    execute(
        "UPDATE ending SET sequence = ?, head = ?, answers = answers + ?", (entry.sequence, entry.head, int(answered))
    )
    if isinstance(body, Answered):
        execute("INSERT INTO payload VALUES (?, ?)", (body.query, payload))
    elif isinstance(body, Charge):
        _charge(connection, body, before, after)
    elif isinstance(body, Epoch | Block | Renewed):
        _budgets(connection, before, after)
    if isinstance(body, Block) and not is_known(before.blocks, body.name):
        for person in people:
            execute("INSERT INTO person VALUES (?, ?)", (person, body.name))
    return after


def _charge(connection: Any, charge: Charge, before: LedgerState, after: LedgerState) -> None:  # noqa: ANN401
    """Add the price to the account of every block that pays, and guard the most that any of them has spent."""
    if not named(before.blocks):
        connection.execute("UPDATE account SET spent = spent + ? WHERE measure = ?", (charge.nano, charge.measure))
        return
    for block in charge.blocks or before.blocks:
        connection.execute(
            "UPDATE block_account SET spent = spent + ? WHERE block = ? AND measure = ?",
            (charge.nano, block, charge.measure),
        )
    _worst(connection, after)


def _budgets(connection: Any, before: LedgerState, after: LedgerState) -> None:  # noqa: ANN401
    """Write every account as it is now: another budget, or one more block."""
    if named(after.blocks) and not named(before.blocks):
        for statement in _BLOCKS:
            connection.execute(statement)
    _worst(connection, after)
    if named(after.blocks):
        connection.execute("DELETE FROM block_account")
        for row in block_rows(after):
            connection.execute("INSERT INTO block_account VALUES (?, ?, ?, ?)", row)


def _worst(connection: Any, after: LedgerState) -> None:  # noqa: ANN401
    connection.execute("DELETE FROM account")
    for measure, account in after.accounts.items():
        connection.execute("INSERT INTO account VALUES (?, ?, ?)", (measure, account.budget.nano, account.spent))


def block_rows(state: LedgerState) -> list[tuple[str, Measure, int, int]]:
    """What each block may spend and has spent, by currency; none where no block was ever named."""
    if not named(state.blocks):
        return []
    accounts = (
        (name, measure, block.account(measure, state.budgets))
        for name, block in state.blocks.items()
        for measure in state.budgets
    )
    return sorted((name, measure, account.budget.nano, account.spent) for name, measure, account in accounts)


def guarded(connection: Any) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:  # noqa: ANN401
    """What the database itself says of the accounts, and of those of blocks."""
    accounts = connection.execute("SELECT measure, budget, spent FROM account").fetchall()
    statement = "SELECT block, measure, budget, spent FROM block_account"
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'block_account'").fetchone()
    blocks = connection.execute(statement).fetchall() if there else []
    return sorted(map(tuple, accounts)), sorted(map(tuple, blocks))


def people_of(connection: Any) -> dict[bytes, str]:  # noqa: ANN401
    """The block of everybody who is known, by keyed id."""
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'person'").fetchone()
    return dict(connection.execute("SELECT id, block FROM person").fetchall()) if there else {}


def _row(entry: Entry) -> tuple[int, str, str]:
    return entry.sequence, msgspec.json.encode(entry, order="deterministic").decode(), entry.head
