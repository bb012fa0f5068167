"""`copriv export`: copy what may be passed on, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from copriv.cli.command import argument, takes
from copriv.cli.options import AsJson


@dataclass(frozen=True, kw_only=True)
class ExportOptions(AsJson):
    """The options of `copriv export`."""

    run: Annotated[Path, argument("A run folder of `copriv train`, or a learner's folder whose run is finished.")]
    folder: Annotated[Path, argument("The new folder to copy to.", "DIR")]


@takes(ExportOptions)
def export(options: ExportOptions) -> None:
    """Copy what may be passed on of a run into a new folder: the model, the privacy statement, the schedule.

    copriv export runs/first handout
    """
    import msgspec
    import typer

    from copriv.report.export import export_run

    told = export_run(options.run, options.folder)
    typer.echo(msgspec.json.encode(told).decode() if options.as_json else "\n".join(told.lines()))
