"""What durability costs: answers per second of one owner with its ledger in memory and on disk."""

import itertools
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.side_by_side import take_turns, tell
from copriv.losses.sample import Sample
from copriv.owner.ledger import Ledger
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import make_commitment
from copriv.protocol.messages import Query
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.terms import Terms
from copriv.protocol.wire import encode

RECORDS, PARAMETERS, BATCH, ROUNDS = 10_000, 10, 200, 7


def owners(folder: Path) -> dict[str, tuple[Owner, Terms]]:
    """The same owner twice: records, secure noise and the whole answer path; only the ledger differs."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(RECORDS, PARAMETERS)) / 10
    sample = Sample.of_rows(rows, np.clip(generator.normal(size=RECORDS), -1, 1))
    terms = plain_terms(parameters=PARAMETERS, limit=1.0, horizon=1000)
    guarantee = Guarantee.of(1000)
    commitment = make_commitment(terms, guarantee, records=RECORDS, answers=100_000)
    opening = begin("bank", "records", guarantee)
    ledgers: dict[str, Ledger] = {
        "in memory": MemoryLedger(opening),
        "on disk, durable": SqliteLedger.create(folder / "ledger.sqlite", opening),
    }
    return {
        name: (Owner("bank", terms, commitment, PrivateResponder(sample, commitment), ledger), terms)
        for name, ledger in ledgers.items()
    }


def main() -> None:
    """Print the table."""
    numbers = itertools.count()

    def answer(owner: Owner, terms: Terms) -> None:
        for _ in range(BATCH):
            owner.handle(encode(Query(f"q{next(numbers)}", terms.digest(), "bank", (0.1,) * PARAMETERS)))

    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        made = owners(Path(folder))
        contestants = {name: lambda pair=pair: answer(*pair) for name, pair in made.items()}
        times = take_turns(contestants, ROUNDS)
    memory = times["in memory"]
    tell(
        "ledger",
        f"answers of one owner with {RECORDS:,} × {PARAMETERS} records, bytes in to bytes out, secure Laplace noise; "
        f"medians of {ROUNDS} rounds of {BATCH} answers taken in turns; durable: two commits an answer, "
        "both in the main file and on the disk before it leaves",
        ["ledger", "answers per second", "ms an answer", "times the time in memory"],
        [[name, BATCH / spent, spent / BATCH * 1e3, spent / memory] for name, spent in times.items()],
    )
