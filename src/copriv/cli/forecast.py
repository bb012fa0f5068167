"""`copriv forecast`: what training together will cost, before anybody has answered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from copriv.cli import options as groups
from copriv.cli.command import option, takes
from copriv.cli.options import LEARNING, OUTPUT, OWNERS
from copriv.cli.page import PAGE, PORT, show_page

if TYPE_CHECKING:
    from copriv.planning.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class ForecastOptions(
    groups.AsJson,
    groups.Seeded,
    groups.Settled,
    groups.Losing,
    groups.Agreed,
    groups.Validating,
    groups.Promising,
    groups.Sizes,
    groups.FileOptions,
    groups.Reading,
    groups.FromPublicRows,
):
    """The options of `copriv forecast`."""

    heterogeneity: Annotated[
        float, option("--heterogeneity", OWNERS, "How much owners truly differ: 0.001 is as if by samples of 1,000.")
    ] = 0.0
    vary: Annotated[
        Literal["epsilon", "owners", "records", "join"] | None,
        option("--vary", LEARNING, "What if: over a range of this; join: where joining pays, over owners and epsilon."),
    ] = None
    within: Annotated[
        str | None,
        option("--within", LEARNING, "What validation costs: ε for this figure ± this, 95 %.", "auc=0.02"),
    ] = None
    out: Annotated[Path | None, option("--out", OUTPUT, "Folder for the picture and table of --vary.")] = None
    open: Annotated[bool, option("--open", PAGE, "Open a page with sliders for all of this in a browser.")] = False
    serve: Annotated[int | None, option("--serve", PAGE, f"The same without a browser. {PORT}")] = None


@takes(ForecastOptions)
def forecast(options: ForecastOptions, given: tuple[str, ...]) -> None:
    """Forecast what privacy will cost, from public rows, sizes and budgets alone; nobody is asked, nothing is spent.

    The answer is what models should be worth (R² and errors, or AUC and log-loss), the distance ψ of the joint one from
    the best model in these features, an interval for it, and whether to join. `plan` and `train` tell the same number.

        copriv forecast --public loans.csv --target int_rate --owners 10 --records 10000 --epsilon 1

        copriv forecast --public loans.csv --target int_rate --records 7000,827,300 --vary epsilon --out whatif

    With `--within auc=0.02`: what it costs each owner to validate the model to AUC ± 0.02 on the records that it holds
    back (--held-back); also log_loss, calibration_slope, observed_expected, and r2 or rmse of numbers.

    With `--vary join`: for which numbers of owners and which epsilon joining pays, for owners of that many records.
    """
    from rich.console import Console

    from copriv.api import forecast as api
    from copriv.api.plan_settings import PlanSettings
    from copriv.errors import BadInput
    from copriv.planning.scenario import Scenario
    from copriv.report.forecast_report import show, write
    from copriv.report.progress import bar
    from copriv.report.warning import note

    if options.out is not None and options.vary is None:
        raise BadInput("--out without --vary", remedy="say what to vary, or leave --out out", value=str(options.out))
    settings = groups.typed(options, given, PlanSettings)
    who = Scenario.parse(options.owners, options.records, options.epsilon, options.delta, options.heterogeneity)
    if options.open or options.serve is not None:
        what_if(options, who, settings)
        return
    if options.within is not None:
        show_cost(options, who, settings)
        return
    with bar(Console(stderr=True), "forecasting") as tell:
        found = api.forecast(options.public, who, target=options.target, vary=options.vary, tell=tell, **settings)
    for notice in found.told.notices:
        note(notice, Console(stderr=True))
    if options.out is not None:
        write(found.told, options.out)
    if options.as_json:
        typer.echo(groups.as_json(found.to_dict()))
    else:
        show(found.told, Console())


def show_cost(options: ForecastOptions, who: Scenario, settings: Any) -> None:  # noqa: ANN401 - as `typed` has them
    """Tell what a validation costs."""
    from copriv.api.validation_cost import parse_wanted, validation_cost

    figure, within = parse_wanted(options.within or "")
    found = validation_cost(options.public, who, figure, within, target=options.target, **settings)
    typer.echo(groups.as_json(found.to_dict()) if options.as_json else found.words)


def what_if(options: ForecastOptions, who: Scenario, settings: Any) -> None:  # noqa: ANN401 - as `typed` has them
    """Show the page with sliders, until it is ended."""
    from copriv.dashboard.server import bind
    from copriv.dashboard.what_if_page import what_if_app
    from copriv.dashboard.what_if_view import Studio
    from copriv.errors import BadInput

    if options.public is None or options.vary is not None:
        raise BadInput("a page with sliders", remedy="give --public, and leave --vary out: the page varies everything")
    address = bind(options.serve or 0, path="/what-if")
    app = what_if_app(Studio(options.public, options.target, who, settings))
    show_page(app, address, {"public": str(options.public)}, browse=options.open, as_json=options.as_json)
