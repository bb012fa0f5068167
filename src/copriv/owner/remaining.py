"""What an owner can still say in a study: as much as it promised, and no more than the budget of its records allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from copriv.owner.entries import Charge, Entry
from copriv.owner.ledger_state import LedgerState
from copriv.owner.owner import account_of
from copriv.privacy.calibration import spent_epsilon
from copriv.privacy.guarantee import Amount
from copriv.protocol.commitment import Commitment


@dataclass(frozen=True, slots=True)
class Remaining:
    """What one study has spent, and what is left for it.

    Args:
        epsilon_spent: at the δ of the promise.
        epsilon_left: of the promise, or of the records' budget where that is less: others may have spent it.
        answers: so far.
        answers_left: likewise, the most that can still be paid.
    """

    epsilon_spent: float
    epsilon_left: float
    answers: int
    answers_left: int


def remaining(state: LedgerState, entries: Iterable[Entry], commitment: Commitment, study: str) -> Remaining:
    """What is left of a promise.

    Args:
        state: of the ledger that pays.
        entries: its entries.
        commitment: what was promised to the study.
        study: the digest of its terms.
    """
    counted = Counter(entry.body.study for entry in entries if isinstance(entry.body, Charge))
    accounts = list(dict.fromkeys(account_of(study, part.kind) for part in commitment.parts))
    spent, measure = sum(map(state.spent_by, accounts)), commitment.budget.measure
    left = state.account_for(study, measure).left if measure in state.accounts else 0
    used = _epsilon(spent, commitment)
    open_questions = [
        (part.calibration.charge.nano, part.calibration.answers - counted[account_of(study, part.kind)])
        for part in commitment.parts
        if not part.share
    ]
    open_questions += _on_the_menu(state, commitment, study)
    return Remaining(
        epsilon_spent=used,
        epsilon_left=max(_reachable(spent, left, commitment) - used, 0.0),
        answers=sum(counted[account] for account in accounts),
        answers_left=payable(open_questions, left),
    )


def _on_the_menu(state: LedgerState, commitment: Commitment, study: str) -> list[tuple[int, int]]:
    """The cheapest choice, and how often what the menu has left pays for it."""
    if not commitment.menu:
        return []
    left = commitment.calibration.budget.nano - state.spent_by(account_of(study, commitment.main))
    cheapest = min(part.calibration.charge.nano for part in commitment.menu)
    return [(cheapest, left // cheapest)]


def payable(questions: Iterable[tuple[int, int]], left: int) -> int:
    """The most answers that what is left can pay for: the cheapest first.

    >>> payable([(10, 3), (4, 2)], left=25), payable([(10, 3), (4, 2)], left=100), payable([(10, 3)], left=-1)
    (3, 5, 0)
    """
    answers = 0
    for price, most in sorted(questions):
        paid = max(min(most, left // price), 0)
        answers, left = answers + paid, left - paid * price
    return answers


def _reachable(spent: int, left: int, commitment: Commitment) -> float:
    """The ε that the study can come to: all that was promised, unless the account ends before."""
    if left >= commitment.budget.nano - spent:
        return commitment.calibration.guarantee.epsilon
    return _epsilon(spent + max(left, 0), commitment)


def _epsilon(nano: int, commitment: Commitment) -> float:
    calibration, measure = commitment.calibration, commitment.budget.measure
    return spent_epsilon(Amount(nano, measure), calibration.guarantee, calibration.accountant) if nano else 0.0
