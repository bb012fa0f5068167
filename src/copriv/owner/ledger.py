"""What a ledger is: the account of one owner's budget. A charge is on record before anything is computed from records.

`reserve` and `store` are the two halves of an answer: reserve, compute, store, send. A query id is charged once. Asked
again with the same question, the stored bytes come back for free; with another question, it is a conflict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from copriv.errors import LedgerRefusal, QueryConflict
from copriv.privacy.guarantee import Amount


@dataclass(frozen=True, slots=True)
class Account:
    """Where a budget stands."""

    budget: Amount
    spent: Amount
    answers: int


class Ledger(Protocol):
    """The account of one owner."""

    def account(self) -> Account:
        """Budget, spending and number of charged queries."""

    def reserve(self, query: str, question: bytes, charge: Amount) -> bytes | None:
        """Charge a query before it is answered.

        Returns:
            The stored answer if this very question was answered before (nothing is charged), else None.

        Raises:
            QueryConflict: the id was used for another question.
            LedgerRefusal: the budget does not allow the charge.
        """

    def store(self, query: str, answer: bytes) -> None:
        """Keep the answer to a charged query, so that it is the only one that ever leaves."""


def conflict(query: str) -> QueryConflict:
    """The id was used for another question."""
    return QueryConflict(f"the query {query!r} was asked before at another model", remedy="use a new id", value=query)


def exhausted(account: Account, charge: Amount) -> LedgerRefusal:
    """The budget does not allow the charge."""
    return LedgerRefusal(
        f"the budget is spent: {account.spent.nano} of {account.budget.nano} nano-{account.budget.measure}, "
        f"and an answer costs {charge.nano}",
        remedy="this owner answers no more in this study",
        value=account.spent.nano,
    )


def unknown(query: str) -> LedgerRefusal:
    """An answer without a reservation."""
    return LedgerRefusal(f"the query {query!r} was never charged", remedy="reserve before answering", value=query)


def answered(query: str) -> QueryConflict:
    """A second answer to one query."""
    return QueryConflict(f"the query {query!r} already has its answer", remedy="send the stored one", value=query)


def require_currency(budget: Amount, charge: Amount) -> None:
    """Refuse to pay ρ from an account of ε, or the other way round."""
    if budget.measure != charge.measure:
        raise LedgerRefusal(
            f"a charge in {charge.measure} against a budget in {budget.measure}",
            remedy="use the mechanism the budget was made for",
            value=charge.measure,
        )
