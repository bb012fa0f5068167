"""From one table to a consortium: public rows, the dictionary fitted on them, and each owner's sample.

The public rows are the last ones of the table, as in the paper, or a table of their own. The rest is read in batches,
reduced to features and divided among the owners; nothing but the public rows shapes the dictionary. Every row becomes a
record, private or public, whatever is in it: one without a usable target counts and contributes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from copriv.errors import BadInput, BadTable
from copriv.losses.metrics import Metrics
from copriv.losses.people import NOBODY, Whose
from copriv.losses.sample import Sample
from copriv.protocol.unit import PersonUnit
from copriv.records.column import text
from copriv.records.dictionary import Dictionary
from copriv.records.feature_spec import FeatureSpec
from copriv.records.fit_features import PublicRows
from copriv.records.load_notices import (
    about_both_sides,
    about_default,
    about_people,
    about_public,
    about_rows,
    about_target,
    about_use,
)
from copriv.records.partition import NAMELESS, Names, Partition, Share, divide, keep_large, number_names
from copriv.records.people import PersonChoice, Repeated, count_people, find_repeated, read_codes, whose_rows
from copriv.records.public_cells import Fitted, public_sample
from copriv.records.table import collect, count_rows, read_batches, require_columns
from copriv.records.target import TargetChoice
from copriv.records.unread import describe_unseen
from copriv.vectors import FloatArray, IntArray

# From public rows, and the name and size of each owner, to features.
Choose = Callable[[PublicRows, Sequence[tuple[str, int]]], FeatureSpec]


@dataclass(frozen=True, slots=True)
class OwnerSample:
    """One owner's records, reduced to numbers: those that train, and those held back from it, if any are."""

    name: str
    sample: Sample
    held_back: Sample | None = None


@dataclass(frozen=True, slots=True)
class Intake:
    """Everything a study starts from; without public rows, the dictionary is somebody else's.

    `features` are those that were fitted: as asked for, or as chosen; None if the dictionary was agreed already. Where
    they were chosen, `public_figures` are those of the cross-validated public model, and `public_distance` is its ψ.
    `public_rows` are the rows of the public table. `person` says who is protected, if a record is a person; else
    `repeated` is a column that looks as if it named them.
    """

    dictionary: Dictionary
    public: Sample | None
    owners: tuple[OwnerSample, ...]
    notices: tuple[str, ...]
    features: FeatureSpec | None = None
    person: PersonUnit | None = None
    repeated: Repeated | None = None
    public_rows: int = 0
    public_figures: Metrics | None = None
    public_distance: float | None = None

    def require_public(self) -> Sample:
        """The public rows, for whatever cannot do without."""
        if self.public is None:
            raise BadInput("there are no public rows", remedy="give --public-rows above 0, or a --public file", value=0)
        return self.public


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """What the user wants from a table.

    Args:
        target: the column to predict, and how it is read.
        partition: who owns which rows.
        features: which features, as `FeatureSpec.parse` reads them; a number is one of principal components.
        public_rows: how many of the last rows are public; None for `default_public_rows`.
        skip: columns to leave out.
        header: whether a header names the columns; if not, a name that no public row fills may be one private record's.
        person: which column names people, if a record is a person.
    """

    target: TargetChoice
    partition: Partition
    features: FeatureSpec | str | int = 10
    public_rows: int | None = None
    skip: tuple[str, ...] = ()
    header: bool = True
    person: PersonChoice | None = None

    def __post_init__(self) -> None:
        """Refuse features that are none, before a table is read."""
        FeatureSpec.parse(self.features)

    def named(self) -> list[str]:
        """The columns that a table must have for this."""
        return [*self.target.columns, *self.not_features()]

    def not_features(self) -> list[str]:
        """The columns besides the target that no model is to use."""
        named = (self.partition.column, None if self.person is None else self.person.column)
        return [*(name for name in named if name is not None), *self.skip]


def default_public_rows(rows: int) -> int:
    """How many rows of a table are public if nobody says: a fifth, from 100 to 10,000, and at most half.

    >>> [default_public_rows(rows) for rows in (1, 150, 400, 10_000, 1_000_000)]
    [0, 75, 100, 2000, 10000]
    """
    return min(max(rows // 5, 100), 10_000, rows // 2)


def load_consortium(
    table: pl.LazyFrame,
    plan: LoadSpec,
    *,
    public: pl.LazyFrame | None = None,
    order: IntArray | None = None,
    dictionary: Dictionary | None = None,
    tell: Callable[[int, int], None] = lambda _done, _total: None,
    choose: Choose | None = None,
) -> Intake:
    """Read, reduce and divide a table.

    Args:
        table: all rows, or the private ones if `public` is given.
        plan: target, partition, features and number of public rows.
        public: a table of public rows, instead of the last rows of `table`.
        order: a permutation of the rows, to shuffle them before anything else.
        dictionary: one that is agreed already, instead of one fitted on public rows.
        tell: is told how many rows of how many are read.
        choose: chooses features where the plan leaves them to it (`auto`), by the public rows and owners' sizes.
    """
    require_columns(table, plan.named())
    rows = count_rows(table)
    arranged = np.arange(rows, dtype=np.int64) if order is None else order
    if dictionary is not None:
        _require_agreement(dictionary, plan)
    parts = _separate(table, plan, public, arranged, agreed=dictionary is not None)
    person = None if plan.person is None else plan.person.settle(parts.public)
    fit = None
    if dictionary is None:
        fit = _fit(table, plan, parts, choose, person)
        dictionary = fit.fitted.dictionary
    require_columns(table, [*dictionary.target.columns, *dictionary.required_columns()])
    read = _reduce(table, dictionary, _Named(plan.partition.column, person), rows, tell)
    private, whose = parts.private, read.whose
    shares = read.divide(plan.partition, private)
    kept, small = keep_large(shares, plan.partition.min_records)
    _require_enough(kept, dictionary)
    before = (*parts.notices, *(fit.about if fit else about_target(dictionary)))
    after = (*describe_unseen(read.unseen), *about_rows(small, read.names, private))
    known_rows = fit.fitted.public if fit else _public_sample(parts.public, dictionary, person)
    places = [(share.name, private[share.rows]) for share in kept]
    samples = [(name, dictionary.sample(read.features[rows], read.targets[rows]), rows) for name, rows in places]
    owners = tuple(
        OwnerSample(name, sample.grouped(None if whose is None else whose.take(rows))) for name, sample, rows in samples
    )
    used = [(name, sample.records, int(sample.used.sum())) for name, sample, _ in samples]
    about = (*about_use(used), *about_people(person, whose, [rows for _, rows in places]))
    about += tuple(about_both_sides(whose, private))
    repeated = find_repeated(table, plan.named()) if person is None else None
    spec, notices = fit.spec if fit else None, (*before, *about, *after)
    return Intake(dictionary, known_rows, owners, notices, spec, person, repeated, parts.public.height)


def take_public(
    table: pl.LazyFrame, target: TargetChoice, features: FeatureSpec | str | int, *, skip: Sequence[str] = ()
) -> tuple[Dictionary, Sample, tuple[str, ...]]:
    """Public rows alone: the dictionary fitted on them, the rows reduced by it, and what there is to say about it."""
    rows, spec = collect_public(table, target, skip=skip), FeatureSpec.parse(features)
    fitted = rows.fit(spec)
    return fitted.dictionary, fitted.public, about_public(fitted, spec, rows)


def collect_public(
    table: pl.LazyFrame, target: TargetChoice, *, skip: Sequence[str] = (), person: PersonChoice | None = None
) -> PublicRows:
    """Public rows, to fit features on; each of them is a person of its own if it is not said whose it is.

    Raises:
        BadInput: there are none, or the target is not among the columns or cannot be read.
    """
    require_columns(table, target.columns)
    public = collect(table)
    if public.is_empty():
        raise BadTable("the public table has no rows", remedy="give one that has", value=0)
    return PublicRows(public, target, skip=skip, person=None if person is None else person.settle(public))


def load_public(table: pl.LazyFrame, dictionary: Dictionary, person: PersonUnit | None = None) -> Sample:
    """Public rows by a dictionary that is agreed already; a public score is out of fold."""
    require_columns(table, [*dictionary.target.columns, *dictionary.required_columns()])
    public = collect(table)
    if public.height < dictionary.parameters:
        raise BadTable(
            f"{public.height} public rows, fewer than {dictionary.features} features and an intercept",
            remedy="give more public rows",
            value=public.height,
        )
    return public_sample(dictionary, public, None if person is None else whose_rows(public, person))


@dataclass(frozen=True, slots=True)
class _Parts:
    """The private rows in order, the public rows themselves, and what there is to say about it."""

    private: IntArray
    public: pl.DataFrame
    notices: tuple[str, ...] = ()


def _require_agreement(dictionary: Dictionary, plan: LoadSpec) -> None:
    if dictionary.target.name != plan.target.name:
        raise BadInput(
            f"the dictionary is for the target {dictionary.target.name!r}, not for {plan.target.name!r}",
            remedy="name its target, or use another dictionary",
            value=plan.target.name,
        )
    plan.target.require_kind(dictionary.target)
    people = [] if plan.person is None else [("--person", plan.person.column)]
    for option, name in (*(("--skip", name) for name in plan.skip), *people):
        if name in (*dictionary.required_columns(), *dictionary.target.columns):
            raise BadInput(
                f"{option} {name}: the agreed dictionary uses this column",
                remedy="use another dictionary, or do not leave the column out",
                value=name,
            )


def _separate(
    table: pl.LazyFrame, plan: LoadSpec, public: pl.LazyFrame | None, arranged: IntArray, *, agreed: bool
) -> _Parts:
    """Which rows are private, and which are public."""
    if public is not None:
        require_columns(public, plan.target.columns)
        return _Parts(arranged, collect(public))
    wanted = _public_rows(table, plan, arranged.size, agreed=agreed)
    if wanted == 0:
        return _Parts(arranged, collect(table.head(0)))
    first = arranged.size - wanted
    private, last = arranged[:first], arranged[first:]
    notices = (about_default(wanted, arranged.size),) if plan.public_rows is None else ()
    if np.array_equal(last, np.arange(first, arranged.size)):
        return _Parts(private, collect(table.slice(first, wanted)), notices)
    chosen = pl.LazyFrame({"__row": last.astype(np.uint32)})
    picked = chosen.join(table.with_row_index("__row"), on="__row", how="left", maintain_order="left")
    return _Parts(private, collect(picked.drop("__row")), notices)


def _filled(public: pl.DataFrame, named: Sequence[str]) -> pl.DataFrame:
    """The columns that a public row fills or the user names; no word about others, whose names may be private."""
    return public.select(name for name in public.columns if name in named or public[name].null_count() < public.height)


def _public_rows(table: pl.LazyFrame, plan: LoadSpec, rows: int, *, agreed: bool) -> int:
    """How many of the last rows are public; 0 only if a dictionary is agreed. No person's number of rows decides it."""
    counted = rows if plan.person is None else count_people(table, plan.person.column)
    wanted = default_public_rows(counted) if plan.public_rows is None else plan.public_rows
    if wanted < 1 and not (wanted == 0 and agreed):
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
    return wanted


@dataclass(frozen=True, slots=True)
class _Fit:
    """Features that were fitted on public rows, and what there is to say about them."""

    fitted: Fitted
    spec: FeatureSpec
    about: tuple[str, ...]


def _fit(table: pl.LazyFrame, plan: LoadSpec, parts: _Parts, choose: Choose | None, person: PersonUnit | None) -> _Fit:
    """The features that are wanted or chosen, of the public rows alone."""
    known = parts.public if plan.header else _filled(parts.public, plan.named())
    rows = PublicRows(known, plan.target, skip=plan.not_features(), person=person)
    spec = _settle_features(table, plan, rows, parts.private, choose)
    fitted = rows.fit(spec)
    return _Fit(fitted, spec, about_public(fitted, spec, rows))


def _settle_features(
    table: pl.LazyFrame, plan: LoadSpec, rows: PublicRows, private: IntArray, choose: Choose | None
) -> FeatureSpec:
    """Those that are wanted; where that is left open, what is chosen for owners of the sizes that there are.

    Sizes follow from who owns which rows, and from nothing else that the rows hold.
    """
    wanted = FeatureSpec.parse(plan.features)
    if not wanted.auto or choose is None:
        return wanted
    count, named = count_rows(table), _Named(plan.partition.column, rows.person)
    found = _Read(np.empty((0, 0)), np.empty(0), *named.blank(count))
    for span, batch in read_batches(table, named.columns, lambda _done, _total: None) if named.columns else ():
        named.read(batch, found, span)
    kept, _ = keep_large(found.divide(plan.partition, private), plan.partition.min_records)
    return choose(rows, [(share.name, share.records) for share in kept])


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of every row: features, targets, owner, person; and cells of categories that nobody public has."""

    features: FloatArray
    targets: FloatArray
    names: Names | None
    whose: Whose | None
    unseen: Counter[str] = field(default_factory=Counter)
    owners: dict[str, int] = field(default_factory=dict)
    people: dict[str, int] = field(default_factory=dict)

    def divide(self, partition: Partition, private: IntArray) -> list[Share]:
        """The private rows of each owner."""
        names = None if self.names is None else Names(tuple(self.owners), self.names.codes[private])
        places = None if self.whose is None else self.whose.take(private).places
        return divide(partition, names, private.size, places)


@dataclass(frozen=True, slots=True)
class _Named:
    """The columns that say whose a row is: the owner's, and the person's."""

    owner: str | None
    person: PersonUnit | None

    @property
    def columns(self) -> list[str]:
        named = (self.owner, None if self.person is None else self.person.column)
        return list(dict.fromkeys(name for name in named if name is not None))

    def blank(self, rows: int) -> tuple[Names | None, Whose | None]:
        """Places for so many rows."""
        names = None if self.owner is None else Names((), np.full(rows, NAMELESS, dtype=np.int32))
        if self.person is None:
            return names, None
        return names, Whose(np.full(rows, NOBODY, dtype=np.int64), self.person.rows_cap, self.person.weigh)

    def read(self, batch: pl.DataFrame, found: _Read, span: slice) -> None:
        """Note whose the rows of a batch are."""
        if self.owner is not None and found.names is not None:
            named = batch.select(text(self.owner, batch.schema[self.owner])).to_series()
            found.names.codes[span] = number_names(named, found.owners)
        if self.person is not None and found.whose is not None:
            found.whose.codes[span] = read_codes(batch[self.person.column], found.people)


def _reduce(
    table: pl.LazyFrame, dictionary: Dictionary, named: _Named, rows: int, tell: Callable[[int, int], None]
) -> _Read:
    """Every row, batch by batch."""
    found = _Read(np.zeros((rows, dictionary.width)), np.zeros(rows), *named.blank(rows))
    wanted = [*dictionary.required_columns(), *dictionary.target.columns, *named.columns]
    for span, batch in read_batches(table, wanted, tell):
        found.features[span], found.targets[span], others = dictionary.read(batch)
        found.unseen.update(others)
        named.read(batch, found, span)
    return found


def _require_enough(shares: list[Share], dictionary: Dictionary) -> None:
    for share in shares:
        if share.records < dictionary.parameters:
            raise BadTable(
                f"the owner {share.name!r} has {share.records} records, fewer than {dictionary.features} "
                "features and an intercept",
                remedy=f"pass --min-records {dictionary.parameters} to leave such owners out, or fewer --features",
                value=share.name,
            )


def _public_sample(public: pl.DataFrame, dictionary: Dictionary, person: PersonUnit | None) -> Sample | None:
    whose = None if person is None else whose_rows(public, person)
    return None if public.is_empty() else public_sample(dictionary, public, whose)
