"""How a ledger says no, in words that name the value and the remedy."""

from __future__ import annotations

from copriv.errors import LedgerFailure, LedgerRefusal, QueryConflict
from copriv.privacy.guarantee import Amount


def broken(how: str) -> LedgerFailure:
    """The ledger contradicts itself."""
    return LedgerFailure(
        f"the ledger is damaged: {how}",
        remedy="do not answer from it; keep the file and ask whoever backs it up",
        value=how,
    )


def conflict(query: str) -> QueryConflict:
    """A query id that was used for something else."""
    return QueryConflict(
        f"the query {query!r} was asked before at another model, or for less", remedy="use a new id", value=query
    )


def uncharged(query: str) -> LedgerRefusal:
    """An answer to what was never paid for."""
    return LedgerRefusal(f"the query {query!r} was never charged", remedy="reserve before answering", value=query)


def answered(query: str) -> QueryConflict:
    """A second answer to a query."""
    return QueryConflict(f"the query {query!r} already has its answer", remedy="send the stored one", value=query)


def other_records(owner: str) -> LedgerRefusal:
    """Records that a ledger was not made for."""
    return LedgerRefusal(
        f"the ledger of {owner!r} is for other records than these",
        remedy="if the records have changed, open a new version: copriv ledger version",
    )


def exhausted(what: str, spent: int, limit: Amount, amount: Amount) -> LedgerRefusal:
    """A budget, or a share of one, that cannot pay."""
    gone = Amount(spent, limit.measure)
    return LedgerRefusal(
        f"the {what} is spent: {gone.words} of {limit.words}, and an answer costs {amount.words}",
        remedy="this owner answers no more",
        value=spent,
    )


def other_currency(given: str, accounts: tuple[str, ...]) -> LedgerRefusal:
    """A charge in a currency for which there is no account."""
    return LedgerRefusal(
        f"a charge in {given} against a budget in {' and '.join(accounts)}",
        remedy="a budget with delta = 0 is for Laplace noise, one with delta > 0 for Gaussian noise, unless a part of "
        "it was set aside for Laplace noise; `copriv ledger epoch` with --delta and --pure opens an account for it",
        value=given,
    )


def two_accounts(ledger: str) -> LedgerRefusal:
    """A question for the only account of a ledger that has two."""
    return LedgerRefusal("this ledger has a pure and a Gaussian account", remedy="ask for one of them", value=ledger)


def require_signature(name: str) -> None:
    """Refuse what nobody has signed."""
    if not name.strip():
        raise LedgerRefusal("nobody has signed off", remedy="say who does: --signed-off-by NAME", value=name)


def other_unit(owner: str, mine: str, unit: str) -> LedgerRefusal:
    """A study that counts for something else: what a record has lost a person has lost for every row."""
    return LedgerRefusal(
        f"the ledger of {owner!r} counts what one {mine} has lost, and this study is about one {unit}: a person's rows "
        "add up, so neither can pay for the other",
        remedy=f"take part in studies about one {mine} with these records",
        value=unit,
    )
