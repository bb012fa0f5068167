"""One owner's table, reduced with a dictionary that others have fitted: all it takes to join their study.

Nothing is left out because of what is in it: an owner has as many records as its table has rows. That number becomes
public, so it must not depend on any record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from copriv.errors import BadTable
from copriv.losses.sample import Sample
from copriv.records.dictionary import Dictionary
from copriv.records.ranges import require_name
from copriv.records.table import count_rows, read_batches, require_columns
from copriv.records.unread import describe_unseen


@dataclass(frozen=True, slots=True)
class OwnRecords:
    """The records, one for every row of the table, and what a person should know about them."""

    sample: Sample
    notices: tuple[str, ...]


def load_owner(
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
        require_name(target, "your target")
        require_columns(table, [target])
        table = table.drop(dictionary.target.name, strict=False).rename({target: dictionary.target.name})
    require_columns(table, [dictionary.target.name, *dictionary.required_columns()])
    rows = count_rows(table)
    if rows < dictionary.parameters:
        raise BadTable(
            f"{rows} records, fewer than {dictionary.features} features and an intercept",
            remedy="an owner needs more records than that to take part",
            value=rows,
        )
    sample, unseen = _reduce(table, dictionary, rows, tell)
    unusable = rows - int(sample.used.sum())
    notices = (f"{unusable:,} rows have no usable target: they count and contribute nothing",) if unusable else ()
    return OwnRecords(sample, (*notices, *describe_unseen(unseen)))


def _reduce(
    table: pl.LazyFrame, dictionary: Dictionary, rows: int, tell: Callable[[int, int], None]
) -> tuple[Sample, Counter[str]]:
    features, targets = np.zeros((rows, dictionary.parameters)), np.zeros(rows)
    unseen: Counter[str] = Counter()
    for span, batch in read_batches(table, [*dictionary.required_columns(), dictionary.target.name], tell):
        features[span], targets[span], others = dictionary.read(batch)
        unseen.update(others)
    return Sample.of_rows(features, targets), unseen
