"""Official tables, read by their official column names, as the paper reads them.

Columns that the paper removes are removed; everything else is the dictionary's work, fitted on the last rows only. The
table is read in batches: what stays in memory is a row of features for each record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from copriv.errors import BadTable
from copriv.records.load import Intake, LoadSpec, load_consortium
from copriv.records.partition import Partition
from copriv.records.table import count_rows
from copriv.records.target import TargetChoice
from copriv.vectors import IntArray

# A table that is much smaller than the official one still has private rows.
_LARGEST_PUBLIC_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """What is known of one official table; names are tried in order."""

    name: str
    targets: tuple[str, ...]
    owners: tuple[str, ...]
    irrelevant: tuple[str, ...]
    public_rows: int
    min_records: int


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user changes about an official table; None keeps what the paper did."""

    target: str | None = None
    ordinal: bool = False
    features: int = 10
    public_rows: int | None = None
    min_records: int | None = None


def take_in_official(
    table: pl.LazyFrame,
    kind: DatasetSpec,
    choice: Choice,
    *,
    order: IntArray | None = None,
    tell: Callable[[int, int], None] = lambda _done, _total: None,
) -> Intake:
    """Read an official table: one block of private rows for loans, an owner for each hospital."""
    present = table.collect_schema().names()
    target = choice.target or _first(kind.targets, present, kind.name, "target")
    owner = _first(kind.owners, present, kind.name, "owner column") if kind.owners else None
    kept = table.drop([name for name in kind.irrelevant if name in present and name not in (target, owner)])
    rows = count_rows(table)
    public_rows = choice.public_rows or max(1, min(kind.public_rows, int(rows * _LARGEST_PUBLIC_SHARE)))
    min_records = kind.min_records if choice.min_records is None else choice.min_records
    partition = Partition(column=owner, min_records=min_records) if owner else Partition(owners=1)
    plan = LoadSpec(TargetChoice(target, choice.ordinal), partition, choice.features, public_rows)
    return load_consortium(kept, plan, order=order, tell=tell)


def _first(names: Sequence[str], present: Sequence[str], kind: str, what: str) -> str:
    for name in names:
        if name in present:
            return name
    raise BadTable(
        f"this does not look like a {kind} table: no {what} {' or '.join(map(repr, names))}",
        remedy="name the column (--target), or use `copriv train` for other tables",
        value=what,
    )
