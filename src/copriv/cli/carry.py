"""`copriv carry`: the models of the months so far as one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from copriv.cli.command import argument, option, takes
from copriv.cli.options import OUTPUT, AsJson


@dataclass(frozen=True, kw_only=True)
class CarryOptions(AsJson):
    """The options of `copriv carry`."""

    study: Annotated[Path, argument("The study file of `copriv plan --months`.")]
    runs: Annotated[list[Path], argument("Run folders of the first months, the oldest first.", "RUN…")]
    out: Annotated[Path, option("--out", OUTPUT, "The model file to write.")] = Path("carried.json")


@takes(CarryOptions)
def carry(options: CarryOptions) -> None:
    """Make one model of those of the months so far: their mean, by the weights of the plan. It costs no ε.

    copriv plan --public public.parquet --target int_rate --owners 4 --records 500 --epsilon 1 --months 24

    copriv carry study.toml runs/january runs/february --out carried.json
    """
    from copriv.api.carry import carry_runs
    from copriv.cli.say import say
    from copriv.report.lifetime import CarriedTold

    found = carry_runs(options.study, options.runs)
    found.model.save(options.out)
    told = CarriedTold.of(str(options.out), found.model.file, found.weights, found.predicted)
    say(told, told.lines(), as_json=options.as_json)
