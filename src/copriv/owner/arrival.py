"""A block arrives: new records get an account of their own, and those that are known keep theirs.

A returning person keeps its block: the rows it has in the new file are added to those it has. So nobody has two
accounts, and the number of people who are new in a file is all that becomes public of it. Rows are not compared one by
one where there is no column of people: a file that looks like known records is refused until a person has signed.

The registry knows the file as a block before the ledger does. Killed between, the file belongs to its dataset, which
pays for whatever reads it, and the same command goes on. So there is no moment at which known rows are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from copriv.errors import BadInput, LedgerFailure
from copriv.owner.block_accounts import FIRST, index_of, is_known, named
from copriv.owner.dataset_ledger import Settled, check_split, others, require_apart
from copriv.owner.entries import Block
from copriv.owner.known_people import with_known_people
from copriv.owner.ledger_opening import fingerprint_of_file
from copriv.owner.ledger_state import LedgerState, keyed
from copriv.owner.nameless_rows import note_nameless
from copriv.owner.registry import Dataset, Found, Registry
from copriv.owner.sketch import Tell
from copriv.owner.split import split_rows
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.records.block_files import BlockFile, people_in
from copriv.records.file_format import PLAIN, FileFormat
from copriv.records.hazard import RECORD, numbered_from_zero
from copriv.records.table import count_rows, has_header, open_table

_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A file of new records.

    Args:
        name: what people call the block.
        data: the file.
        person: the column that says whose a row is; empty if every row is a unit of its own.
        form: how the file is written; of a file that is known, as was said before if nothing is said now.
        by: who says that these records are new.
        unrelated: it looks like known records, and none is among those: the same person signs that.
    """

    name: str
    data: Path
    person: str = ""
    form: FileFormat = PLAIN
    by: str = ""
    unrelated: bool = False


@dataclass(frozen=True, slots=True)
class Appended:
    """A block that has arrived.

    Args:
        block: its name.
        units: how many records, or people who were not known, are new: the number that becomes public.
        returning: how many people in the file were known; they keep their blocks. This number stays at home.
        state: of the ledger now.
    """

    block: str
    units: int
    returning: int
    state: LedgerState


def append_block(
    registry: Registry, place: Path, arrival: Arrival, tell: Tell = lambda _done, _total: None
) -> Appended:
    """Add a block to the records of a ledger.

    Args:
        registry: the user's registry.
        place: the ledger.
        arrival: the new records.
        tell: is told how many rows of how many are read.

    Raises:
        BadInput: the file is public, known, or looks like known records and nobody has signed.
        LedgerRefusal: the block contradicts those that are there.
    """
    _require_name(arrival.name)
    with closing(_open(registry, place)) as ledger:
        dataset = _dataset(registry, ledger, place)
        seen = registry.lookup(arrival.data.absolute(), tell, form=arrival.form)
        with registry.exclusive():
            if arrival.person:
                note_nameless(registry, dataset, arrival.person)
            found, state = registry.look_again(seen), ledger.state()
            found = with_known_people(registry, found, arrival.person, signed=arrival.unrelated)
            _require_new(registry, dataset, found, arrival, state)
            _require_columns(registry, dataset, state, arrival)
            former = set[bytes]()
            if not named(state.blocks):
                opening = arrival if arrival.name == FIRST else _first(registry, dataset, state, arrival)
                former = _former(registry, dataset, state, opening)
                if arrival.name != FIRST:
                    first, people, _ = _arrived(registry, ledger, opening, tell, former)
                    ledger.open_block(first, people)
                    former = set()
            block, people, returning = _arrived(registry, ledger, _as_said(registry, arrival), tell, former)
            _require_recognised(found, dataset, arrival, returning / max(block.units + returning, 1))
            if arrival.name != FIRST:
                registry.add_block(dataset, found, arrival.name, arrival.by)
            ledger.open_block(block, people)
            if arrival.name == FIRST:
                registry.add_block(dataset, found, FIRST, arrival.by)
            if arrival.unrelated:
                registry.note_unrelated(others(found, dataset), arrival.by)
            if arrival.person:
                note_nameless(registry, dataset, arrival.person)
            registry.note_form(found.fingerprint, arrival.form)
        return Appended(block.name, block.units, returning, ledger.state())


def key_check(registry: Registry) -> str:
    """A value that only the key of this registry gives: people hashed under another key are strangers.

    So are those whose ids were written otherwise: the value changes whenever `person_id` does.
    """
    return registry.keyed(b"people of blocks, 3")


def require_key(registry: Registry, block: Block) -> None:
    """Refuse to look for people under another key than theirs: everybody would seem to be new."""
    if block.person and block.key != key_check(registry):
        raise LedgerFailure(
            f"the people of the block {block.name!r} are known under the key of another registry, or as an earlier "
            "version wrote their ids",
            remedy="use the registry with which the first block was appended (COPRIV_REGISTRY=FOLDER), and its version",
            value=str(registry.folder),
        )


def _open(registry: Registry, place: Path) -> SqliteLedger:
    ledger = SqliteLedger(place)
    try:
        ledger.keep_mark(registry.mark(ledger.state().id))
    except BaseException:
        ledger.close()
        raise
    return ledger


def _dataset(registry: Registry, ledger: SqliteLedger, place: Path) -> Dataset:
    dataset = registry.dataset_of_ledger(ledger.state().id)
    if dataset is None:
        raise BadInput(
            f"the registry does not know the ledger {place}",
            remedy=f"make it known: copriv ledger version {place} --data FILE --signed-off-by NAME",
            value=str(place),
        )
    return dataset


def _require_new(registry: Registry, dataset: Dataset, found: Found, arrival: Arrival, state: LedgerState) -> None:
    """Refuse records that are known: as public, as another dataset's, or as part of this one."""
    if found.public:
        raise _refused(
            found, "was declared public before, and cannot be protected any more", "rows once public stay public"
        )
    state.require_unit("person" if arrival.person else "record", arrival.person)
    if found.dataset is not None:
        if found.dataset.id != dataset.id:
            raise _refused(found, f"has a ledger already: {found.dataset.ledger}", "one set of records has one budget")
        known = registry.block_of(found) or (FIRST if state.is_for(fingerprint_of_file(found.path)) else None)
        if known != arrival.name:
            raise _refused(found, "is known as a part of these records", "append a file of new records alone")
        return
    if not arrival.unrelated:
        remedy = f"sign that none of its records is there: --unrelated (as {arrival.by or 'NAME'})"
        # Whoever returns keeps its account, so people of this very dataset may come back; rows without ids may not.
        require_apart(found, dataset if arrival.person else None, remedy)
    split = split_rows(registry.rows_of(found), np.empty(0, dtype=np.int64), "--public FILE")
    check_split(registry, Settled(found, dataset, arrival.unrelated, arrival.by), split)
    if is_known(state.blocks, arrival.name) or _has_file(registry, dataset, arrival.name):
        raise _refused(found, f"is another file than that of the block {arrival.name!r}", "choose another --block")


def _has_file(registry: Registry, dataset: Dataset, name: str) -> bool:
    """Whether a file is known as the block, which the ledger may not know yet: no other goes on under its name."""
    return any(file.dataset == dataset.id and registry.block_of(file) == name for file in registry.known_files())


def _require_recognised(found: Found, dataset: Dataset, arrival: Arrival, returning: float) -> None:
    """Refuse known rows under ids that nobody had before: whoever is renumbered would have two accounts."""
    shared = max((kin.of_file for kin in found.kin if kin.file.dataset == dataset.id), default=0.0)
    if arrival.person and not arrival.unrelated and returning < shared / 2:
        raise _refused(
            found,
            f"shares about {shared:.0%} of its rows or ids with known records, and {returning:.0%} of its people",
            f"give people the ids in {arrival.person!r} that they had, or sign that none of its records is there: "
            "--unrelated",
        )


def _require_columns(registry: Registry, dataset: Dataset, state: LedgerState, arrival: Arrival) -> None:
    """Refuse a file that lacks columns of the first block: where somebody returns in it, both are read together."""
    if arrival.name == FIRST or is_known(state.blocks, arrival.name):
        return
    place = _first_place(registry, dataset, state)
    if place is None or not (has_header(place) and has_header(arrival.data)):
        return
    first, here = _columns(registry, replace(arrival, data=place, form=PLAIN)), _columns(registry, arrival)
    missing = [name for name in first if name not in here]
    if missing:
        raise BadInput(
            f"{arrival.data} lacks columns of the block {FIRST!r}: {', '.join(map(repr, missing))}; no study could "
            "read both",
            remedy="write the file with them, empty where nothing is known",
            value=missing,
        )


def _columns(registry: Registry, arrival: Arrival) -> list[str]:
    said = _as_said(registry, arrival)
    return open_table(said.data, said.form).collect_schema().names()


def _first_place(registry: Registry, dataset: Dataset, state: LedgerState) -> Path | None:
    """Where the records are that the ledger was opened for; None if they are not where they were."""
    first = state.blocks[FIRST].arrival
    known = [file.path for file in registry.known_files() if file.dataset == dataset.id]
    for place in known if first is None else [Path(first.path)]:
        if place.exists() and keyed(state.salt, fingerprint_of_file(place)) == state.dataset:
            return place
    return None


def _first(registry: Registry, dataset: Dataset, state: LedgerState, arrival: Arrival) -> Arrival:
    """The records that the ledger was opened for, as the first block; they keep what they have spent."""
    place = _first_place(registry, dataset, state)
    if place is not None:
        return _as_said(registry, replace(arrival, name=FIRST, data=place, form=PLAIN))
    raise BadInput(
        f"the file that the ledger of {dataset.name!r} was opened for is not where it was",
        remedy="put it back: its people keep their account, so it has to be read",
        value=dataset.name,
    )


def _former(registry: Registry, dataset: Dataset, state: LedgerState, first: Arrival) -> set[bytes]:
    """Those of earlier versions of what is there first. They have lost what it has, also if they are in it no more."""
    if not first.person or not any(any(block.spent.values()) for block in state.blocks.values()):
        return set()
    found, current = set[bytes](), registry.fingerprint(first.data)
    for file in registry.known_files():
        if file.dataset != dataset.id or file.fingerprint == current or registry.block_of(file) is not None:
            continue
        if file.path.exists() and registry.fingerprint(file.path) == file.fingerprint:
            form = registry.form_of(file.fingerprint)
            found.update(map(registry.person, people_in(BlockFile(file.path, form, first.person))[0]))
        elif not first.unrelated:
            raise _version_gone(file.path)
    return found


def _as_said(registry: Registry, arrival: Arrival) -> Arrival:
    """Every file in its own form: what is said of one says nothing of another."""
    if arrival.form != PLAIN:
        return arrival
    return replace(arrival, form=registry.form_of(registry.fingerprint(arrival.data)))


def _arrived(
    registry: Registry, ledger: SqliteLedger, arrival: Arrival, tell: Tell, former: set[bytes]
) -> tuple[Block, Iterable[bytes], int]:
    """The entry of a block, the keyed ids of those who have its account, and how many in the file have another.

    Whoever was in an earlier version alone (`former`) has the account and is read no more: it is in no number.
    """
    state, form = ledger.state(), msgspec.json.encode(arrival.form).decode() if arrival.form != PLAIN else ""
    block = Block(
        name=arrival.name,
        dataset=keyed(state.salt, fingerprint_of_file(arrival.data)),
        path=str(arrival.data.absolute()),
        units=0,
        signed_off_by=arrival.by,
        person=arrival.person,
        form=form,
    )
    if not arrival.person:
        rows = count_rows(open_table(arrival.data, arrival.form))
        return msgspec.structs.replace(block, units=rows), (), 0
    for known in state.blocks.values():
        if known.arrival is not None:
            require_key(registry, known.arrival)
    named_here, nobody = people_in(BlockFile(arrival.data, arrival.form, arrival.person), tell)
    here, there = [registry.person(each) for each in named_here], ledger.people()
    if arrival.person == RECORD and numbered_from_zero(named_here) and there.get(here[0], arrival.name) != arrival.name:
        raise _numbered_again(arrival)
    new = {each for each in here if there.get(each, arrival.name) == arrival.name}
    people = sorted(new | former | {each for each, name in there.items() if name == arrival.name})
    told = msgspec.structs.replace(block, units=len(new) + nobody, index=index_of(people), key=key_check(registry))
    return told, people, len(here) - len(new)


def _version_gone(path: Path) -> BadInput:
    return BadInput(
        f"an earlier version of these records is not where it was: {path}; whoever was in it and comes back would have "
        "a new account",
        remedy="put it back for this command, or sign that everybody in it is in the file of now, too, or in none to "
        "come: --unrelated",
        value=str(path),
    )


def _numbered_again(arrival: Arrival) -> BadInput:
    return BadInput(
        f"the records of {arrival.data.name} are numbered from 0, as those of another block are: they would be taken "
        "for the same",
        remedy="make the file again with `copriv periods --prefix`, and another prefix for every file to come",
        value=arrival.person,
    )


def _require_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise BadInput(f"a block is called {name!r}", remedy="use letters, digits, . - and _: 2026-01, say", value=name)


def _refused(found: Found, problem: str, remedy: str) -> BadInput:
    return BadInput(f"{found.path} {problem}", remedy=remedy, value=str(found.path))
