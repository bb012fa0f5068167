"""Who owns which rows: by the values of a column, or as consecutive blocks of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from copriv.errors import BadInput, BadTable
from copriv.vectors import IntArray

NAMELESS = -1


@dataclass(frozen=True, slots=True)
class Partition:
    """How rows are given to owners.

    Args:
        column: the column whose values name the owners; None for consecutive blocks.
        owners: how many blocks.
        records_per_owner: records of each block, or the most records of each named owner.
        min_records: owners with fewer records are left out.
    """

    column: str | None = None
    owners: int | None = None
    records_per_owner: int | None = None
    min_records: int = 0

    def __post_init__(self) -> None:
        if (self.column is None) == (self.owners is None):
            raise BadInput(
                "it is not clear who owns the rows" if self.column is None else "owners are given twice",
                remedy="give either --owner-column COLUMN or --owners N",
            )
        for option, value in (("--owners", self.owners), ("--records-per-owner", self.records_per_owner)):
            if value is not None and value < 1:
                raise BadInput(f"{option} is {value}", remedy="give at least 1", value=value)


@dataclass(frozen=True, slots=True)
class Share:
    """The rows of one owner, in the table's order; and how many people they are of, if a record is a person."""

    name: str
    rows: IntArray
    people: int | None = None

    @property
    def records(self) -> int:
        """How many records there are: rows, or people."""
        return int(self.rows.size) if self.people is None else self.people


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """The owner of each row: a place in a list of names, or none."""

    known: tuple[str, ...]
    codes: npt.NDArray[np.int32]

    def take(self, rows: IntArray) -> Names:
        """The owners of some rows."""
        return Names(self.known, self.codes[rows])


def number_names(values: pl.Series, places: dict[str, int]) -> npt.NDArray[np.int32]:
    """The places of names, adding new ones to the list as they come; a missing name has none."""
    for name in values.drop_nulls().unique(maintain_order=True).to_list():
        places.setdefault(name, len(places))
    numbered = values.replace_strict(places, default=NAMELESS, return_dtype=pl.Int32) if places else None
    return np.full(len(values), NAMELESS, np.int32) if numbered is None else numbered.fill_null(NAMELESS).to_numpy()


def divide(partition: Partition, names: Names | None, rows: int, places: IntArray | None = None) -> list[Share]:
    """The share of each owner among the private rows 0 … rows − 1; `names` holds the owner column, if there is one.

    `places` says whose each row is, if a record is a person (`losses.people`). Blocks are of people then, so that none
    is at two owners.
    """
    if partition.owners is not None and places is not None:
        blocks = _blocks(partition.owners, partition.records_per_owner, int(places.max(initial=-1)) + 1)
        return [_of_people(block.name, np.arange(rows), np.isin(places, block.rows), places) for block in blocks]
    if partition.owners is not None:
        return _blocks(partition.owners, partition.records_per_owner, rows)
    if names is None:
        raise BadInput("the owner column was not read", remedy="pass its values", value=partition.column)
    return _groups(names, partition.records_per_owner, places)


def keep_large(shares: Sequence[Share], min_records: int) -> tuple[list[Share], list[Share]]:
    """Owners with at least `min_records` records, and the others."""
    kept = [share for share in shares if share.records >= min_records]
    small = [share for share in shares if share.records < min_records]
    if not kept:
        most = max((share.records for share in shares), default=0)
        raise BadTable(
            f"no owner has {min_records} records",
            remedy=f"lower --min-records: the largest owner has {most}",
            value=min_records,
        )
    return kept, small


def _blocks(owners: int, size: int | None, rows: int) -> list[Share]:
    if rows < owners * (size or 1):
        raise BadTable(
            f"{owners} owners of {size or 'at least 1'} records need more than the {rows} private rows there are",
            remedy="ask for fewer owners, fewer records each or fewer public rows",
            value=owners,
        )
    edges = [i * size for i in range(owners + 1)] if size else [i * rows // owners for i in range(owners + 1)]
    width = len(str(owners))
    return [Share(f"owner-{i + 1:0{width}d}", np.arange(edges[i], edges[i + 1], dtype=np.int64)) for i in range(owners)]


def _of_people(name: str, rows: IntArray, chosen: npt.NDArray[np.bool_], places: IntArray) -> Share:
    """The chosen ones of some rows, and how many people they are of."""
    return Share(name, rows[chosen].astype(np.int64), int(np.unique(places[rows[chosen]]).size))


def _first_people(rows: IntArray, places: IntArray, most: int | None) -> npt.NDArray[np.bool_]:
    """Which of some rows are of the first so many people among them."""
    _, first, who = np.unique(places[rows], return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[who] < (rows.size if most is None else most))


def _groups(names: Names, most: int | None, places: IntArray | None) -> list[Share]:
    members = {name: np.flatnonzero(names.codes == place) for place, name in enumerate(names.known)}
    present = sorted(name for name, rows in members.items() if rows.size)
    if not present:
        raise BadTable("the owner column is missing in every private row", remedy="name another --owner-column")
    if places is None:
        return [Share(name, members[name][:most].astype(np.int64)) for name in present]
    owned = {name: members[name].astype(np.int64) for name in present}
    return [_of_people(name, rows, _first_people(rows, places, most), places) for name, rows in owned.items()]
