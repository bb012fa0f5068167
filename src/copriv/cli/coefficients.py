"""`copriv coefficients`: what a run says of each column, with intervals that are not drawn towards the public rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from copriv.cli.command import argument, option, takes
from copriv.cli.options import OUTPUT, AsJson, as_json


@dataclass(frozen=True, kw_only=True)
class CoefficientsOptions(AsJson):
    """The options of `copriv coefficients`."""

    run: Annotated[Path, argument("A run folder of `copriv train`, or a learner's folder whose run is finished.")]
    meta: Annotated[bool, option("--meta", OUTPUT, "As a meta-analysis: fixed and random effects of owners.")] = False
    forest: Annotated[str | None, option("--forest", OUTPUT, "A forest plot of this coefficient, as SVG.")] = None


@takes(CoefficientsOptions)
def coefficients(options: CoefficientsOptions) -> None:
    """Coefficients with intervals, from answers that were given: nothing is spent.

    A standard error is told by what causes it: sampling, owners' noise, differences between owners, and public rows.
    Where an interval would not hold there is none, and a sentence says why. Train with --features all.

        copriv coefficients runs/first --meta
    """
    import typer
    from rich.console import Console

    from copriv.api.inference import inference
    from copriv.report.inference_table import show_inference, show_meta

    found = inference(options.run)
    if options.forest is not None:
        typer.echo(found.forest(options.forest))
    elif options.as_json:
        typer.echo(as_json(found.to_dict()))
    else:
        (show_meta if options.meta else show_inference)(found.told, Console())
