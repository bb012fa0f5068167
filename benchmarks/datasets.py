"""Who takes part in the cost benchmark: real owners where the data is at hand, and always the generator."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from copriv.entropy import seeded
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise_freely
from copriv.losses.sample import Sample
from copriv.planning.tuning import choose_limit
from copriv.records import lending_like
from copriv.records.hospital import HOSPITAL
from copriv.records.load import Intake, LoadSpec, load_consortium
from copriv.records.partition import Partition
from copriv.records.target import TargetChoice
from copriv.simulation.cost import Scene

REGULARIZATION = 1e-5
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Source:
    """A table and how to read it: `without` some columns, and with targets capped above the quantile `kept`."""

    name: str
    file: str
    target: str
    partition: Partition
    public_rows: int = 10_000
    ordinal: bool = False
    shuffled: bool = True
    without: tuple[str, ...] = ()
    features: int = 10
    kept: float = 1.0


BANKS = Source("loans", "lending_887k_categories", "grade", Partition(owners=1), ordinal=True)
OTHERS = (
    # As the paper reads hospitals: without charges and costs, which nearly tell the length of stay.
    Source(
        "hospitals",
        "hospital_heart_failure_2024",
        "los",
        Partition("hospital_id", min_records=200),
        5000,
        without=HOSPITAL.irrelevant,
    ),
    Source("states", "lending_2007_2011", "int_rate", Partition("addr_state", min_records=500)),
    Source("airlines", "flights_2013", "arr_delay", Partition("carrier", min_records=100)),
    Source("generator", "", "int_rate", Partition(owners=10, records_per_owner=10_000)),
)
# Oldest loans first: the public rows are the last, of another year than the banks'.
LATE = Source(
    "loans, other years", "lending_887k_categories", "grade", Partition(owners=10, records_per_owner=10_000),
    ordinal=True, shuffled=False,
)  # fmt: skip
BLOCKS = ((3, 250_000), (10, 10_000), (85, 10_000))


def data_folder() -> Path | None:
    """$COPRIV_DATA, or the data beside the repository."""
    for folder in (os.environ.get("COPRIV_DATA"), ROOT.parent / "shared" / "data"):
        if folder and Path(folder).is_dir():
            return Path(folder)
    return None


def read(source: Source, seed: int) -> Intake | None:
    """The records, shuffled if wanted; None if they are not at hand."""
    if source.file:
        folder = data_folder()
        if folder is None:
            return None
        table = pl.scan_parquet(folder / f"{source.file}.parquet")
    else:
        table = lending_like.generate(110_000, seeded(seed, "records")).lazy()
    table = table.drop([name for name in source.without if name in table.collect_schema().names()])
    if source.kept < 1:
        table = table.with_columns(pl.col(source.target).clip(upper_bound=pl.col(source.target).quantile(source.kept)))
    rows = int(table.select(pl.len()).collect().item())
    order = np.asarray(seeded(seed, "shuffle").permutation(rows), dtype=np.int64) if source.shuffled else None
    target = TargetChoice(source.target, ordinal=source.ordinal)
    plan = LoadSpec(target, source.partition, features=source.features, public_rows=source.public_rows)
    return load_consortium(table, plan, order=order)


def make_scene(public: Sample, samples: list[Sample]) -> Scene:
    """With the squared loss, λ and the box of `copriv train`."""
    limit = choose_limit(minimise_freely(choose("squared"), REGULARIZATION, public))
    return Scene.of(Objective(choose("squared"), REGULARIZATION, limit), samples, public)


def cut(pool: Sample, owners: int, records: int) -> list[Sample]:
    """The first rows as blocks."""
    edges = [(i * records, (i + 1) * records) for i in range(owners)]
    return [Sample(np.ascontiguousarray(pool.columns[:, a:b]), pool.targets[a:b]) for a, b in edges]


def whole(source: Source, seed: int) -> Scene | None:
    """All owners of a source."""
    intake = read(source, seed)
    return None if intake is None else make_scene(intake.public, [owner.sample for owner in intake.owners])


def scenes(seed: int) -> Iterator[tuple[str, Scene]]:
    """Every scene of one draw."""
    for source in (BANKS, *OTHERS):
        yield from scenes_of(source, seed)


def scenes_of(source: Source, seed: int) -> Iterator[tuple[str, Scene]]:
    """The scenes that one source makes: three of the banks, one of any other, none if the table is not at hand."""
    intake = read(source, seed)
    if intake is None:
        return
    if source.name != BANKS.name:
        yield source.name, make_scene(intake.public, [owner.sample for owner in intake.owners])
        return
    for owners, records in BLOCKS:
        blocks = cut(intake.owners[0].sample, owners, records)
        yield f"{source.name}, {owners} × {records:,}", make_scene(intake.public, blocks)
