"""Where a ledger stands, for a terminal and for other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from copriv.owner.block_sheet import BlockShown, block_lines, show_blocks
from copriv.owner.entries import Charge
from copriv.owner.ledger_opening import total_epsilon
from copriv.owner.ledger_state import LedgerState
from copriv.owner.owner import study_of
from copriv.owner.payload import read_stored
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import ADJACENCY, Amount, Measure
from copriv.protocol.text import plain
from copriv.report.dataset_statement import book_weakness
from copriv.report.ledger_history import learner_name, study_name
from copriv.report.menu import at_share, kind_name, told_along
from copriv.report.sentence import many


class AccountShown(msgspec.Struct):
    """One account of a ledger: billionths of ε for Laplace, of ρ for Gaussian noise; None if no budget is declared."""

    currency: str
    budget: int | None
    spent: int


class LedgerSheet(msgspec.Struct):
    """Where a budget stands, as it is shown."""

    ledger: str
    owner: str
    id: str
    epsilon: float | None
    delta: float
    unit: str
    adjacency: str
    accountant: str
    accounts: list[AccountShown]
    epsilon_spent: float
    answers: int
    studies: dict[str, int]
    receipt: str
    names: dict[str, str]
    weakness: str | None
    asked: dict[str, str] = {}
    blocks: list[BlockShown] = []
    along: dict[str, str] = {}


def what_was_chosen(ledger: SqliteLedger) -> dict[str, str]:
    """What learners have chosen from the menus of their studies, in words, by the digest of the study.

    A study whose answers have all cost the same had nothing to choose: it is left out, and its answers are not read.
    """
    charges = [entry.body for entry in ledger.entries() if isinstance(entry.body, Charge)]
    prices: dict[str, set[int]] = {}
    for charge in charges:
        prices.setdefault(charge.study, set()).add(charge.nano)
    answered = {query for query, asked in ledger.state().queries.items() if asked.answer is not None}
    counted: dict[str, Counter[tuple[str, int, int]]] = {}
    for charge in charges:
        if len(prices[charge.study]) > 1 and charge.query in answered:
            stored = read_stored(ledger.answer_to(charge.query))
            if stored is not None and stored.share:
                counted.setdefault(study_of(charge.study), Counter())[stored.kind, stored.share, stored.before] += 1
    return {study: _chosen(found) for study, found in counted.items()}


def _chosen(found: Counter[tuple[str, int, int]]) -> str:
    return ", ".join(
        f"{kind_name(kind)}{at_share(share, before)} ({times})"
        for (kind, share, before), times in sorted(found.items(), key=lambda item: (item[0][0], item[0][2], item[0][1]))
    )


def ledger_sheet(path: Path, book: LedgerState, asked: dict[str, str] | None = None) -> LedgerSheet:
    """The sheet of a ledger; `asked` has what was chosen from menus (`what_was_chosen`)."""
    undeclared = any(account.open for account in book.accounts.values())
    return LedgerSheet(
        ledger=str(path),
        owner=book.owner,
        id=book.id,
        epsilon=None if undeclared else book.guarantee.epsilon,
        delta=book.guarantee.delta,
        unit=book.unit_words,
        adjacency=ADJACENCY,
        accountant=book.accountant,
        accounts=[
            AccountShown(f"nano-{measure}", None if account.open else account.budget.nano, account.spent)
            for measure, account in book.accounts.items()
        ],
        epsilon_spent=total_epsilon(book),
        answers=len(book.queries),
        studies={study: amount.nano for study, amount in book.studies.items()},
        receipt=f"{book.sequence}:{book.head}",
        names={study: f"{study_name(book, study)}, {learner_name(book, study)}" for study in book.enrolled},
        weakness=book_weakness(book),
        asked=asked or {},
        blocks=show_blocks(book),
        along={study: told_along(enrolled.axes) for study, enrolled in book.enrolled.items() if enrolled.axes},
    )


def sheet_lines(told: LedgerSheet, words: str) -> Iterator[str]:
    """A sheet under a headline."""
    promised = "no budget is declared: spending is noted" if told.epsilon is None else f"ε = {told.epsilon:g}"
    yield words
    rows = [
        ("owner", plain(told.owner)),
        ("promised", f"{promised}, δ = {told.delta:g} for any one {told.unit} ({told.adjacency})"),
        ("spent", f"ε = {told.epsilon_spent:.6g} in {many(told.answers, 'answer')}, {_studies(len(told.studies))}"),
    ]
    rows.extend(("account", f"{_account_words(account)} ({told.accountant})") for account in told.accounts)
    rows.extend(("block", line) for line in block_lines(told.blocks))
    for study, name in told.names.items():
        rows.append(("study", f"{name} ({study[:12]})"))
        rows.extend([("asked", told.asked[study])] if study in told.asked else [])
        rows.extend([("axes", told.along[study])] if study in told.along else [])
    if told.weakness:
        rows.append(("beware", told.weakness))
    for name, value in (*rows, ("receipt", told.receipt)):
        yield f"  {name:<9} {value}"


def _account_words(account: AccountShown) -> str:
    """What an account has spent and may spend, in ε or ρ."""
    measure: Measure = "epsilon" if account.currency == "nano-epsilon" else "rho"
    limit = "no limit" if account.budget is None else Amount(account.budget, measure).words
    return f"{Amount(account.spent, measure).words} of {limit}"


def _studies(count: int) -> str:
    return "1 study" if count == 1 else f"{count:,} studies"
