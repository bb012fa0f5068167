"""A ledger that counts how long its owner has waited for the disk.

What is timed is the keeping of an answer that is there already: its length follows from the terms, and its time from
the disk. How long an answer takes to work out is timed nowhere.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from copriv.owner.ledger import Ledger, Stored
from copriv.owner.ledger_state import LedgerState
from copriv.privacy.guarantee import Amount


@dataclass(slots=True)
class TimedLedger:
    """The same ledger; `waits` and `seconds` say how often and how long the disk was waited for."""

    ledger: Ledger
    waits: int = 0
    seconds: float = 0.0

    def state(self) -> LedgerState:
        """Budgets, spending, dataset and receipts, as they are now."""
        return self.ledger.state()

    def reserve(self, query: str, question: str, amount: Amount, study: str, allowance: Amount) -> Stored | None:
        """Charge a query before it is answered."""
        return self.ledger.reserve(query, question, amount, study, allowance)

    def settle(self) -> None:
        """Have every charge on the disk."""
        self.ledger.settle()

    def store(self, query: str, payload: bytes) -> str:
        """Keep the answer to a charged query; its receipt."""
        started = time.perf_counter()
        try:
            return self.ledger.store(query, payload)
        finally:
            self.waits, self.seconds = self.waits + 1, self.seconds + time.perf_counter() - started

    def stored_answer(self, question: str) -> bytes | None:
        """The newest stored answer to a question."""
        return self.ledger.stored_answer(question)

    def close(self) -> None:
        """Let go of whatever the ledger holds on to."""
        self.ledger.close()

    def witnesses(self, receipt: str) -> bool:
        """Whether this ledger has given this receipt."""
        return self.ledger.witnesses(receipt)
