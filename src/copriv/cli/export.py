"""`copriv export`: copy what may be passed on, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from copriv.cli.command import argument, option, takes
from copriv.cli.options import OUTPUT, AsJson


@dataclass(frozen=True, kw_only=True)
class ExportOptions(AsJson):
    """The options of `copriv export`."""

    run: Annotated[Path, argument("A run folder of `copriv train`, or a learner's folder whose run is finished.")]
    place: Annotated[Path, argument("The new folder to copy to, or the new file.", "PLACE")]
    to: Annotated[str, option("--to", OUTPUT, "folder, or the model alone: onnx, sklearn, coefficients.")] = "folder"


@takes(ExportOptions)
def export(options: ExportOptions) -> None:
    """Copy what may be passed on of a run into a new folder: the model, the report, the privacy statement.

    copriv export runs/first handout, or the model for other programs: copriv export runs/first model.onnx --to onnx
    """
    import msgspec
    import typer

    from copriv.report.export import export_as

    told = export_as(options.run, options.place, options.to)
    typer.echo(msgspec.json.encode(told).decode() if options.as_json else "\n".join(told.lines()))
