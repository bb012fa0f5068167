"""A ledger in memory, for simulations: the contract of a ledger without its durability."""

from __future__ import annotations

from copriv.owner.book import Book, Entry, Genesis, append, open_book
from copriv.owner.ledger import Stored
from copriv.privacy.guarantee import Amount
from copriv.protocol.messages import Receipt


class MemoryLedger:
    """Forgets everything when the process ends; never to be used for records."""

    def __init__(self, genesis: Genesis) -> None:
        self._book, entry = open_book(genesis)
        self._heads = [entry.head]
        self._payloads: dict[str, bytes] = {}

    def book(self) -> Book:
        """Budget, spending, dataset and the newest receipt."""
        return self._book

    def reserve(self, query: str, question: str, amount: Amount, study: str, allowance: Amount) -> Stored | None:
        """Charge a query before it is answered."""
        entry = self._book.charge(query, question, amount, study, allowance)
        if entry is not None:
            self._append(entry)
            return None
        receipt = self._book.queries[query].answer
        return None if receipt is None else Stored(self._payloads[query], receipt)

    def store(self, query: str, payload: bytes) -> Receipt:
        """Keep the answer to a charged query."""
        self._append(self._book.answer(query, payload))
        self._payloads[query] = payload
        return self._book.receipt

    def witnesses(self, receipt: Receipt) -> bool:
        """Whether this ledger once stood where the receipt says."""
        return 1 <= receipt.sequence <= len(self._heads) and self._heads[receipt.sequence - 1] == receipt.head

    def close(self) -> None:
        """Nothing to let go of."""

    def _append(self, entry: Entry) -> None:
        self._book = append(self._book, entry)
        self._heads.append(self._book.receipt.head)
