"""What `copriv predict` does: read a model, apply it to a table, write predictions, measure them if it can."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import typer
from rich.console import Console

from copriv.cli.progress import bar
from copriv.errors import BadInput
from copriv.records.table import collect, open_table, require_columns
from copriv.report.model_file import ModelFile, read_model
from copriv.vectors import FloatArray


class Accuracy(msgspec.Struct):
    """How far off predictions are, on this table; for labels, the share that is right."""

    rows: int
    root_mean_square: float | None = None
    of_the_mean: float | None = None
    correct: float | None = None


class Prediction(msgspec.Struct):
    """What was predicted."""

    rows: int
    target: str
    meaning: str
    out: str | None
    accuracy: Accuracy | None
    predictions: list[float] | None


def run_job(model_path: Path, data: Path, out: Path | None, *, as_json: bool) -> None:
    """The whole of `copriv predict`."""
    model = read_model(model_path)
    table = open_table(data)
    require_columns(table, model.dictionary.required_columns())
    if out is not None and out.exists():
        raise BadInput(f"{out} exists", remedy="choose another --out, or remove it yourself", value=str(out))
    console = Console(stderr=True)
    with bar(console, "predicting"):
        frame = collect(table.select(_columns(model, table)))
        predictions = model.predict(frame)
        accuracy = _measure(model, frame, predictions)
    if out is not None:
        pl.DataFrame({"prediction": predictions}).write_csv(out)
    told = Prediction(
        rows=predictions.size,
        target=model.dictionary.target.name,
        meaning="probability of a positive label"
        if model.dictionary.target.kind == "label"
        else "the target's own unit",
        out=None if out is None else str(out),
        accuracy=accuracy,
        predictions=predictions.tolist() if out is None and as_json else None,
    )
    if as_json:
        typer.echo(msgspec.json.encode(told).decode())
        return
    if out is None:
        typer.echo(pl.DataFrame({"prediction": predictions}).write_csv(), nl=False)
    console.print(_sentence(told), highlight=False)


def _columns(model: ModelFile, table: pl.LazyFrame) -> list[str]:
    target = model.dictionary.target.name
    known = [target] if target in table.collect_schema().names() else []
    return list(dict.fromkeys([*model.dictionary.required_columns(), *known]))


def _measure(model: ModelFile, frame: pl.DataFrame, predictions: FloatArray) -> Accuracy | None:
    target = model.dictionary.target
    if target.name not in frame.columns:
        return None
    truth = frame.select(target.raw(frame.schema[target.name]).fill_null(float("nan"))).to_series().to_numpy()
    known = np.isfinite(truth)
    if not known.any():
        return None
    if target.kind == "label":
        right = (predictions[known] > 0.5) == (truth[known] > target.center)
        return Accuracy(int(known.sum()), correct=float(right.mean()))
    return Accuracy(
        int(known.sum()),
        root_mean_square=float(np.sqrt(np.mean((predictions[known] - truth[known]) ** 2))),
        of_the_mean=float(np.std(truth[known])),
    )


def _sentence(told: Prediction) -> str:
    where = f" in {told.out}" if told.out else ""
    head = f"{told.rows:,} predictions of {told.target!r} ({told.meaning}){where}"
    if told.accuracy is None:
        return head
    if told.accuracy.correct is not None:
        return f"{head}; {told.accuracy.correct:.1%} of {told.accuracy.rows:,} known labels are right"
    return (
        f"{head}; root mean square error {told.accuracy.root_mean_square:.4g} over {told.accuracy.rows:,} known "
        f"targets, where always predicting their mean gives {told.accuracy.of_the_mean:.4g}"
    )
