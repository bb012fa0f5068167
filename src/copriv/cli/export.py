"""`copriv export`: copy what may be passed on, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    run: Annotated[
        Path, typer.Argument(help="A run folder of `copriv train`, or a learner's folder whose run is finished.")
    ],
    folder: Annotated[Path, typer.Argument(help="The new folder to copy to.", metavar="DIR")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Copy what may be passed on of a run into a new folder: the model, the privacy statement, the schedule.

    copriv export runs/first handout
    """
    from copriv.cli.export_job import run_export

    run_export(run, folder, as_json=as_json)
