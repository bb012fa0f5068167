"""Joining a study with records that may be known: from which ledger it is paid, and what they have lost before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from copriv.entropy import token
from copriv.errors import BadInput
from copriv.owner.dataset_ledger import (
    Settled,
    Word,
    check_split,
    open_registered,
    open_settled,
    require_apart,
    require_unclaimed,
    settle,
)
from copriv.owner.declaration import declare_spent_and, require_room, undeclared
from copriv.owner.known_people import with_known_people
from copriv.owner.ledger_opening import begin, budget_of, fingerprint_of_file
from copriv.owner.reading import Reading, choose_reading, require_unit
from copriv.owner.registry import Found, Registry
from copriv.owner.split import Split, split_rows
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.standing import Standing, lost_before
from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.terms import Terms


@dataclass(frozen=True, slots=True)
class Joining:
    """The ledger that a study is paid from; decided, and not yet written.

    Args:
        settled: whose records they are.
        ledger: where their ledger is, or will be.
        split: all rows are private.
        lost: what the records have lost before; None if nothing, or if they are new.
        unit: what that is counted for.
    """

    settled: Settled
    ledger: Path
    split: Split
    lost: Guarantee | None
    unit: str = "record"

    def notices(self) -> tuple[str, ...]:
        """What a person has to know before it approves."""
        known = self.settled.dataset is not None
        taken_over = () if known or not self.ledger.is_file() else (_taken_over(self.ledger),)
        return (*taken_over, *Standing(self.ledger, known, self.settled.new_version, self.lost, self.unit).notices())

    def choose_reading(
        self, guarantee: Guarantee, accountant: Accountant, terms: Terms, only: Sequence[str] = ()
    ) -> Reading | None:
        """The blocks that can pay for a promise; None where all records are one, and those can pay.

        Raises:
            LedgerRefusal: the records cannot pay for it.
            BadInput: the study protects another unit than the blocks count.
        """
        if not self.ledger.is_file():
            return None
        with closing(SqliteLedger(self.ledger)) as ledger:
            state = ledger.state()
        state.require_unit(terms.unit, terms.person)
        require_unit(state, terms)
        price = budget_of(guarantee, accountant)
        reading = choose_reading(state, price, only)
        if reading is None and not undeclared(state):
            require_room(state, price, str(self.ledger))
        return reading

    def take(
        self, owner: str, guarantee: Guarantee, accountant: Accountant, draw_id: Callable[[], str] = token
    ) -> None:
        """Make or take over the ledger, with a budget for this promise if none was declared; the file is on record."""
        path, by = self.settled.found.path, self.settled.signed_off_by
        dataset = fingerprint_of_file(path)
        self.ledger.parent.mkdir(parents=True, exist_ok=True)
        with (
            Registry() as registry,
            closing(
                open_settled(
                    registry,
                    self.settled,
                    self.ledger,
                    lambda: begin(owner, dataset, guarantee, accountant, draw_id=draw_id),
                )
            ) as ledger,
        ):
            registry.keep_split(self.settled.found.fingerprint, self.split)
            if not ledger.state().is_for(dataset):
                ledger.open_version(dataset, by)
            if undeclared(ledger.state()):
                declared = declare_spent_and(ledger.state(), budget_of(guarantee, accountant), guarantee.delta)
                ledger.open_epoch(declared.guarantee, declared.budgets, by)


def settle_joining(
    registry: Registry, found: Found, word: Word, given: Path | None, default: Path, person: str = ""
) -> Joining:
    """Decide from which ledger a study on these records is paid; nothing is written.

    Args:
        registry: the user's registry.
        found: the file of the records, as it is known.
        word: what a person says about a file that looks like a known one.
        given: the ledger that the person names, if any.
        default: where a new ledger is made.
        person: the study's column of people, if it has one.
    """
    settled = settle(registry, found, word, person)
    split = split_rows(registry.rows_of(found), np.empty(0, dtype=np.int64), "--public FILE")
    check_split(registry, settled, split)
    place = given or (default if settled.dataset is None else settled.dataset.ledger)
    if settled.dataset is None and not place.is_file():
        return Joining(settled, place.absolute(), split, None)
    opened = SqliteLedger(place) if settled.dataset is None else open_registered(registry, settled.dataset, place)
    with closing(opened) as ledger:
        state = ledger.state()
        if settled.dataset is None:
            require_unclaimed(registry, state, found.path)
    return Joining(settled, place.absolute(), split, lost_before(state), state.unit or "record")


def _taken_over(ledger: Path) -> str:
    return f"{ledger} was made for these records and never registered: it is taken over as it is"


def require_registered(registry: Registry, data: Path, ledger: SqliteLedger, place: Path) -> None:
    """Refuse to answer from a file whose ledger is another one; what was joined elsewhere becomes known here."""
    known = registry.known_file(registry.fingerprint(data))
    mine = ledger.state().id
    if known is None:
        seen = registry.lookup(data)
        with registry.exclusive():
            found = with_known_people(registry, registry.look_again(seen))
            dataset = registry.dataset_of_ledger(mine)
            sign = f"copriv ledger version {place} --data {data} --unrelated --signed-off-by NAME"
            require_apart(found, dataset, f"sign that no record is in both: {sign}")
            if dataset is None:
                registry.register(found, place, mine)
            else:
                registry.add_version(dataset, found, "")
    elif known.dataset is None or registry.dataset(known.dataset).ledger_id != mine:
        other = "none: it was declared public" if known.dataset is None else registry.dataset(known.dataset).ledger
        raise BadInput(
            f"{place} is not the ledger of {data}; that is {other}",
            remedy="one set of records has one budget: join again, with the ledger that the records have",
            value=str(place),
        )
    ledger.keep_mark(registry.mark(mine))
