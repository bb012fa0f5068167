"""Ledgers of format 1, as they are taken over: receipts told of the chain, fingerprints had no salt, entries no date.

Everything that was spent stays spent, and every receipt that a ledger of format 1 has given is known afterwards:
NUMBER:HEAD, as it was printed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from copriv.entropy import token
from copriv.errors import LedgerFailure
from copriv.owner import entries
from copriv.owner.ledger_state import keyed
from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import Measure


class _Opening(msgspec.Struct, frozen=True, tag="genesis"):
    owner: str
    dataset: str
    nano_epsilon: int
    delta: float
    accountant: Accountant
    budget: int
    measure: Measure


class _Charge(msgspec.Struct, frozen=True, tag="charge"):
    query: str
    question: str
    nano: int
    study: str


class _Answered(msgspec.Struct, frozen=True, tag="answered"):
    query: str
    payload: str


class _Epoch(msgspec.Struct, frozen=True, tag="epoch"):
    nano_epsilon: int
    delta: float
    budget: int
    signed_off_by: str


class _Version(msgspec.Struct, frozen=True, tag="version"):
    dataset: str
    signed_off_by: str


_Body: TypeAlias = _Opening | _Charge | _Answered | _Epoch | _Version


class _Entry(msgspec.Struct, frozen=True):
    sequence: int
    previous: str
    body: _Body

    @property
    def head(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()


def is_format_1(connection: Any) -> bool:  # noqa: ANN401 - SQLite's or apsw's
    """Whether the database holds a ledger of format 1."""
    columns = [row[1] for row in connection.execute("PRAGMA table_info (account)").fetchall()]
    return columns == ["only_one", "budget", "spent"]


def take_over(connection: Any) -> tuple[list[entries.Entry], dict[str, bytes]]:  # noqa: ANN401 - SQLite's or apsw's
    """The entries and answers of a ledger of format 1 as those of today; its tables are gone afterwards."""
    connection.execute("PRAGMA secure_delete = ON")
    old = list(_read(connection))
    account = connection.execute("SELECT budget, spent FROM account").fetchone()
    payloads = {query: bytes(data) for query, data in connection.execute("SELECT query, bytes FROM payload").fetchall()}
    spent = sum(entry.body.nano for entry in old if isinstance(entry.body, _Charge))
    budgets = [entry.body.budget for entry in old if isinstance(entry.body, _Opening | _Epoch)]
    if account is None or tuple(account) != (budgets[-1], spent) or spent > budgets[-1]:
        raise _damaged("its account does not agree with its entries")
    for table in ("entry", "account", "payload"):
        connection.execute(f"DROP TABLE {table}")
    return list(_translate(old)), payloads


def _read(connection: Any) -> Iterator[_Entry]:  # noqa: ANN401 - SQLite's or apsw's
    """Every entry, each in its place in an unbroken chain."""
    sequence, head = 0, entries.START
    for content, sealed in connection.execute("SELECT content, head FROM entry ORDER BY sequence").fetchall():
        entry = msgspec.json.decode(content, type=_Entry)
        follows = (entry.sequence, entry.previous) == (sequence + 1, head)
        if not follows or entry.head != sealed or isinstance(entry.body, _Opening) != (sequence == 0):
            raise _damaged(f"entry {sequence + 1} was changed or does not follow")
        sequence, head = entry.sequence, sealed
        yield entry
    if sequence == 0:
        raise _damaged("it does not begin with its first entry")


def _translate(old: list[_Entry]) -> Iterator[entries.Entry]:
    first = old[0].body
    assert isinstance(first, _Opening)  # noqa: S101 - `_read` lets no other ledger through
    salt, previous = token(), entries.START
    for entry in old:
        receipt = f"{entry.sequence}:{entry.head}"
        body = _body(entry.body, salt, first.measure, receipt)
        translated = entries.Entry(entry.sequence, previous, body, was=receipt)
        previous = translated.head
        yield translated


def _body(body: _Body, salt: str, measure: Measure, receipt: str) -> entries.Body:
    if isinstance(body, _Opening):
        commitment = (body.nano_epsilon, body.delta, body.accountant, {measure: body.budget})
        return entries.Opening(token(), salt, body.owner, keyed(salt, body.dataset), *commitment)
    if isinstance(body, _Charge):
        return entries.Charge(body.query, body.question, body.nano, measure, body.study)
    if isinstance(body, _Answered):
        return entries.Answered(body.query, body.payload, receipt)
    if isinstance(body, _Epoch):
        return entries.Epoch(body.nano_epsilon, body.delta, {measure: body.budget}, body.signed_off_by)
    return entries.Version(keyed(salt, body.dataset), body.signed_off_by)


def _damaged(how: str) -> LedgerFailure:
    return LedgerFailure(
        f"the ledger of format 1 is damaged: {how}",
        remedy="do not answer from it; keep the file and ask whoever backs it up",
        value=how,
    )
