"""`copriv verdict`: should an owner join? Decided at home, before anybody is asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from copriv.cli import options as groups
from copriv.cli.command import option, takes
from copriv.cli.options import DATA, OWNERS


@dataclass(frozen=True, kw_only=True)
class VerdictOptions(
    groups.AsJson,
    groups.Seeded,
    groups.Settled,
    groups.Losing,
    groups.Agreed,
    groups.Promising,
    groups.Sizes,
    groups.FileOptions,
    groups.Reading,
    groups.FromPublicRows,
):
    """The options of `copriv verdict`."""

    data: Annotated[Path, option("--data", DATA, "Your records: a table. They stay here.")]
    others: Annotated[
        str | None, option("--others", OWNERS, "Records of each other owner (default: as many as yours).", "N[,N…]")
    ] = None


@takes(VerdictOptions)
def verdict(options: VerdictOptions, given: tuple[str, ...]) -> None:
    """Join or stay alone? Your own model is trained and judged here; what joining costs is forecast on public rows.

    copriv verdict --data my-loans.parquet --public public.parquet --target int_rate --owners 10 --epsilon 1

    With --records or --others, owners are as large as you say; with --epsilon 1,0.5,0.5 the first is what you promise.
    It also says from which epsilon, and from how many others of your size on, joining would pay, each with an interval.
    Nothing leaves this machine.
    """
    from rich.console import Console

    from copriv.api import verdict as api
    from copriv.api.plan_settings import PlanSettings
    from copriv.report.advice import show_verdict
    from copriv.report.progress import bar

    settings = groups.typed(options, given, PlanSettings)
    sizes = {
        "records": options.records if "records" in given else None,
        "others": options.others,
        "person": options.person,
    }
    with bar(Console(stderr=True), "judging at home, on the public rows") as tell:
        who = api.consortium(options.data, options.owners, options.epsilon, options.delta, **sizes)
        found = api.verdict(options.data, options.public, who, target=options.target, tell=tell, **settings)
    if options.as_json:
        typer.echo(groups.as_json(found.to_dict()))
    else:
        show_verdict(found.told, Console())
