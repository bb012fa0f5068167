"""A ledger to which blocks of people arrive, and what is seen of it."""

from contextlib import closing
from pathlib import Path

import polars as pl

from copriv.owner.arrival import Arrival, append_block
from copriv.owner.dataset_ledger import Word
from copriv.owner.reading import Reading, files_to_read
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount, Guarantee
from copriv.records.block_files import open_block_files
from copriv.runtime.owner_ledger import NewLedger, make_ledger

PRICE = Amount(400_000_000, "epsilon")


def write(name, people, start=0):
    """A file with one row for every mention of a person; no two rows are alike."""
    rows = range(start, start + len(people))
    table = pl.DataFrame({"who": people, "x": [0.5 * row for row in rows], "y": [row % 7 for row in rows]})
    table.write_parquet(name)
    return Path(name).absolute()


TWENTY = tuple(f"p{number}" for number in range(20))


def ledger_of(folder, name="clinic", people=TWENTY, start=0):
    """A ledger for people, with one file of twenty of them."""
    place = folder / f"{name}.sqlite"
    data = write("first.parquet" if name == "clinic" else f"{name}.parquet", [*people] * 2, start)
    promise = Guarantee.of("1")
    make_ledger(
        NewLedger(
            path=place, owner="clinic", data=data, guarantee=promise, accountant="pld", pure=None, word=Word("me")
        )
    )
    return place


def append(ledger, name, data, person="who", **more):
    with Registry() as registry:
        return append_block(registry, ledger, Arrival(name=name, data=data, person=person, by="me", **more))


def state_of(ledger):
    with closing(SqliteLedger(ledger)) as opened:
        return opened.state()


def rows_read(ledger, *blocks, until):
    files = files_to_read(ledger, Reading(blocks, until))
    return sorted(who or "" for table in open_block_files(files, []) for who in table.collect()["who"].to_list())
