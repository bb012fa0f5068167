"""How a budget begins: a dataset's fingerprint, a guarantee, and the amounts that it allows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from copriv.entropy import token
from copriv.errors import BadGuarantee, LedgerRefusal
from copriv.losses.sample import Sample
from copriv.owner.entries import OPEN, Opening
from copriv.owner.ledger_state import LedgerState, keyed
from copriv.privacy.accounting import Accountant, allowed_rho
from copriv.privacy.calibration import spent_epsilon
from copriv.privacy.guarantee import NANO, Amount, Guarantee, Measure
from copriv.records.source import hash_files

# At which what was spent with Gaussian noise is shown, where nobody has declared a δ.
DEFAULT_DELTA = 1e-6


def budget_of(guarantee: Guarantee, accountant: Accountant) -> Amount:
    """All that a guarantee allows to be spent: its ε if it is pure, else the most ρ that the accountant allows."""
    if guarantee.pure:
        return Amount(guarantee.nano_epsilon, "epsilon")
    return Amount(allowed_rho(guarantee, "zcdp" if accountant == "zcdp" else "pld"), "rho")


def budgets_of(guarantee: Guarantee, accountant: Accountant, pure: int = 0) -> dict[Measure, int]:
    """What each account may spend: all in one, or `pure` billionths of ε for Laplace and the rest for Gaussian noise.

    >>> budgets_of(Guarantee.of(1), "pure")
    {'epsilon': 1000000000}
    >>> sorted(budgets_of(Guarantee.of(1, 1e-6), "zcdp", pure=250_000_000))
    ['epsilon', 'rho']
    """
    if not 0 <= pure <= guarantee.nano_epsilon or (pure and guarantee.pure and pure != guarantee.nano_epsilon):
        raise BadGuarantee(
            f"{pure / 1e9:g} of epsilon = {guarantee.epsilon:g} for Laplace noise",
            remedy="set aside a part of an epsilon that has a delta; without one, all of it is for Laplace noise",
            value=pure,
        )
    if guarantee.pure or pure == guarantee.nano_epsilon:
        return {"epsilon": guarantee.nano_epsilon}
    rest = budget_of(Guarantee(guarantee.nano_epsilon - pure, guarantee.delta), accountant)
    return {"epsilon": pure, "rho": rest.nano} if pure else {"rho": rest.nano}


def begin(
    owner: str,
    dataset: str,
    guarantee: Guarantee,
    accountant: Accountant = "pld",
    *,
    pure: int = 0,
    draw_id: Callable[[], str] = token,
) -> Opening:
    """The first entry of a ledger, under a random id and salt of its own.

    Args:
        owner: whose budget it is.
        dataset: SHA-256 of the records; only a keyed hash of it is kept.
        guarantee: promised about any one record, in all.
        accountant: how answers with Gaussian noise add up.
        pure: billionths of ε that are set aside for answers with Laplace noise, if the guarantee has a δ.
        draw_id: a fresh id.
    """
    return _begin(owner, dataset, guarantee, accountant, budgets_of(guarantee, accountant, pure), draw_id)


def begin_open(owner: str, dataset: str, delta: float = 0.0, accountant: Accountant = "pld") -> Opening:
    """The first entry of a ledger for which nobody has declared a budget: spending is noted, and never refused."""
    return _begin(owner, dataset, Guarantee(OPEN, delta), accountant, {"epsilon": OPEN, "rho": OPEN})


def _begin(
    owner: str,
    dataset: str,
    guarantee: Guarantee,
    accountant: Accountant,
    budgets: Mapping[Measure, int],
    draw_id: Callable[[], str] = token,
) -> Opening:
    salt = token()
    return Opening(
        id=draw_id(),
        salt=salt,
        owner=owner,
        dataset=keyed(salt, dataset),
        nano_epsilon=guarantee.nano_epsilon,
        delta=guarantee.delta,
        accountant=accountant if "rho" in budgets else "pure",
        budgets=dict(budgets),
    )


def require_left(state: LedgerState, wanted: Amount) -> None:
    """Refuse a study that a ledger cannot pay for: too little is left, or not in the currency of its noise."""
    left = state.account(wanted.measure).left
    if wanted.nano > left:
        raise LedgerRefusal(
            f"the ledger of {state.owner!r} has {Amount(left, wanted.measure).words} left, and this promise may take "
            f"{wanted.words}",
            remedy="promise a smaller epsilon, or raise the budget, signed: copriv ledger epoch LEDGER "
            + epoch_options(state, wanted.measure),
            value=left,
        )


def epoch_options(state: LedgerState, measure: Measure) -> str:
    """Which options of `copriv ledger epoch` let a ledger spend more in one currency."""
    if measure == "epsilon":
        return "--epsilon E" if state.guarantee.pure else "--epsilon E --pure P (P of it for Laplace noise)"
    return "--epsilon E --delta D" if state.guarantee.pure else "--epsilon E"


def total_epsilon(state: LedgerState) -> float:
    """ε_pure + ε(ρ, δ) of everything that was spent, at the guarantee's δ, or at one in a million if it has none."""
    delta = state.guarantee.delta or DEFAULT_DELTA
    guarantee = Guarantee(state.guarantee.nano_epsilon, delta)
    spent = {measure: account.spent for measure, account in state.accounts.items()}
    pure, gaussian = spent.get("epsilon", 0) / NANO, spent.get("rho", 0)
    accountant: Accountant = "zcdp" if state.accountant == "zcdp" else "pld"
    return pure + (spent_epsilon(Amount(gaussian, "rho"), guarantee, accountant) if gaussian else 0.0)


def fingerprint_of_sample(sample: Sample) -> str:
    """SHA-256 of records as they are answered from. It never leaves, and ledgers keep it keyed only."""
    found = hashlib.sha256(repr(sample.columns.shape).encode())
    found.update(sample.columns.tobytes())
    found.update(sample.targets.tobytes())
    found.update(sample.offsets.tobytes())
    return found.hexdigest()


def fingerprint_of_file(path: Path) -> str:
    """SHA-256 of a file, or of all files of a folder, in pieces. It never leaves, and ledgers keep it keyed only."""
    found = hashlib.sha256()
    hash_files(path, found)
    return found.hexdigest()
