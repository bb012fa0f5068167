"""A ledger in memory: the contract without the durability, for simulations and for what is paid for in advance."""

from __future__ import annotations

from collections.abc import Callable

from copriv.entropy import token
from copriv.owner.entries import Opening
from copriv.owner.ledger import Stored
from copriv.owner.ledger_state import LedgerState, append, open_state
from copriv.privacy.guarantee import Amount


class MemoryLedger:
    """Forgets everything when the process ends; for records only within a run whose price is on a durable ledger.

    Args:
        opening: the first entry.
        draw: a fresh receipt.
    """

    def __init__(self, opening: Opening, draw: Callable[[], str] = token) -> None:
        self._state, _ = open_state(opening)
        self._draw = draw
        self._payloads: dict[str, bytes] = {}

    def state(self) -> LedgerState:
        """Budgets, spending, dataset and receipts."""
        return self._state

    def reserve(self, query: str, question: str, amount: Amount, study: str, allowance: Amount) -> Stored | None:
        """Charge a query before it is answered."""
        entry = self._state.charge(query, question, amount, study, allowance)
        if entry is not None:
            self._state = append(self._state, entry)
            return None
        receipt = self._state.queries[query].answer
        return None if receipt is None else Stored(self._payloads[query], receipt)

    def settle(self) -> None:
        """Nothing to wait for."""

    def store(self, query: str, payload: bytes) -> str:
        """Keep the answer to a charged query."""
        receipt = self._draw()
        self._state = append(self._state, self._state.answer(query, payload, receipt))
        self._payloads[query] = payload
        return receipt

    def stored_answer(self, question: str) -> bytes | None:
        """The newest stored answer to a question."""
        query = self._state.answers.get(question)
        return None if query is None else self._payloads[query]

    def witnesses(self, receipt: str) -> bool:
        """Whether this ledger has given this receipt."""
        return receipt in self._state.receipts

    def close(self) -> None:
        """Nothing to let go of."""
