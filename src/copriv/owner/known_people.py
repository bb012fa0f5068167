"""People who have an account in a ledger of blocks, and are in another file: they get no second one without a word.

Ids are compared exactly, under the key of the registry, whatever the rows beside them say. Blocks that have expired
count, too: their people have lost what they have lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import polars as pl

from copriv.errors import LedgerFailure
from copriv.owner.kinship import Kin, KnownFile
from copriv.owner.nameless_rows import kin_by_rows
from copriv.owner.registry import Dataset, Found, Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.records.block_files import BlockFile, names_people, people_in
from copriv.records.file_format import PLAIN
from copriv.records.person_id import NOBODY, person_id, require_kept
from copriv.records.table import collect

PEOPLE = "people"
_FEWEST_SHARED = 3
_SMALLEST_SHARE = 0.01


def with_known_people(registry: Registry, found: Found, person: str = "", *, signed: bool = False) -> Found:
    """A file, with those ledgers first among its kin in whose blocks people of it have accounts, or their rows are.

    Args:
        registry: the user's registry.
        found: the file.
        person: the column of people that a study has; ids are also looked for where the blocks of a ledger have them.
        signed: somebody has signed that nobody in it has another account, so that a lost ledger is no obstacle.

    Raises:
        LedgerFailure: a study is about people, and a ledger of blocks is not where it was.
    """
    kin, ids = list[Kin](), dict[str, set[bytes]]()
    apart, own = registry.unrelated_to(found), None if found.dataset is None else found.dataset.id
    for dataset, file in _with_blocks(registry):
        if dataset.id == own or file.fingerprint in apart or (not dataset.ledger.is_file() and (signed or not person)):
            continue
        column, there = _accounts(dataset)
        for name in {column, person} - {""} if column else ():
            here = ids[name] = ids[name] if name in ids else _people(registry, found, name)
            shared = len(here & there)
            fewer = min(len(here), len(there))
            if shared and shared >= max(min(_FEWEST_SHARED, fewer), _SMALLEST_SHARE * fewer):
                kin.append(Kin(file, PEOPLE, shared / len(there), shared / len(here)))
    alike = (each for each in kin_by_rows(registry, found) if each.file.dataset != own)
    return replace(found, kin=(*kin, *(each for each in alike if each.file.fingerprint not in apart), *found.kin))


def _with_blocks(registry: Registry) -> Iterator[tuple[Dataset, KnownFile]]:
    """The datasets to which blocks have arrived, each with its first file."""
    files = [file for file in registry.known_files() if file.dataset is not None]
    first = {file.dataset: file for file in reversed(files)}
    for name in dict.fromkeys(file.dataset for file in files if registry.block_of(file) is not None):
        if name is not None:
            yield registry.dataset(name), first[name]


def _accounts(dataset: Dataset) -> tuple[str, set[bytes]]:
    """The column by which the blocks of a ledger have people, empty if they have none, and the keyed ids of these."""
    if not dataset.ledger.is_file():
        raise LedgerFailure(
            f"the ledger of {dataset.name!r}, which has blocks, is missing: {dataset.ledger}",
            remedy="restore it, or say where it is now: copriv ledger moved LEDGER; or sign that nobody in the file "
            "has an account there: --unrelated",
            value=str(dataset.ledger),
        )
    with closing(SqliteLedger(dataset.ledger)) as ledger:
        arrivals = [block.arrival for block in ledger.state().blocks.values() if block.arrival is not None]
        return (arrivals[0].person if arrivals else ""), set(ledger.people())


def _people(registry: Registry, found: Found, column: str) -> set[bytes]:
    """The keyed ids of everybody in a file; nobody if it has no such column.

    Raises:
        BadTable: ids in it are not those that people had, so that nobody would be known.
    """
    if found.table is not None:
        named = _in_memory(found.table, column)
    else:
        form = registry.form_of(found.fingerprint) if found.form == PLAIN else found.form
        file = BlockFile(found.path, form, column)
        named = people_in(file)[0] if names_people(file) else []
    return {registry.person(each) for each in named}


def _in_memory(table: pl.LazyFrame, column: str) -> list[str]:
    schema = table.collect_schema()
    if column not in schema:
        return []
    require_kept(table, column)
    named = collect(table.select(person_id(column, schema[column]))).to_series().unique()
    return [each for each in named.to_list() if each != NOBODY]
