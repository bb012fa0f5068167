"""From one table to a consortium: public rows, the dictionary fitted on them, and each owner's sample.

The public rows are the last ones of the table, as in the paper, or a table of their own. The rest is read in batches,
reduced to features and divided among the owners; nothing but the public rows shapes the dictionary. Every row becomes a
record, private or public, whatever is in it: one without a usable target counts and contributes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from copriv.errors import BadInput, BadTable
from copriv.losses.sample import Sample
from copriv.records.column import text
from copriv.records.dictionary import Dictionary, fit_dictionary
from copriv.records.partition import NAMELESS, Names, Partition, Share, divide, keep_large, number_names
from copriv.records.survey import LeftOut
from copriv.records.table import collect, count_rows, read_batches, require_columns
from copriv.records.target import TargetChoice
from copriv.vectors import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class OwnerSample:
    """One owner's records, reduced to numbers."""

    name: str
    sample: Sample


@dataclass(frozen=True, slots=True)
class Intake:
    """Everything a study starts from; without public rows, the dictionary is somebody else's."""

    dictionary: Dictionary
    public: Sample | None
    owners: tuple[OwnerSample, ...]
    notices: tuple[str, ...]

    def require_public(self) -> Sample:
        """The public rows, for whatever cannot do without."""
        if self.public is None:
            raise BadInput("there are no public rows", remedy="give --public-rows above 0, or a --public file", value=0)
        return self.public


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """What the user wants from a table."""

    target: TargetChoice
    partition: Partition
    features: int = 10
    public_rows: int = 10_000
    skip: tuple[str, ...] = ()


def load_consortium(
    table: pl.LazyFrame,
    plan: LoadSpec,
    *,
    public: pl.LazyFrame | None = None,
    order: IntArray | None = None,
    dictionary: Dictionary | None = None,
    tell: Callable[[int, int], None] = lambda _done, _total: None,
) -> Intake:
    """Read, reduce and divide a table.

    Args:
        table: all rows, or the private ones if `public` is given.
        plan: target, partition, number of features and of public rows, and columns to leave out.
        public: a table of public rows, instead of the last rows of `table`.
        order: a permutation of the rows, to shuffle them before anything else.
        dictionary: one that is agreed already, instead of one fitted on public rows.
        tell: is told how many rows of how many are read.
    """
    named = [plan.target.name, *([plan.partition.column] if plan.partition.column else [])]
    require_columns(table, [*named, *plan.skip])
    rows = count_rows(table)
    arranged = np.arange(rows, dtype=np.int64) if order is None else order
    if dictionary is not None and dictionary.target.name != plan.target.name:
        raise BadInput(
            f"the dictionary is for the target {dictionary.target.name!r}, not for {plan.target.name!r}",
            remedy="name its target, or use another dictionary",
            value=plan.target.name,
        )
    private_rows, public_frame = _separate(table, plan, public, arranged, agreed=dictionary is not None)
    left_out: list[LeftOut] = []
    if dictionary is None:
        dictionary, left_out = fit_dictionary(public_frame, plan.target, plan.features, skip=[*named[1:], *plan.skip])
    require_columns(table, dictionary.required_columns())
    features, targets, names = _reduce(table, dictionary, plan.partition.column, rows, tell)
    shares = divide(plan.partition, None if names is None else names.take(private_rows), private_rows.size)
    kept, small = keep_large(shares, plan.partition.min_records)
    _require_enough(kept, dictionary)
    owners = tuple(_sample(share, private_rows, features, targets) for share in kept)
    notices = (
        *_about_columns(left_out, dictionary, plan.features if left_out else 0),
        *_about_target(dictionary),
        *_about_use(owners),
        *_about_rows(small, names, private_rows),
    )
    return Intake(dictionary, _public_sample(public_frame, dictionary), owners, notices)


def take_public(
    table: pl.LazyFrame, target: TargetChoice, features: int, *, skip: Sequence[str] = ()
) -> tuple[Dictionary, Sample, tuple[str, ...]]:
    """Public rows alone: the dictionary fitted on them, the rows reduced by it, and what there is to say about it."""
    require_columns(table, [target.name])
    public = collect(table)
    dictionary, left_out = fit_dictionary(public, target, features, skip=skip)
    notices = (*_about_columns(left_out, dictionary, features), *_about_target(dictionary))
    sample = _public_sample(public, dictionary)
    if sample is None:
        raise BadTable("the public table has no rows", remedy="give one that has", value=0)
    return dictionary, sample, notices


def _separate(
    table: pl.LazyFrame, plan: LoadSpec, public: pl.LazyFrame | None, arranged: IntArray, *, agreed: bool
) -> tuple[IntArray, pl.DataFrame]:
    """The private rows in order, and the public rows themselves."""
    if public is not None:
        require_columns(public, [plan.target.name])
        return arranged, collect(public)
    rows, wanted = arranged.size, plan.public_rows
    if wanted == 0 and agreed:
        return arranged, collect(table.head(0))
    if wanted < 1:
        raise BadInput(
            f"--public-rows is {wanted}",
            remedy="the dictionary is fitted on public rows: give at least 1, or an agreed one with --dictionary",
            value=wanted,
        )
    if wanted >= rows:
        raise BadTable(
            f"{wanted} public rows leave nothing private of the table's {rows} rows",
            remedy=f"pass --public-rows with less than {rows}, or a --public file",
            value=wanted,
        )
    private, last = arranged[: rows - wanted], arranged[rows - wanted :]
    if np.array_equal(last, np.arange(rows - wanted, rows)):
        return private, collect(table.slice(rows - wanted, wanted))
    chosen = pl.LazyFrame({"__row": last.astype(np.uint32)})
    picked = chosen.join(table.with_row_index("__row"), on="__row", how="left", maintain_order="left")
    return private, collect(picked.drop("__row"))


def _reduce(
    table: pl.LazyFrame,
    dictionary: Dictionary,
    owner_column: str | None,
    rows: int,
    tell: Callable[[int, int], None],
) -> tuple[FloatArray, FloatArray, Names | None]:
    """Features, targets and owner names of every row, batch by batch."""
    features, targets = np.zeros((rows, dictionary.parameters)), np.zeros(rows)
    codes = np.full(rows, NAMELESS, dtype=np.int32)
    places: dict[str, int] = {}
    wanted = [*dictionary.required_columns(), dictionary.target.name, *([owner_column] if owner_column else [])]
    for span, batch in read_batches(table, wanted, tell):
        features[span], targets[span] = dictionary.records_of(batch)
        if owner_column is not None:
            names = batch.select(text(owner_column, batch.schema[owner_column])).to_series()
            codes[span] = number_names(names, places)
    return features, targets, None if owner_column is None else Names(tuple(places), codes)


def _require_enough(shares: list[Share], dictionary: Dictionary) -> None:
    for share in shares:
        if share.rows.size < dictionary.parameters:
            raise BadTable(
                f"the owner {share.name!r} has {share.rows.size} records, fewer than {dictionary.features} "
                "features and an intercept",
                remedy=f"pass --min-records {dictionary.parameters} to leave such owners out, or fewer --features",
                value=share.name,
            )


def _sample(share: Share, private_rows: IntArray, features: FloatArray, targets: FloatArray) -> OwnerSample:
    rows = private_rows[share.rows]
    return OwnerSample(share.name, Sample.of_rows(features[rows], targets[rows]))


def _public_sample(public: pl.DataFrame, dictionary: Dictionary) -> Sample | None:
    if public.is_empty():
        return None
    return Sample.of_rows(*dictionary.records_of(public))


def _about_columns(left_out: list[LeftOut], dictionary: Dictionary, wanted: int) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for column in left_out:
        reasons.setdefault(column.reason, []).append(column.name)
    notices = [f"left out, {reason}: {_list(names)}" for reason, names in sorted(reasons.items())]
    if dictionary.features < wanted:
        notices.append(f"{dictionary.features} features instead of {wanted}: the table has no more directions")
    return notices


def _about_target(dictionary: Dictionary) -> list[str]:
    target = dictionary.target
    if not target.categories:
        return []
    numbered = ", ".join(f"{name} = {place}" for place, name in enumerate(target.categories, start=1))
    return [f"the target {target.name!r} is read as ordinal: {numbered}"]


def _about_use(owners: Sequence[OwnerSample]) -> list[str]:
    """What contributes nothing, for the people at home."""
    notices = []
    used = {owner.name: int(owner.sample.used.sum()) for owner in owners}
    unusable = sum(owner.sample.records for owner in owners) - sum(used.values())
    if unusable:
        notices.append(f"{unusable:,} private rows have no usable target: they count and contribute nothing")
    silent = [name for name, count in used.items() if count == 0]
    if silent:
        notices.append(f"no record has a usable target, so they contribute nothing but noise: {_list(silent)}")
    return notices


def _about_rows(small: list[Share], names: Names | None, private_rows: IntArray) -> list[str]:
    notices = []
    nameless = 0 if names is None else int(np.sum(names.codes[private_rows] == NAMELESS))
    if nameless:
        notices.append(f"{nameless:,} private rows name no owner and are left out")
    if small:
        notices.append(
            f"{len(small)} owners with too few records are left out: {_list([share.name for share in small])}"
        )
    return notices


def _list(names: list[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
