"""`copriv power`: will an effect be found, before anybody is asked?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from copriv.cli import options as groups
from copriv.cli.command import option, takes
from copriv.cli.options import LEARNING, OWNERS


@dataclass(frozen=True, kw_only=True)
class PowerOptions(
    groups.AsJson,
    groups.Losing,
    groups.Promising,
    groups.Sizes,
    groups.FileOptions,
    groups.Reading,
    groups.FromPublicRows,
):
    """The options of `copriv power`."""

    column: Annotated[str, option("--column", LEARNING, "The coefficient: a column, or COLUMN = CATEGORY.")]
    effect: Annotated[
        float, option("--effect", LEARNING, "Of one more unit; an odds or rate ratio for labels or counts.")
    ]
    power: Annotated[float | None, option("--power", LEARNING, "Also what it takes to reach this, such as 0.8.")] = None
    heterogeneity: Annotated[
        float, option("--heterogeneity", OWNERS, "How much owners truly differ: 0.001 is as if by samples of 1,000.")
    ] = 0.0


@takes(PowerOptions)
def power(options: PowerOptions, given: tuple[str, ...]) -> None:
    """The chance to find an effect, from public rows, sizes and budgets alone; nobody is asked, nothing is spent.

    copriv power --public p.csv --target ill --loss logistic --owners 10 --records 2000 --column drug --effect 1.2
    """
    from copriv.api.plan_settings import PlanSettings
    from copriv.api.power import power as work_out
    from copriv.cli.say import say
    from copriv.planning.scenario import Scenario

    who = Scenario.parse(options.owners, options.records, options.epsilon, options.delta, options.heterogeneity)
    asked: dict[str, Any] = {"column": options.column, "effect": options.effect, "wanted": options.power}
    settings = groups.typed(options, given, PlanSettings)
    found = work_out(options.public, who, target=options.target, **asked, **settings)
    say(found.to_dict(), found.lines(), as_json=options.as_json)
