"""Hazards: tables of person-periods to train on, and what a model of them says of whole lives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from copriv.api.generate import require_new_table
from copriv.api.model import Model
from copriv.api.tables import Table, as_lazy
from copriv.errors import BadInput
from copriv.records.file_format import PLAIN, FileFormat
from copriv.records.hazard import PERIOD, RECORD, Naming, fit_periods, period_number, person_periods
from copriv.records.table import collect


def period_edges(public: Table, time: str, event: str, periods: int = 6) -> list[float]:
    """Where periods end, so that public rows have about equally many events in each.

    Args:
        public: public rows; private rows must not choose their own periods.
        time: the column that says how long a record was followed.
        event: the column that says whether the event came then: above 0.
        periods: how many.

    Raises:
        BadInput: a column is missing, or there are too few events.
    """
    return fit_periods(collect(as_lazy(public)), time, event, periods)


def settle_edges(
    table: Table, time: str, event: str, edges: str | None, periods: int | None, form: FileFormat = PLAIN
) -> list[float]:
    """The ends that were agreed, as text with commas; or so many periods as this table, which is public, gives.

    >>> settle_edges({}, "months", "died", "3,6,12", None)
    [3.0, 6.0, 12.0]
    """
    if (edges is None) == (periods is None):
        raise BadInput(
            "periods that nobody has agreed on" if edges is None else "--edges and --periods",
            remedy="give --edges 3,6,12 as agreed; or --periods N, if this table is public: private rows must not "
            "choose their own periods",
        )
    if edges is None:
        return fit_periods(collect(as_lazy(table, form)), time, event, periods or 0)
    try:
        return [float(each) for each in edges.split(",")]
    except ValueError as problem:
        raise BadInput(f"--edges {edges}", remedy="give numbers with commas: 3,6,12", value=edges) from problem


def expand_periods(
    table: Table,
    time: str,
    event: str,
    edges: Sequence[float],
    out: Path | None = None,
    form: FileFormat = PLAIN,
    *,
    person: str = "",
    prefix: str = "",
) -> pl.DataFrame:
    """A row for every record and period that it lived through: `record` says whose, `period` which.

    Train on it with the logistic loss, `target=event`, `person="record"`, `weigh="row"`, and `rows_cap=len(edges)`: a
    record's rows are clipped as one.

    Args:
        table: one row a record.
        time: the column that says how long a record was followed.
        event: the column that says whether the event came then: above 0.
        edges: where periods end: as agreed, or as `period_edges` finds them on public rows.
        out: a new .csv or .parquet file to write.
        form: how a file is written, where its name and header do not tell.
        person: the column of people's ids; `record` has them then. Without one, records are numbered from 0, in every
            table alike.
        prefix: of those numbers, so that they differ from other tables'. With `person` it names records without an id,
            and has to be given: each of them is a person of its own, in every table.

    Raises:
        BadInput: a column is missing, periods are none, `out` exists, or there is no prefix for those without an id.

    >>> expand_periods({"months": [2.0, 5.0], "died": [1, 0], "age": [50, 60]}, "months", "died", [3, 6]).height
    3
    """
    if out is not None:
        require_new_table(out)
    if person and not prefix:
        raise BadInput(
            "records without an id would be called alike in every table",
            remedy="name the table: --prefix 2026-03, another one for every table of the same people",
            value=person,
        )
    frame = collect(person_periods(as_lazy(table, form), time, event, edges, Naming(person, prefix)))
    if out is not None:
        frame.write_csv(out) if out.suffix.lower() == ".csv" else frame.write_parquet(out)
    return frame


def survival(model: Model, table: Table) -> pl.DataFrame:
    """For every row and period the hazard, and the probability to live through all periods up to it.

    Args:
        model: one that was trained on person-periods.
        table: one row a record, with the model's columns but the period.

    Raises:
        BadInput: the model knows no periods, or a column is missing.
    """
    known = next((column for column in model.file.dictionary.columns if column.name == PERIOD), None)
    if known is None or known.kind != "category":
        raise BadInput(
            f"the model of {model.target!r} knows no periods",
            remedy="train it on a table of `copriv periods`, whose column 'period' is a feature",
            value=model.target,
        )
    names = sorted(known.categories, key=period_number)
    lives = collect(as_lazy(table).drop(RECORD, PERIOD, strict=False).with_row_index(RECORD))
    rows = lives.with_columns(pl.lit(names).alias(PERIOD)).explode(PERIOD)
    hazards = np.asarray(model.predict(rows)).reshape(-1, len(names))
    lived = np.cumprod(1 - hazards, axis=1)
    return rows.select(RECORD, PERIOD, pl.Series("hazard", hazards.ravel()), pl.Series("survival", lived.ravel()))
