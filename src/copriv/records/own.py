"""One owner's table, reduced with a dictionary that others have fitted: all it takes to join their study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from copriv.errors import BadTable
from copriv.losses.sample import Sample
from copriv.records.dictionary import Dictionary
from copriv.records.table import count_rows, require_columns
from copriv.vectors import FloatArray

_BATCH_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class OwnRecords:
    """The records that count, and what was left out."""

    sample: Sample
    notices: tuple[str, ...]


def take_own(
    table: pl.LazyFrame,
    dictionary: Dictionary,
    *,
    target: str | None = None,
    tell: Callable[[int, int], None] = lambda _done, _total: None,
) -> OwnRecords:
    """Read and reduce a table, batch by batch.

    Args:
        table: the owner's rows.
        dictionary: the study's.
        target: what the owner calls the column to predict, if not as the study does.
        tell: is told how many rows of how many are read.
    """
    if target is not None and target != dictionary.target.name:
        require_columns(table, [target])
        table = table.drop(dictionary.target.name, strict=False).rename({target: dictionary.target.name})
    require_columns(table, [dictionary.target.name, *dictionary.required_columns()])
    rows = count_rows(table)
    features, targets = _reduce(table, dictionary, rows, tell)
    known = ~np.isnan(targets)
    kept = int(known.sum())
    if kept < dictionary.parameters:
        raise BadTable(
            f"{kept} records with a target, fewer than {dictionary.features} features and an intercept",
            remedy="an owner needs more records than that to take part",
            value=kept,
        )
    missing = rows - kept
    notices = (f"{missing:,} rows have no target and are left out",) if missing else ()
    return OwnRecords(Sample.of_rows(features[known], targets[known]), notices)


def _reduce(
    table: pl.LazyFrame, dictionary: Dictionary, rows: int, tell: Callable[[int, int], None]
) -> tuple[FloatArray, FloatArray]:
    features, targets, done = np.empty((rows, dictionary.parameters)), np.empty(rows), 0
    wanted = sorted({*dictionary.required_columns(), dictionary.target.name})
    for batch in table.select(wanted).collect_batches(chunk_size=_BATCH_ROWS, maintain_order=True):
        span = slice(done, done + batch.height)
        features[span] = dictionary.features_of(batch)
        targets[span] = dictionary.targets_of(batch)
        done += batch.height
        tell(done, rows)
    return features, targets
