"""`copriv report`: write the reports of a finished run anew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from copriv.cli.command import argument, option, takes
from copriv.cli.options import OUTPUT, AsJson


@dataclass(frozen=True, kw_only=True)
class ReportOptions(AsJson):
    """The options of `copriv report`."""

    run: Annotated[Path, argument("A run folder of `copriv train`, or a learner's folder whose run is finished.")]
    show: Annotated[bool, option("--open", OUTPUT, "Show report.html in your browser.")] = False


@takes(ReportOptions)
def report(options: ReportOptions) -> None:
    """Write the reports of a run: report.html, which may be passed on, and report-internal.html, which may not.

    copriv report runs/first --open
    """
    import typer

    from copriv.cli.say import say
    from copriv.report.kept_run import write_anew

    told = write_anew(options.run)
    say(told, told.lines(), as_json=options.as_json)
    if options.show and typer.launch(str(Path(told.report).absolute())) != 0:
        typer.echo(f"no browser was found: open {told.report} yourself", err=True)
