"""What levels cost: an answer that can be made finer beside one call of OpenDP, and whole answers of an owner."""

import itertools
from collections.abc import Callable

import numpy as np

from benchmarks.side_by_side import take_turns, tell
from copriv.entropy import secure
from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder
from copriv.privacy.exact import PrivateVector
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.laplace import Laplace
from copriv.privacy.levels import release_levels
from copriv.protocol.commitment import make_commitment
from copriv.protocol.messages import Query
from copriv.protocol.plain_terms import plain_terms

RECORDS, PARAMETERS, BATCH, ROUNDS = 10_000, 10, 40, 7
TWENTY = tuple(range(5, 101, 5))
SIX = (5, 10, 20, 40, 60, 100)


def _draw(shares: tuple[int, ...]) -> None:
    scales = [1 / share for share in shares[::-1]]
    for _ in range(BATCH):
        release_levels(PrivateVector(np.zeros(PARAMETERS)), scales, secure().randbytes)


def _draw_one() -> None:
    for _ in range(BATCH):
        Laplace(1.0).release(PrivateVector(np.zeros(PARAMETERS)))


def _asking(delta: float, steps: tuple[tuple[int, int], ...]) -> Callable[[], None]:
    """An owner that is asked in these steps, each time with a fresh ledger; how to ask it once more."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(RECORDS, PARAMETERS)) / 10
    sample = Sample.of_rows(rows, np.clip(generator.normal(size=RECORDS), -1, 1))
    terms = plain_terms(parameters=PARAMETERS, limit=1.0, answers=2, shares=TWENTY, kinds=("gradient",))
    guarantee, numbers = Guarantee.of(1, delta), itertools.count()
    commitment = make_commitment(terms, guarantee, records=RECORDS, answers=2)
    responder, opening = PrivateResponder(sample, commitment), begin("bank", "records", guarantee)

    def ask() -> None:
        for _ in range(BATCH):
            owner = Owner("bank", terms, commitment, responder, MemoryLedger(opening))
            for share, before in steps:
                name = f"q{next(numbers)}"
                owner.answer(Query(name, terms.digest(), "bank", (0.1,) * PARAMETERS, None, "gradient", share, before))

    return ask


def main() -> None:
    """Print the table."""
    contestants = {
        "one level, OpenDP's Laplace": _draw_one,
        "one level, as part of a stack": lambda: _draw((100,)),
        "6 levels": lambda: _draw(SIX),
        "20 levels": lambda: _draw(TWENTY),
        "owner, 100 % at once": _asking(0.0, ((100, 0),)),
        "owner, 5 % and then 95 % more": _asking(0.0, ((5, 0), (95, 5))),
        "owner, Gaussian, 5 % and then 95 %": _asking(1e-6, ((5, 0), (95, 0))),
    }
    times = take_turns(contestants, ROUNDS)
    one = times["one level, OpenDP's Laplace"]
    tell(
        "levels",
        f"{PARAMETERS} numbers, a menu of 20 shares, {RECORDS:,} records, ledger in memory; medians of {ROUNDS} rounds "
        f"of {BATCH} taken in turns; an owner's answers are whole ones, with the gradient",
        ["what", "ms", "times one call of OpenDP"],
        [[name, spent / BATCH * 1e3, spent / one] for name, spent in times.items()],
    )
