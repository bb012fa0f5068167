"""Declaring a budget for records that have spent already: what each account may hold from now on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from copriv.errors import LedgerRefusal
from copriv.owner.block_accounts import Account
from copriv.owner.ledger_opening import DEFAULT_DELTA, budgets_of, epoch_options, total_epsilon
from copriv.owner.ledger_state import LedgerState
from copriv.privacy.guarantee import NANO, Amount, Guarantee, Measure, ceil_nano, written


@dataclass(frozen=True, slots=True)
class Declaration:
    """A guarantee for everything that was and will be said about records, and what each account may spend under it."""

    guarantee: Guarantee
    budgets: Mapping[Measure, int]


def undeclared(state: LedgerState) -> bool:
    """Whether nobody has declared a budget yet, so that spending is only noted."""
    return any(account.open for account in state.accounts.values())


def spent_in(state: LedgerState, measure: Measure) -> int:
    """Billionths that were spent in one currency."""
    return state.accounts[measure].spent if measure in state.accounts else 0


def after_spending(state: LedgerState, price: Amount) -> LedgerState:
    """The state as it would stand after one more charge, whatever the budget says."""
    account = state.accounts.get(price.measure, Account(Amount(0, price.measure)))
    more = replace(account, spent=account.spent + price.nano)
    return replace(state, accounts={**state.accounts, price.measure: more})


def lost_in_all(state: LedgerState) -> Guarantee:
    """(ε_pure + ε(ρ, δ), δ) of everything that was spent, rounded up; δ = 0 if all noise was Laplace noise."""
    pure = spent_in(state, "epsilon")
    if not spent_in(state, "rho"):
        return Guarantee(max(pure, 1))
    return Guarantee(max(ceil_nano(total_epsilon(state)), 1), state.guarantee.delta or DEFAULT_DELTA)


def declare_spent_and(state: LedgerState, price: Amount, delta: float) -> Declaration:
    """A budget of what is spent and of one more promise."""
    after = after_spending(state, price)
    budgets: dict[Measure, int] = {measure: held.spent for measure, held in after.accounts.items() if held.spent}
    lost = lost_in_all(after)
    return Declaration(Guarantee(lost.nano_epsilon, max(lost.delta, delta)), budgets)


def declare_total(state: LedgerState, total: Guarantee, price: Amount) -> Declaration:
    """A budget of so much in all, spending included; what is not spent yet goes to the currency of `price`."""
    pure, rho = spent_in(state, "epsilon"), spent_in(state, "rho")
    if price.measure == "rho":
        _require_at_least(total, pure)
        return Declaration(total, budgets_of(total, "zcdp" if state.accountant == "zcdp" else "pld", pure))
    if not rho:
        return Declaration(Guarantee(total.nano_epsilon), {"epsilon": total.nano_epsilon})
    guarantee = Guarantee(total.nano_epsilon, state.guarantee.delta or DEFAULT_DELTA)
    gaussian = ceil_nano(total_epsilon(replace(state, guarantee=guarantee)) - pure / NANO)
    _require_at_least(total, gaussian + pure)
    return Declaration(guarantee, {"epsilon": total.nano_epsilon - gaussian, "rho": rho})


def declare_epoch(state: LedgerState, total: Guarantee, pure: int | None) -> Declaration:
    """Another budget for a ledger, spending included; every account that has spent something stays.

    Args:
        state: the ledger's.
        total: promised from now on, in all.
        pure: billionths of ε for Laplace noise, beside Gaussian noise; None for as many as there are: what was set
            aside, or what was spent where nobody has declared a budget.
    """
    aside = _set_aside(state, total) if pure is None else pure
    if spent_in(state, "rho") and total.pure:
        raise LedgerRefusal(
            f"{_spent_words(state, 'rho')} is spent with Gaussian noise, for which a promise needs a delta",
            remedy=f"add --delta, {DEFAULT_DELTA:g} say",
            value=total.delta,
        )
    if aside > total.nano_epsilon:
        raise LedgerRefusal(
            f"epsilon = {total.epsilon:g} is less than what is for Laplace noise: {aside / NANO:g}",
            remedy=f"choose a larger --epsilon, or give --pure (spent of it: {_spent_words(state, 'epsilon')})",
            value=aside,
        )
    budgets = budgets_of(total, "zcdp" if state.accountant == "zcdp" else "pld", aside)
    _require_spent(state, "epsilon", budgets, "choose a larger --epsilon" if total.pure else "choose a larger --pure")
    _require_spent(state, "rho", budgets, "choose a larger --epsilon or --delta, or a smaller --pure")
    return Declaration(total, budgets)


def require_room(state: LedgerState, price: Amount, ledger: str) -> None:
    """Refuse a charge that the records cannot pay."""
    left = state.account(price.measure).left
    if price.nano > left:
        raise LedgerRefusal(
            f"the budget of these records has {written(max(left, 0))} {price.measure} left, and this may take "
            f"{written(price.nano)}",
            remedy=f"ask for a smaller epsilon; or raise the budget, signed: copriv ledger epoch {ledger} "
            + epoch_options(state, price.measure),
            value=left,
        )


def require_within(state: LedgerState, price: Amount, total: Guarantee) -> None:
    """Refuse a charge after which records would have lost more than `total`."""
    lost = lost_in_all(after_spending(state, price))
    if lost.nano_epsilon > total.nano_epsilon:
        raise LedgerRefusal(
            f"after this run these records would have lost epsilon = {written(lost.nano_epsilon)} in all "
            f"(delta = {lost.delta:g}), and the budget is {written(total.nano_epsilon)}",
            remedy="ask for a smaller epsilon, or allow a larger --budget",
            value=lost.epsilon,
        )


def _set_aside(state: LedgerState, total: Guarantee) -> int:
    """What is for Laplace noise beside Gaussian noise, unless somebody says otherwise."""
    if total.pure or "epsilon" not in state.accounts:
        return 0
    account = state.accounts["epsilon"]
    return account.spent if account.open else account.budget.nano


def _spent_words(state: LedgerState, measure: Measure) -> str:
    return Amount(spent_in(state, measure), measure).words


def _require_spent(state: LedgerState, measure: Measure, budgets: Mapping[Measure, int], remedy: str) -> None:
    """No account falls below what it has spent."""
    if spent_in(state, measure) > budgets.get(measure, 0):
        allowed = Amount(budgets.get(measure, 0), measure).words
        raise LedgerRefusal(
            f"this promise allows {allowed}, less than what is spent: {_spent_words(state, measure)}",
            remedy=f"what has been said cannot be taken back; {remedy}",
            value=budgets.get(measure, 0),
        )


def _require_at_least(total: Guarantee, spent: int) -> None:
    if total.nano_epsilon <= spent:
        raise LedgerRefusal(
            f"a budget of epsilon = {written(total.nano_epsilon)} is not more than what is spent: {written(spent)}",
            remedy="what has been said cannot be taken back; choose a larger budget",
            value=total.epsilon,
        )
