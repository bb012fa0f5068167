"""A book: what the entries of a ledger add up to. Pure, and written once for every kind of ledger.

A ledger is an append-only list of entries, each sealed by the hash of everything before it. Folding the entries gives
the book: the budget, what is spent, by which study, for which queries. Whether something may be appended is asked of
the book; the answer is an entry, or a refusal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import msgspec

from copriv.errors import LedgerFailure, LedgerRefusal, QueryConflict
from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import Amount, Guarantee, Measure
from copriv.protocol.messages import Receipt

_START = "0" * 64


class Genesis(msgspec.Struct, frozen=True, tag="genesis"):
    """The first entry: whose budget it is, for which dataset, under which guarantee."""

    owner: str
    dataset: str
    nano_epsilon: int
    delta: float
    accountant: Accountant
    budget: int
    measure: Measure


class Charge(msgspec.Struct, frozen=True, tag="charge"):
    """A query is paid for; it has not been answered yet."""

    query: str
    question: str
    nano: int
    study: str


class Answered(msgspec.Struct, frozen=True, tag="answered"):
    """A charged query has its answer; its bytes lie beside the ledger's entries, and this is their hash."""

    query: str
    payload: str


class Epoch(msgspec.Struct, frozen=True, tag="epoch"):
    """A new guarantee, signed off by a person; the spending carries over."""

    nano_epsilon: int
    delta: float
    budget: int
    signed_off_by: str


class Version(msgspec.Struct, frozen=True, tag="version"):
    """A changed dataset, signed off by a person; it inherits the spending."""

    dataset: str
    signed_off_by: str


Body: TypeAlias = Genesis | Charge | Answered | Epoch | Version


class Entry(msgspec.Struct, frozen=True):
    """A body in its place: after the entry whose hash is `previous`."""

    sequence: int
    previous: str
    body: Body

    @property
    def head(self) -> str:
        """The hash of this entry and, through `previous`, of all before it."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of a query: the question it was charged for, and the receipt of its answer if it has one."""

    question: str
    answer: Receipt | None = None


@dataclass(frozen=True, slots=True)
class Book:
    """The state of a ledger; `queries` and `studies` belong to the fold and are never changed from outside."""

    owner: str
    dataset: str
    guarantee: Guarantee
    accountant: Accountant
    budget: Amount
    spent: int
    receipt: Receipt
    queries: dict[str, Asked]
    studies: dict[str, int]

    def next_entry(self, body: Body) -> Entry:
        """The entry that would follow."""
        return Entry(self.receipt.sequence + 1, self.receipt.head, body)

    def charge(self, query: str, question: str, amount: Amount, study: str, allowance: Amount) -> Entry | None:
        """The entry that pays for a query, or None if it is paid for already.

        Args:
            query: the id of the query.
            question: a hash of what is asked.
            amount: the price of the answer.
            study: the digest of the terms.
            allowance: the most that this owner spends on this study.
        """
        known = self.queries.get(query)
        if known is not None:
            if known.question != question:
                raise _conflict(query)
            return None
        for measure in (amount.measure, allowance.measure):
            if measure != self.budget.measure:
                raise _other_currency(measure, self.budget.measure)
        if amount.nano < 1 or self.spent + amount.nano > self.budget.nano:
            raise _exhausted("budget", self.spent, self.budget, amount)
        if self.studies.get(study, 0) + amount.nano > allowance.nano:
            raise _exhausted("share of this study", self.studies.get(study, 0), allowance, amount)
        return self.next_entry(Charge(query, question, amount.nano, study))

    def answer(self, query: str, payload: bytes) -> Entry:
        """The entry that records the answer to a charged query."""
        known = self.queries.get(query)
        if known is None:
            raise LedgerRefusal(
                f"the query {query!r} was never charged", remedy="reserve before answering", value=query
            )
        if known.answer is not None:
            raise QueryConflict(
                f"the query {query!r} already has its answer", remedy="send the stored one", value=query
            )
        return self.next_entry(Answered(query, hashlib.sha256(payload).hexdigest()))

    def open_epoch(self, guarantee: Guarantee, budget: Amount, signed_off_by: str) -> Entry:
        """The entry that changes the guarantee; not below what is spent, and not to another currency."""
        _require_signature(signed_off_by)
        if budget.measure != self.budget.measure:
            raise _other_currency(budget.measure, self.budget.measure)
        if budget.nano < self.spent:
            raise LedgerRefusal(
                f"epsilon = {guarantee.epsilon:g} is less than what is spent: {self.spent} nano-{budget.measure}",
                remedy="what has been said cannot be taken back; choose a larger epsilon",
                value=guarantee.epsilon,
            )
        return self.next_entry(Epoch(guarantee.nano_epsilon, guarantee.delta, budget.nano, signed_off_by))

    def open_version(self, dataset: str, signed_off_by: str) -> Entry:
        """The entry that takes over a changed dataset with everything that was spent on the old one."""
        _require_signature(signed_off_by)
        return self.next_entry(Version(dataset, signed_off_by))

    def require_dataset(self, dataset: str) -> None:
        """Refuse to answer from records that this ledger was not made for."""
        if dataset != self.dataset:
            raise LedgerRefusal(
                f"the ledger of {self.owner!r} is for the dataset {self.dataset[:12]}…, not for {dataset[:12]}…",
                remedy="if the records have changed, open a new version: copriv ledger version",
                value=dataset,
            )


def open_book(genesis: Genesis) -> tuple[Book, Entry]:
    """A new book and the entry it starts from."""
    entry = Entry(1, _START, genesis)
    return _begin(entry, genesis), entry


def read_book(entries: Iterable[Entry]) -> Book:
    """Fold all entries of a ledger; a break in the chain is a failure."""
    found = iter(entries)
    first = next(found, None)
    if first is None or not isinstance(first.body, Genesis) or (first.sequence, first.previous) != (1, _START):
        raise _broken("it does not begin with its first entry")
    book = _begin(first, first.body)
    for entry in found:
        book = append(book, entry)
    return book


def append(book: Book, entry: Entry) -> Book:
    """The book after one more entry, if it follows and keeps within the budget."""
    if (entry.sequence, entry.previous) != (book.receipt.sequence + 1, book.receipt.head):
        raise _broken(f"entry {entry.sequence} does not follow entry {book.receipt.sequence}")
    after = _apply(book, entry.body, Receipt(entry.sequence, entry.head))
    if after.spent > after.budget.nano:
        raise _broken(f"entry {entry.sequence} spends more than the budget")
    return after


def _begin(entry: Entry, genesis: Genesis) -> Book:
    return Book(
        owner=genesis.owner,
        dataset=genesis.dataset,
        guarantee=Guarantee(genesis.nano_epsilon, genesis.delta),
        accountant=genesis.accountant,
        budget=Amount(genesis.budget, genesis.measure),
        spent=0,
        receipt=Receipt(entry.sequence, entry.head),
        queries={},
        studies={},
    )


def _apply(book: Book, body: Body, receipt: Receipt) -> Book:
    if isinstance(body, Charge):
        if body.query in book.queries:
            raise _broken(f"the query {body.query!r} is charged twice")
        book.queries[body.query] = Asked(body.question)
        book.studies[body.study] = book.studies.get(body.study, 0) + body.nano
        return replace(book, receipt=receipt, spent=book.spent + body.nano)
    if isinstance(body, Answered):
        known = book.queries.get(body.query)
        if known is None or known.answer is not None:
            raise _broken(f"the query {body.query!r} is answered without a charge, or twice")
        book.queries[body.query] = Asked(known.question, receipt)
        return replace(book, receipt=receipt)
    if isinstance(body, Epoch):
        guarantee = Guarantee(body.nano_epsilon, body.delta)
        budget = Amount(body.budget, book.budget.measure)
        return replace(book, receipt=receipt, guarantee=guarantee, budget=budget)
    if isinstance(body, Version):
        return replace(book, receipt=receipt, dataset=body.dataset)
    raise _broken("there is a second beginning")


def _broken(how: str) -> LedgerFailure:
    return LedgerFailure(
        f"the ledger is damaged: {how}",
        remedy="do not answer from it; keep the file and ask whoever backs it up",
        value=how,
    )


def _conflict(query: str) -> QueryConflict:
    return QueryConflict(f"the query {query!r} was asked before at another model", remedy="use a new id", value=query)


def _exhausted(what: str, spent: int, limit: Amount, amount: Amount) -> LedgerRefusal:
    return LedgerRefusal(
        f"the {what} is spent: {spent} of {limit.nano} nano-{limit.measure}, and an answer costs {amount.nano}",
        remedy="this owner answers no more",
        value=spent,
    )


def _other_currency(given: str, budget: str) -> LedgerRefusal:
    return LedgerRefusal(
        f"a charge in {given} against a budget in {budget}",
        remedy="a budget with delta = 0 is for Laplace noise, one with delta > 0 for Gaussian noise",
        value=given,
    )


def _require_signature(name: str) -> None:
    if not name.strip():
        raise LedgerRefusal("nobody has signed off", remedy="say who does: --signed-off-by NAME", value=name)
