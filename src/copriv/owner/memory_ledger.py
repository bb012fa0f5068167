"""A ledger in memory, for simulations: the contract of a ledger without its durability."""

from __future__ import annotations

from copriv.owner.ledger import Account, answered, conflict, exhausted, require_currency, unknown
from copriv.privacy.guarantee import Amount


class MemoryLedger:
    """Forgets everything when the process ends; never to be used for records."""

    def __init__(self, budget: Amount) -> None:
        self._budget = budget
        self._spent = 0
        self._questions: dict[str, bytes] = {}
        self._answers: dict[str, bytes] = {}

    def account(self) -> Account:
        """Budget, spending and number of charged queries."""
        return Account(self._budget, Amount(self._spent, self._budget.measure), len(self._questions))

    def reserve(self, query: str, question: bytes, charge: Amount) -> bytes | None:
        """Charge a query before it is answered."""
        require_currency(self._budget, charge)
        if query in self._questions:
            if self._questions[query] != question:
                raise conflict(query)
            return self._answers.get(query)
        if self._spent + charge.nano > self._budget.nano:
            raise exhausted(self.account(), charge)
        self._questions[query] = question
        self._spent += charge.nano
        return None

    def store(self, query: str, answer: bytes) -> None:
        """Keep the answer to a charged query."""
        if query not in self._questions:
            raise unknown(query)
        if query in self._answers:
            raise answered(query)
        self._answers[query] = answer
