"""`copriv predict`: apply a trained model to a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def predict(
    model: Annotated[Path, typer.Option("--model", help="The model.json of a run folder.")],
    data: Annotated[
        Path, typer.Option("--data", help="A CSV or Parquet table with the columns the model was trained on.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write predictions to this CSV file (default: standard output).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Apply a model to a table, on this machine and for free.

    Prints one prediction a row, in the target's own unit; for a logistic model, the probability of a positive label.
    If the table has the target, it also says how far off the predictions are.

        copriv predict --model runs/first/model.json --data loans.csv --out predictions.csv
    """
    from copriv.cli.predict_job import run_job

    run_job(model, data, out, as_json=as_json)
