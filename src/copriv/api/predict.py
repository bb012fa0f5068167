"""Predictions for a whole table, with what could not be read and how far off they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from copriv.api.model import Model, load
from copriv.api.tables import Table, as_lazy
from copriv.errors import BadInput
from copriv.losses.metrics import Metrics, label_metrics, number_metrics, rate_metrics
from copriv.records.file_format import PLAIN, FileFormat
from copriv.records.table import collect, require_columns
from copriv.records.target import Target
from copriv.records.unread import count_unread
from copriv.report.explanation import explain_rows
from copriv.report.prediction import Prediction
from copriv.vectors import FloatArray

MEANING = {
    "label": "probability of a positive label",
    "count": "the expected count, for each row's exposure",
    "amount": "the expected amount, for each row's exposure",
}


def predict_table(
    model: str | Path | Model,
    table: Table,
    out: Path | None = None,
    key: str | None = None,
    form: FileFormat = PLAIN,
    explain: int = 0,
) -> tuple[pl.DataFrame, Prediction]:
    """Predict every row; the predictions (beside the values of a column, if one is named), and what to say of them.

    Args:
        model: a model, or its file.
        table: a path or a table.
        out: a new CSV file to write the predictions to.
        key: the column whose values are kept beside the predictions.
        form: how a file is written, where its name and header do not tell.
        explain: so many reasons a row, in words beside its prediction; none by default.

    Raises:
        BadInput: there is no such model, table or column, or `out` exists.
    """
    trained = model if isinstance(model, Model) else load(model)
    lazy = as_lazy(table, form)
    wanted = [*trained.columns, *([key] if key is not None else [])]
    require_columns(lazy, wanted)
    if out is not None and out.exists():
        raise BadInput(f"{out} exists", remedy="choose another --out, or remove it yourself", value=str(out))
    target, names = trained.file.dictionary.target, lazy.collect_schema().names()
    known = [name for name in target.columns if name in names]
    frame = collect(lazy.select(list(dict.fromkeys([*wanted, *known]))))
    predictions = trained.file.predict(frame)
    kept = pl.DataFrame({"prediction": predictions})
    if explain:
        kept = kept.with_columns(explain_rows(trained.file, frame, explain)["why"])
    if key is not None:
        if key in kept.columns:
            raise BadInput(f"the id column is called {key!r}", remedy="rename it", value=key)
        kept = pl.DataFrame([frame[key], *kept])
    if out is not None:
        kept.write_csv(out)
    told = Prediction(
        rows=predictions.size,
        target=trained.target,
        meaning=MEANING.get(target.kind, "the target's own unit"),
        out=None if out is None else str(out),
        accuracy=measure(trained, frame, predictions),
        unread=list(count_unread(trained.file.dictionary, frame)),
        personal=trained.file.personal,
        exposure=_about_exposure(target, frame),
    )
    return kept, told


def _about_exposure(target: Target, frame: pl.DataFrame) -> str | None:
    """What is to be said of rows without an exposure."""
    given = target.given_exposure
    if given is None:
        return None
    unusable = frame.height
    if given.name in frame.columns:
        unusable = int(np.isnan(given.logarithms(frame)).sum())
    which = "no row has" if unusable == frame.height else f"{unusable:,} rows have no"
    words = f"{which} usable exposure {given.name!r}: what is predicted there is for an exposure of 1"
    return words if unusable else None


def measure(model: Model, frame: pl.DataFrame, predictions: FloatArray) -> Metrics | None:
    """How far off predictions are, where the table has the target."""
    target = model.file.dictionary.target
    if target.name not in frame.columns:
        return None
    truth = frame.select(target.raw(frame.schema[target.name]).fill_null(float("nan"))).to_series().to_numpy()
    known = np.isfinite(truth)
    if not known.any():
        return None
    if target.kind == "label":
        return label_metrics(predictions[known], truth[known] > target.center)
    if target.is_rate:
        known &= truth >= 0 if target.kind == "count" else truth > 0
        return rate_metrics(predictions[known], truth[known], amounts=target.kind == "amount") if known.any() else None
    return number_metrics(predictions[known], truth[known])
