"""`copriv plan`, and `copriv learner draft`: from public rows to a study file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from copriv.cli import options as groups
from copriv.cli.command import option, takes
from copriv.cli.options import LEARNING, OUTPUT, OWNERS, PRIVACY


@dataclass(frozen=True, kw_only=True)
class PlanOptions(
    groups.AsJson,
    groups.Seeded,
    groups.Settled,
    groups.Losing,
    groups.Validating,
    groups.Promising,
    groups.Sizes,
    groups.FileOptions,
    groups.Reading,
    groups.FromPublicRows,
):
    """The options of `copriv plan`."""

    name: Annotated[str, option("--name", OUTPUT, "What people call the study.")] = "study"
    learner: Annotated[str, option("--learner", OUTPUT, "Who asks, as owners will read it (default: not named).")] = ""
    meeting: Annotated[
        Literal["request", "broadcast"],
        option("--meeting", LEARNING, "Who speaks first: owners request, or the learner broadcasts."),
    ] = "request"
    clock: Annotated[
        Literal["always", "poisson"], option("--clock", OWNERS, "Owners are always on, or have Poisson clocks.")
    ] = "always"
    evaluations: Annotated[
        int, option("--evaluations", PRIVACY, "How often an owner may be asked for its average loss.")
    ] = 0
    evaluation_share: Annotated[
        float, option("--evaluation-share", PRIVACY, "The part of every budget set aside for that.")
    ] = 0.1
    months: Annotated[
        int | None,
        option(
            "--months", PRIVACY, "Plan so many monthly retrainings: --records arrive a month, --epsilon is for life."
        ),
    ] = None
    window: Annotated[int | None, option("--window", PRIVACY, "Read a block for so many of them (default: best).")] = (
        None
    )
    keep: Annotated[
        float, option("--keep", LEARNING, "A month's model keeps this part of its weight every month; 1: all.")
    ] = 1.0
    out: Annotated[Path, option("--out", OUTPUT, "The study file to write.")] = Path("study.toml")


@takes(PlanOptions)
def plan(options: PlanOptions, given: tuple[str, ...]) -> None:
    """Write a study file from public rows: features, rule, clip and box. No private record is looked at.

    The public rows themselves, reduced to numbers, go into a file beside it, for the learner alone.

    copriv plan --public public.parquet --target int_rate --owners 10 --records 10000 --epsilon 1
    """
    from rich.console import Console

    from copriv.api import plan as api
    from copriv.planning.scenario import Scenario
    from copriv.report.lifetime import show_lifetime
    from copriv.report.plan_report import show_plan
    from copriv.report.progress import bar
    from copriv.report.warning import warn

    api.require_new_study(options.out)
    who = Scenario.parse(options.owners, options.records, options.epsilon, options.delta)
    console = Console(stderr=True)
    with bar(console, "fitting features, clip and step on the public rows"):
        settings = groups.typed(options, given, api.StudySettings)
        found = api.plan(options.public, who, target=options.target, **settings)
    found.save(options.out)
    warn(found.weakness, console)
    if options.as_json:
        typer.echo(groups.as_json({"study": str(options.out)} | found.to_dict()))
    else:
        show_plan(found.terms, found.candidates, found.scenario, options.out, Console(), found.worth)
        show_lifetime(found.lifetime, Console(), found.terms.unit_words)
