"""What a study reads: the blocks that can pay for it, with the rows that were there when it was joined.

Which blocks these are follows from what was asked before and at which price, and from no record. The number of units
is the sum of those of the blocks, which are public.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec
import polars as pl

from copriv.errors import BadInput, LedgerRefusal, RecordsChanged
from copriv.owner.arrival import require_key
from copriv.owner.block_accounts import named, payable, require_block, worst_accounts
from copriv.owner.entries import Block
from copriv.owner.ledger_opening import fingerprint_of_file
from copriv.owner.ledger_state import LedgerState, keyed
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount
from copriv.protocol.terms import Terms
from copriv.records.block_files import BlockFile, people_in
from copriv.records.file_format import PLAIN, FileFormat
from copriv.records.person_id import NOBODY


class Reading(msgspec.Struct, frozen=True):
    """The blocks that a study reads, and the newest block that there was when it was joined.

    Rows that known people have brought in a later file are not read: a study has the same records all its life.
    """

    blocks: tuple[str, ...]
    until: str


def choose_reading(state: LedgerState, price: Amount, only: Sequence[str] = ()) -> Reading | None:
    """The blocks that can pay a price, all of them or of those that are named; None if no block was ever appended.

    Raises:
        LedgerRefusal: no block can pay, or one that is named cannot.
    """
    for name in only:
        require_block(state.blocks, name)
    if not named(state.blocks):
        return None
    able = payable(state.blocks, state.budgets, price)
    chosen = tuple(name for name in state.blocks if name in (only or able))
    unable = [name for name in chosen if name not in able]
    if unable or not chosen:
        raise LedgerRefusal(
            f"{f'the block {unable[0]!r}' if unable else 'no block'} of these records can pay {price.words}",
            remedy="ask for a smaller epsilon, wait for new records, or renew a block, signed: copriv ledger renew",
            value=unable[0] if unable else price.nano,
        )
    return Reading(chosen, tuple(state.blocks)[-1])


def block_of_file(state: LedgerState, dataset: str) -> tuple[str, ...]:
    """The block whose rows are those of a file, by its SHA-256; none if rows of other blocks may be in it.

    Where people are counted, whoever returns has rows in a file of another block: then all blocks are read.
    """
    found = keyed(state.salt, dataset)
    return tuple(block.name for block in _arrivals(state) if block.dataset == found and not block.person)


def require_people_known(state: LedgerState, dataset: str) -> None:
    """Refuse to read a file that is no block where people are: whoever is in it alone would have no account."""
    if any(block.person for block in _arrivals(state)) and not state.is_for(dataset):
        raise LedgerRefusal(
            "these records arrived in blocks of people, and this file is none of them: whoever is in it alone has no "
            "account, and would get an unspent one later",
            remedy="give the file of a block as it is, or append this one: copriv owner append",
            value=len(state.blocks),
        )


def require_none_expired(state: LedgerState) -> None:
    """Refuse to read a whole file where a block has expired: whoever is in the file may have arrived in that one."""
    for name, block in state.blocks.items():
        if block.expired:
            raise LedgerRefusal(
                f"the block {name!r} has expired ({block.expired}), and a training charges every block there is",
                remedy="have the other blocks read by a study over the network: copriv owner join --block NAME",
                value=name,
            )


def narrowed(state: LedgerState, blocks: tuple[str, ...]) -> LedgerState:
    """A state as far as some blocks are concerned; all of it if none is named."""
    if not blocks:
        return state
    chosen = {name: state.blocks[name] for name in blocks}
    return replace(state, blocks=chosen, accounts=worst_accounts(chosen, state.budgets))


def require_unit(state: LedgerState, terms: Terms) -> None:
    """Refuse a study whose unit is not that of the blocks: somebody in several blocks would be counted by none."""
    column = next((block.arrival.person for block in state.blocks.values() if block.arrival is not None), None)
    if column is None or (len(state.blocks) == 1 and not column):
        return
    if column != terms.person:
        mine = f"people, by the column {column!r}" if column else "rows"
        other = f", by the column {terms.person!r}" if terms.person else ""
        raise BadInput(
            f"the blocks of these records count {mine}, and the study protects {terms.unit_in_words}{other}",
            remedy="a study over blocks has the unit of the blocks; ask the learner for one",
            value=terms.unit,
        )


def require_reads(state: LedgerState, study: str, blocks: tuple[str, ...]) -> None:
    """Refuse to read other blocks than those that the ledger charges for a study."""
    if state.reads(study) != blocks:
        raise BadInput(
            f"the ledger charges {', '.join(state.reads(study)) or 'all records'} for this study, and the folder reads "
            f"{', '.join(blocks) or 'all records'}",
            remedy="approve the folder again: copriv owner approve",
            value=study,
        )


def units_of(state: LedgerState, reading: Reading) -> int:
    """How many records, or people, a study reads: the sum of public numbers."""
    return sum(block.units for block in _arrivals(state) if block.name in reading.blocks)


def units_by_block(ledger: Path, reading: Reading | None) -> dict[str, int]:
    """How many units of each block a study reads, in the order of arrival; nothing if there are no blocks."""
    if reading is None:
        return {}
    with closing(SqliteLedger(ledger)) as opened:
        arrived = _arrivals(opened.state())
    return {block.name: block.units for block in arrived if block.name in reading.blocks}


def require_units(ledger: Path, reading: Reading, units: int) -> None:
    """Refuse records whose number is not the sum of those of the blocks, which are public."""
    with closing(SqliteLedger(ledger)) as opened:
        expected = units_of(opened.state(), reading)
    if units != expected:
        raise RecordsChanged(
            f"{units:,} units were read, and the blocks have {expected:,}",
            remedy="nothing is answered from them; restore the files and the ledger as they were",
            value=units,
        )


def fingerprint_of_reading(ledger: Path, reading: Reading) -> str:
    """SHA-256 over the files that a study reads, and what it reads of them. It never leaves."""
    with closing(SqliteLedger(ledger)) as opened:
        files = [fingerprint_of_file(Path(block.path)) for block in _until(opened.state(), reading)]
    return hashlib.sha256(msgspec.json.encode([reading, *files])).hexdigest()


def files_to_read(ledger: Path, reading: Reading) -> list[BlockFile]:
    """The files of a study in the order of arrival, each with the people whose rows are read.

    Raises:
        RecordsChanged: a file is not what it was when it was appended.
    """
    with closing(SqliteLedger(ledger)) as opened:
        state, blocks = opened.state(), opened.people()
    found, counted = [], set[bytes]()
    for block in _until(state, reading):
        if block.person or block.name in reading.blocks:
            _require_unchanged(state, block)
            found.append(_of_people(block, blocks, reading, counted))
    return [file for file in found if file.people is None or len(file.people)]


def _of_people(block: Block, blocks: dict[bytes, str], reading: Reading, counted: set[bytes]) -> BlockFile:
    """A file with the people of the blocks that are read; all of it if rows are counted.

    `counted` has who is in the number of some block, and gets those of this one: who was in an earlier version alone
    has an account, and is in no number.
    """
    if not block.person:
        return BlockFile(Path(block.path), _form(block))
    file = BlockFile(Path(block.path), _form(block), block.person)
    with Registry() as registry:
        require_key(registry, block)
        here = {each: registry.person(each) for each in people_in(file)[0]}
    counted.update(known for known in here.values() if blocks.get(known) == block.name)
    chosen = [each for each, known in here.items() if known in counted and blocks[known] in reading.blocks]
    if block.name in reading.blocks:
        chosen.append(NOBODY)  # rows that name nobody are of the block that they arrived in
    return BlockFile(file.path, file.form, file.person, pl.Series("people", chosen, dtype=pl.String))


def _require_unchanged(state: LedgerState, block: Block) -> None:
    path = Path(block.path)
    if not path.exists() or keyed(state.salt, fingerprint_of_file(path)) != block.dataset:
        raise RecordsChanged(
            f"the file of the block {block.name!r} is not what it was: {path}",
            remedy=f"put it back, or say where it is now: copriv owner append FILE --block {block.name}",
            value=str(path),
        )


def _until(state: LedgerState, reading: Reading) -> list[Block]:
    names = list(state.blocks)
    if reading.until not in names:
        raise LedgerRefusal(
            f"the ledger has no block {reading.until!r}, which the study was joined with",
            remedy="find the right ledger before answering",
            value=reading.until,
        )
    until = set(names[: names.index(reading.until) + 1])
    return [block for block in _arrivals(state) if block.name in until and not _is_gone(state, block)]


def _is_gone(state: LedgerState, block: Block) -> bool:
    """Whether the file of a block that has expired was removed."""
    return bool(state.blocks[block.name].expired) and not Path(block.path).exists()


def _arrivals(state: LedgerState) -> list[Block]:
    return [block.arrival for block in state.blocks.values() if block.arrival is not None]


def _form(block: Block) -> FileFormat:
    return msgspec.json.decode(block.form, type=FileFormat) if block.form else PLAIN
