"""How a budget begins: a dataset's fingerprint, a guarantee, and the amount that it allows."""

from __future__ import annotations

import hashlib
from pathlib import Path

from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.owner.book import Genesis
from copriv.privacy.accounting import Accountant, allowed_rho
from copriv.privacy.guarantee import Amount, Guarantee

_CHUNK = 1 << 20


def budget_of(guarantee: Guarantee, accountant: Accountant) -> Amount:
    """All that a guarantee allows to be spent: its ε if it is pure, else the most ρ that the accountant allows."""
    if guarantee.pure:
        return Amount(guarantee.nano_epsilon, "epsilon")
    return Amount(allowed_rho(guarantee, "zcdp" if accountant == "zcdp" else "pld"), "rho")


def begin(owner: str, dataset: str, guarantee: Guarantee, accountant: Accountant = "pld") -> Genesis:
    """The first entry of a ledger."""
    budget = budget_of(guarantee, accountant)
    return Genesis(
        owner=owner,
        dataset=dataset,
        nano_epsilon=guarantee.nano_epsilon,
        delta=guarantee.delta,
        accountant="pure" if guarantee.pure else accountant,
        budget=budget.nano,
        measure=budget.measure,
    )


def fingerprint_of_sample(sample: Sample) -> str:
    """SHA-256 of records as they are answered from."""
    found = hashlib.sha256(repr(sample.columns.shape).encode())
    found.update(sample.columns.tobytes())
    found.update(sample.targets.tobytes())
    return found.hexdigest()


def fingerprint_of_file(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    if not path.is_file():
        raise BadInput(f"there is no file {path}", remedy="check the path", value=str(path))
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()
