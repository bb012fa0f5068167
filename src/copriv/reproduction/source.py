"""The records of a study: an official table, or synthetic ones like it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from copriv.records import hospital_like, lending_like
from copriv.records.hospital import HOSPITAL
from copriv.records.lending import LENDING
from copriv.records.load import Intake
from copriv.records.official import Choice, DatasetSpec, take_in_official
from copriv.records.table import count_rows
from copriv.reproduction import paper
from copriv.reproduction.study import Figure, Settings
from copriv.reproduction.world import World

_SYNTHETIC_LOANS = 1_010_000
_SYNTHETIC_STAYS = 450_000
_SYNTHETIC_HOSPITAL = 2_000

Generator = np.random.Generator


@dataclass(frozen=True, slots=True)
class Part:
    """One data set of the paper: what its table is like, and its figures."""

    kind: DatasetSpec
    available: tuple[str, ...]
    draw: Callable[[World, Settings, set[str]], list[Figure]]
    title: str


PARTS = {
    "lending": Part(LENDING, paper.LENDING, paper.lending_figures, "Lending"),
    "hospital": Part(HOSPITAL, paper.HOSPITAL, paper.hospital_figures, "Hospitals"),
}


def read_records(
    kind: DatasetSpec,
    table: pl.LazyFrame,
    choice: Choice,
    shuffle: Generator | None,
    tell: Callable[[int, int], None],
) -> Intake:
    """An official table, shuffled by a generator if there is one."""
    order = None if shuffle is None else np.asarray(shuffle.permutation(count_rows(table)), dtype=np.int64)
    return take_in_official(table, kind, choice, order=order, tell=tell)


def synthesize(kind: DatasetSpec, generator: Generator) -> pl.LazyFrame:
    """As many synthetic records as the paper's figures need."""
    if kind is LENDING:
        return lending_like.generate(_SYNTHETIC_LOANS, generator).lazy()
    return hospital_like.generate(_SYNTHETIC_STAYS, generator).lazy()


def choose_synthetic(kind: DatasetSpec, choice: Choice) -> Choice:
    """Synthetic hospitals are smaller than real ones."""
    return (
        replace(choice, min_records=_SYNTHETIC_HOSPITAL) if kind is HOSPITAL and choice.min_records is None else choice
    )
