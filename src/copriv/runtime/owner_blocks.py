"""What `copriv owner append`, `ledger renew` and `ledger expire` do to the blocks of a ledger."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec

from copriv.owner.arrival import Arrival, append_block
from copriv.owner.block_accounts import require_block
from copriv.owner.declaration import declare_epoch
from copriv.owner.entries import Expired, Renewed
from copriv.owner.ledger_state import LedgerState
from copriv.owner.reading import narrowed
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.workspace import OwnerWorkspace
from copriv.privacy.guarantee import Guarantee
from copriv.records.file_format import PLAIN
from copriv.runtime.events import Tell, counting


class BlockAppended(msgspec.Struct):
    """A block that has arrived, as it is shown.

    Args:
        ledger: of its records.
        block: its name.
        unit: what is counted: record or person.
        units: how many are new. Every learner may know this number.
        returning: how many people were known before and keep their blocks; it stays at home.
        blocks: all blocks, in the order of arrival, with their numbers of units.
        charged: whether something was spent from its account before: it was there already.
    """

    ledger: str
    block: str
    unit: str
    units: int
    returning: int
    blocks: dict[str, int]
    charged: bool


def append_records(
    arrival: Arrival, tell: Tell, ledger: Path | None = None, folder: Path = Path("owner")
) -> BlockAppended:
    """Add a block to the records of a ledger, or of an owner's folder.

    Args:
        arrival: the new records; without a column of people, that of the blocks or of the study is taken.
        tell: is told how far the reading is.
        ledger: theirs; None for that of the folder.
        folder: an owner's.
    """
    home = None if ledger is not None else OwnerWorkspace(folder)
    place = Path(home.enrollment.ledger) if home is not None else ledger or folder
    column = arrival.person or _column(place) or (home.study.terms.person if home is not None else "")
    with Registry() as registry:
        if home is not None:
            _note_form(registry, home)
        told = append_block(registry, place, replace(arrival, person=column), counting(tell, "reading the new records"))
    units = {name: block.arrival.units for name, block in told.state.blocks.items() if block.arrival is not None}
    unit = "person" if column else "record"
    charged = any(told.state.blocks[told.block].spent.values())
    return BlockAppended(str(place), told.block, unit, told.units, told.returning, units, charged)


def renew_block(ledger: Path, block: str, epsilon: str, by: str, why: str) -> LedgerState:
    """Give a block a larger budget, in all, signed by a person with a reason. What it has spent stays spent."""
    with closing(SqliteLedger(ledger)) as opened:
        state = opened.state()
        require_block(state.blocks, block)
        declared = declare_epoch(narrowed(state, (block,)), Guarantee.of(epsilon, state.guarantee.delta), None)
        guarantee = declared.guarantee
        opened.change_block(Renewed(block, guarantee.nano_epsilon, guarantee.delta, dict(declared.budgets), by, why))
        return opened.state()


def expire_block(ledger: Path, block: str, by: str, why: str) -> LedgerState:
    """Have no study read a block any more, signed by a person with a reason."""
    with closing(SqliteLedger(ledger)) as opened:
        opened.change_block(Expired(block, by, why))
        return opened.state()


def _note_form(registry: Registry, home: OwnerWorkspace) -> None:
    """Have the registry know how the file of a folder is written: folders of earlier versions alone know it."""
    path = Path(home.enrollment.data)
    if home.enrollment.form != PLAIN and path.exists():
        fingerprint = registry.fingerprint(path)
        if registry.known_file(fingerprint) is not None:
            registry.note_form(fingerprint, home.enrollment.form)


def _column(ledger: Path) -> str:
    """The column of people that the blocks of a ledger have; empty if there is none."""
    with closing(SqliteLedger(ledger)) as opened:
        arrivals = [block.arrival for block in opened.state().blocks.values() if block.arrival is not None]
    return arrivals[0].person if arrivals else ""
