"""`copriv predict`: apply a trained model to a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from copriv.cli.command import option, takes
from copriv.cli.options import DATA, OUTPUT, AsJson, FileOptions, read_options


@dataclass(frozen=True, kw_only=True)
class PredictOptions(AsJson, FileOptions):
    """The options of `copriv predict`."""

    model: Annotated[Path, option("--model", DATA, "The model.json of a run folder.")]
    data: Annotated[Path, option("--data", DATA, "A table with the columns the model was trained on.")]
    id: Annotated[
        str | None, option("--id", OUTPUT, "Write the values of this column beside the predictions.", "COLUMN")
    ] = None
    explain: Annotated[int, option("--explain", OUTPUT, "Say why: so many reasons beside each prediction.", "K")] = 0
    out: Annotated[
        Path | None, option("--out", OUTPUT, "Write predictions to this CSV file (default: standard output).")
    ] = None


@takes(PredictOptions)
def predict(options: PredictOptions) -> None:
    """Apply a model to a table, on this machine and for free.

    Prints one prediction a row, in the target's own unit; for a logistic model, the probability of a positive label.
    If the table has the target, it also says how far off the predictions are. It counts the cells that it could not
    read: they count as missing, and the prediction takes the public median instead.

        copriv predict --model runs/first/model.json --data loans.csv --id loan_number --out predictions.csv
    """
    import typer
    from rich.console import Console

    from copriv.api.predict import predict_table
    from copriv.report.prediction import as_json, notes, sentence
    from copriv.report.progress import bar
    from copriv.report.warning import note

    console, form = Console(stderr=True), read_options(options)
    with bar(console, "predicting"):
        frame, told = predict_table(options.model, options.data, options.out, options.id, form, options.explain)
    if options.as_json:
        typer.echo(as_json(told, frame, options.id))
    elif options.out is None:
        typer.echo(frame.write_csv(), nl=False)
    for line in notes(told):
        note(line, console)
    if not options.as_json:
        console.print(sentence(told), highlight=False, markup=False)
