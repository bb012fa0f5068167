"""Declaring a budget for records that have spent already: what each account may hold from now on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from copriv.errors import LedgerRefusal
from copriv.owner.book import Account, Book
from copriv.owner.genesis import DEFAULT_DELTA, budgets_of, total_epsilon
from copriv.privacy.guarantee import NANO, Amount, Guarantee, Measure, ceil_nano, written


@dataclass(frozen=True, slots=True)
class Declaration:
    """A guarantee for everything that was and will be said about records, and what each account may spend under it."""

    guarantee: Guarantee
    budgets: Mapping[Measure, int]


def undeclared(book: Book) -> bool:
    """Whether nobody has declared a budget yet, so that spending is only noted."""
    return any(account.open for account in book.accounts.values())


def spent_in(book: Book, measure: Measure) -> int:
    """Billionths that were spent in one currency."""
    return book.accounts[measure].spent if measure in book.accounts else 0


def after_spending(book: Book, price: Amount) -> Book:
    """The book as it would stand after one more charge, whatever the budget says."""
    account = book.accounts.get(price.measure, Account(Amount(0, price.measure)))
    more = replace(account, spent=account.spent + price.nano)
    return replace(book, accounts={**book.accounts, price.measure: more})


def lost_in_all(book: Book) -> Guarantee:
    """(ε_pure + ε(ρ, δ), δ) of everything that was spent, rounded up; δ = 0 if all noise was Laplace noise."""
    pure = spent_in(book, "epsilon")
    if not spent_in(book, "rho"):
        return Guarantee(max(pure, 1))
    return Guarantee(max(ceil_nano(total_epsilon(book)), 1), book.guarantee.delta or DEFAULT_DELTA)


def declare_spent_and(book: Book, price: Amount, delta: float) -> Declaration:
    """A budget of what is spent and of one more promise."""
    after = after_spending(book, price)
    budgets: dict[Measure, int] = {measure: held.spent for measure, held in after.accounts.items() if held.spent}
    lost = lost_in_all(after)
    return Declaration(Guarantee(lost.nano_epsilon, max(lost.delta, delta)), budgets)


def declare_total(book: Book, total: Guarantee, price: Amount) -> Declaration:
    """A budget of so much in all, spending included; what is not spent yet goes to the currency of `price`."""
    pure, rho = spent_in(book, "epsilon"), spent_in(book, "rho")
    if price.measure == "rho":
        _require_at_least(total, pure)
        return Declaration(total, budgets_of(total, "zcdp" if book.accountant == "zcdp" else "pld", pure))
    if not rho:
        return Declaration(Guarantee(total.nano_epsilon), {"epsilon": total.nano_epsilon})
    guarantee = Guarantee(total.nano_epsilon, book.guarantee.delta or DEFAULT_DELTA)
    gaussian = ceil_nano(total_epsilon(replace(book, guarantee=guarantee)) - pure / NANO)
    _require_at_least(total, gaussian + pure)
    return Declaration(guarantee, {"epsilon": total.nano_epsilon - gaussian, "rho": rho})


def require_room(book: Book, price: Amount, ledger: str) -> None:
    """Refuse a charge that the records cannot pay."""
    left = book.account(price.measure).left
    if price.nano > left:
        raise LedgerRefusal(
            f"the budget of these records has {written(max(left, 0))} {price.measure} left, and this may take "
            f"{written(price.nano)}",
            remedy=f"ask for a smaller epsilon; or raise the budget, signed: copriv ledger epoch {ledger}",
            value=left,
        )


def require_within(book: Book, price: Amount, total: Guarantee) -> None:
    """Refuse a charge after which records would have lost more than `total`."""
    lost = lost_in_all(after_spending(book, price))
    if lost.nano_epsilon > total.nano_epsilon:
        raise LedgerRefusal(
            f"after this run these records would have lost epsilon = {written(lost.nano_epsilon)} in all "
            f"(delta = {lost.delta:g}), and the budget is {written(total.nano_epsilon)}",
            remedy="ask for a smaller epsilon, or allow a larger --budget",
            value=lost.epsilon,
        )


def _require_at_least(total: Guarantee, spent: int) -> None:
    if total.nano_epsilon <= spent:
        raise LedgerRefusal(
            f"a budget of epsilon = {written(total.nano_epsilon)} is not more than what is spent: {written(spent)}",
            remedy="what has been said cannot be taken back; choose a larger budget",
            value=total.epsilon,
        )
