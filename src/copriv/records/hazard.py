"""Discrete-time hazards: a record with a time and an event becomes a row for every period that it lived through.

A row's target says whether the event came in that period; the logistic loss of all rows is the likelihood of the
hazards (Singer and Willett 1993). Rows of a record are one person's (`losses.people`): they are clipped as one, and n
counts records. With `weigh = "row"` every period weighs the same, so that the model is that of the likelihood.

Periods are agreed, or chosen on public rows. Every record becomes at least one row, whatever is in it: one without a
usable time or event gets one row without a target, which counts and says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from copriv.errors import BadInput
from copriv.records.column import number
from copriv.records.person_id import NOBODY, person_id, require_kept
from copriv.records.table import require_columns

RECORD, PERIOD = "record", "period"
MOST_PERIODS = 100


@dataclass(frozen=True, slots=True)
class Naming:
    """What records are called, so that a table of periods says whose a row is.

    Args:
        person: the column of ids; who has several records is one person then. Empty: every record is one.
        prefix: of the numbers of records that have no id, so that they differ from those of other files.
    """

    person: str = ""
    prefix: str = ""

    def of(self, schema: pl.Schema) -> pl.Expr:
        """Of every record, by its number from 0.

        >>> table = pl.DataFrame({"record": [0, 1, 2], "who": ["a", None, "a"]})
        >>> [table.select(each.of(table.schema)).to_series().to_list() for each in (Naming(), Naming(prefix="march"))]
        [[0, 1, 2], ['march/0', 'march/1', 'march/2']]
        >>> table.select(Naming("who", "march").of(table.schema)).to_series().to_list()
        ['a', 'march/1', 'a']
        """
        numbered = pl.col(RECORD)
        if self.prefix or self.person:
            numbered = pl.lit(f"{self.prefix}/") + numbered.cast(pl.String)
        if not self.person:
            return numbered
        own = person_id(self.person, schema[self.person])
        return pl.when(own == NOBODY).then(numbered).otherwise(own)


NUMBERED = Naming()


def numbered_from_zero(ids: Sequence[str]) -> bool:
    """Whether people are called as `NUMBERED` calls the records of any file: 0, 1, 2, in this order.

    >>> numbered_from_zero(["0", "1", "2"]), numbered_from_zero(["1", "0"]), numbered_from_zero([])
    (True, False, False)
    """
    return bool(ids) and all(name == str(place) for place, name in enumerate(ids))


def period_names(edges: Sequence[float]) -> list[str]:
    """What periods are called, in order.

    >>> period_names([3, 6])
    ['1: to 3', '2: to 6']
    """
    return [f"{place}: to {edge:g}" for place, edge in enumerate(edges, start=1)]


def period_number(name: str) -> int:
    """The place of a period, by its name.

    >>> period_number("12: to 36")
    12
    """
    return int(name.partition(":")[0])


def fit_periods(public: pl.DataFrame, time: str, event: str, periods: int) -> list[float]:
    """Ends of periods in which public rows have about equally many events; of few distinct times, each is one."""
    require_columns(public.lazy(), [time, event])
    lived, came = (public.select(number(name, public.schema[name])).to_series() for name in (time, event))
    times = lived.filter((came > 0) & lived.is_finite() & (lived > 0)).to_numpy()
    if times.size < periods or not 1 <= periods <= MOST_PERIODS:
        raise BadInput(
            f"{periods} periods, and {times.size} public rows with an event {event!r} at a time {time!r} above 0",
            remedy=f"give from 1 to {MOST_PERIODS} periods, no more than there are events, or --edges",
            value=periods,
        )
    distinct = np.unique(times)
    if distinct.size <= periods:
        return [float(each) for each in distinct]
    ends = np.quantile(times, np.arange(1, periods + 1) / periods)
    return [float(each) for each in np.unique(ends)]


def person_periods(
    table: pl.LazyFrame, time: str, event: str, edges: Sequence[float], naming: Naming = NUMBERED
) -> pl.LazyFrame:
    """A row for every record and period that it lived through, with whose it is, which period, and the event.

    Period j is beyond the end of the one before, up to its own. An event counts in the period of its time. Without one,
    the record is taken to have lived through the period of its time; beyond the last end nothing is known any more.

    >>> table = pl.LazyFrame({"months": [2.0, 5.0, 9.0, None], "died": [1, 0, 1, 1], "age": [50, 60, 70, 80]})
    >>> person_periods(table, "months", "died", [3, 6]).collect().rows()
    [(1, 50, 0, '1: to 3'), (0, 60, 1, '1: to 3'), (0, 60, 1, '2: to 6'), (0, 70, 2, '1: to 3'), (0, 70, 2, '2: to 6'), (None, 80, 3, '1: to 3')]
    """  # noqa: E501
    _require_edges(edges)
    schema = table.collect_schema()
    person = [naming.person] if naming.person else []
    require_columns(table, [time, event, *person])
    for name in person:
        require_kept(table, name)
    for name in {RECORD, PERIOD} & set(schema.names()) - {time, event, naming.person}:
        raise BadInput(f"the table has a column {name!r} already", remedy="rename it or leave it out", value=name)
    lived, came = number(time, schema[time]), number(event, schema[event])
    usable = (lived.is_finite() & (lived > 0) & came.is_finite()).fill_null(value=False)
    count = pl.sum_horizontal([(lived > edge).cast(pl.Int64) for edge in edges]) + 1
    last = pl.when(usable).then(count).otherwise(1)
    marked = table.with_columns(
        pl.min_horizontal(last, pl.lit(len(edges))).alias("__rows"),
        pl.when(usable).then((came > 0).cast(pl.Int64) * last).otherwise(None).alias("__last"),
    )
    if naming.person == RECORD:
        marked, naming = marked.rename({RECORD: "__id"}), Naming("__id", naming.prefix)
    marked = marked.with_row_index(RECORD)
    marked = marked.with_columns(naming.of(marked.collect_schema()).alias(RECORD))
    rows = marked.with_columns(pl.int_ranges(1, pl.col("__rows") + 1).alias(PERIOD)).explode(PERIOD)
    told = pl.when(pl.col("__last").is_null()).then(None).otherwise((pl.col(PERIOD) == pl.col("__last")).cast(pl.Int64))
    named = pl.col(PERIOD).replace_strict(range(1, len(edges) + 1), period_names(edges), return_dtype=pl.String)
    kept = [name for name in schema.names() if name not in (time, event, *person)]
    return rows.select(told.alias(event), *kept, pl.col(RECORD), named)


def _require_edges(edges: Sequence[float]) -> None:
    ascending = all(one < other for one, other in zip([0.0, *edges], edges, strict=False))
    if not (1 <= len(edges) <= MOST_PERIODS and ascending and all(math.isfinite(edge) for edge in edges)):
        raise BadInput(
            f"periods that end at {', '.join(f'{edge:g}' for edge in edges)}",
            remedy=f"give from 1 to {MOST_PERIODS} numbers above 0, each larger than the one before",
            value=list(edges),
        )
