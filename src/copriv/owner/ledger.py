"""What a ledger is: the account of one dataset's budget. A charge is on record before a record is touched.

`reserve` and `store` are the two halves of an answer: reserve, compute, store, send. A query id is charged once. Asked
again with the same question, the stored bytes come back for free; with another question, it is a conflict. So it is
where a charge has no answer yet, and the answer would now cost more than was charged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from copriv.owner.ledger_state import LedgerState
from copriv.privacy.guarantee import Amount


@dataclass(frozen=True, slots=True)
class Stored:
    """An answer that was given before, and its receipt."""

    payload: bytes
    receipt: str


class Ledger(Protocol):
    """The account of one dataset, shared by every study and learner."""

    def state(self) -> LedgerState:
        """Budgets, spending, dataset and receipts, as they are now."""

    def reserve(self, query: str, question: str, amount: Amount, study: str, allowance: Amount) -> Stored | None:
        """Charge a query before it is answered.

        Returns:
            The stored answer if this very question was answered before (nothing is charged), else None.

        Raises:
            QueryConflict: the id was used for another question, or charged less than its answer would cost now.
            LedgerRefusal: the budget, or the study's share of it, does not allow the charge.
            LedgerFailure: the charge could not be recorded; nothing may be computed.
        """

    def settle(self) -> None:
        """Have every charge on the disk, where none of their answers is stored.

        Raises:
            LedgerFailure: it could not be recorded; nothing may be said.
        """

    def store(self, query: str, payload: bytes) -> str:
        """Keep the answer to a charged query, so that it is the only one that ever leaves; its receipt.

        Raises:
            LedgerFailure: the answer could not be recorded; it must not be sent.
        """

    def stored_answer(self, question: str) -> bytes | None:
        """The newest stored answer to a question, under whatever id it was asked; None if there is none.

        Answers from before a new version of the records do not count: nothing more is told of what was replaced.

        Raises:
            LedgerFailure: it cannot be read as it was stored.
        """

    def close(self) -> None:
        """Let go of whatever the ledger holds on to."""

    def witnesses(self, receipt: str) -> bool:
        """Whether this ledger has given this receipt; if not, it was rolled back or replaced."""
