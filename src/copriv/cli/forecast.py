"""`copriv forecast`: what training together will cost, before anybody has answered."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from copriv.cli.train import LossName


class ForecastRule(StrEnum):
    """Rules to choose from."""

    auto = "auto"
    newton = "newton"
    averaged = "averaged"
    paper = "paper"


class Varied(StrEnum):
    """What may be varied."""

    epsilon = "epsilon"
    owners = "owners"
    records = "records"
    where_joining_pays = "join"


def forecast(
    public: Annotated[Path, typer.Option("--public", help="A CSV or Parquet table of public rows.")],
    target: Annotated[str, typer.Option("--target", help="The column to predict.")],
    owners: Annotated[int, typer.Option("--owners", help="How many owners would train together.")],
    records: Annotated[
        str, typer.Option("--records", help="Records of each owner: one number, or one an owner.", metavar="N[,N…]")
    ],
    epsilon: Annotated[
        str, typer.Option("--epsilon", help="What each owner promises: one number, or one an owner.", metavar="E[,E…]")
    ] = "1",
    delta: Annotated[
        float, typer.Option("--delta", help="0 for pure epsilon (Laplace); above 0 for Gaussian noise.")
    ] = 0.0,
    rule: Annotated[
        ForecastRule, typer.Option("--rule", help="How answers become a model (auto: the cheapest).")
    ] = ForecastRule.auto,
    horizon: Annotated[
        int | None,
        typer.Option("--horizon", help="Meetings of paper (default: 1,000) and averaged (default: the best)."),
    ] = None,
    heterogeneity: Annotated[
        float,
        typer.Option("--heterogeneity", help="How much owners truly differ: 0.001 is as if by samples of 1,000."),
    ] = 0.0,
    vary: Annotated[
        Varied | None,
        typer.Option(
            "--vary", help="What if: over a range of this; join: where joining pays, over owners and epsilon."
        ),
    ] = None,
    loss: Annotated[LossName, typer.Option("--loss", help="What a mistake costs.")] = LossName.squared,
    huber_threshold: Annotated[
        float, typer.Option("--huber-threshold", help="Residual beyond which the Huber loss grows linearly.")
    ] = 0.25,
    positive_above: Annotated[
        float | None, typer.Option("--positive-above", help="For the logistic loss: targets above this are positive.")
    ] = None,
    ordinal: Annotated[
        bool, typer.Option("--ordinal", help="Number the sorted categories of a text target 1, 2, 3 …")
    ] = False,
    features: Annotated[int, typer.Option("--features", help="Principal components to keep.")] = 10,
    regularization: Annotated[
        float, typer.Option("--regularization", help="Weight of the squared length of the model.")
    ] = 1e-5,
    seed: Annotated[int, typer.Option("--seed", help="Of rehearsals, where moments do not hold.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the picture and table of --vary.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
) -> None:
    """Forecast what privacy will cost, from public rows, sizes and budgets alone; nobody is asked, nothing is spent.

    The answer is the relative fitness of the joint model (0 is the best there could be), an interval for it, what an
    owner would reach alone, and whether it should join.

        copriv forecast --public loans.csv --target int_rate --owners 10 --records 10000 --epsilon 1

        copriv forecast --public loans.csv --target int_rate --owners 10 --records 10000 --vary epsilon --out whatif

    With `--vary join`: for which numbers of owners and which epsilon joining pays, for owners of that many records.
    """
    from copriv.cli.forecast_job import ForecastOptions, run_job

    run_job(
        ForecastOptions(
            public=public,
            target=target,
            owners=owners,
            records=records,
            epsilon=epsilon,
            delta=delta,
            rule=rule.value,
            horizon=horizon,
            heterogeneity=heterogeneity,
            vary=None if vary is None else vary.value,
            loss=loss.value,
            huber_threshold=huber_threshold,
            positive_above=positive_above,
            ordinal=ordinal,
            features=features,
            regularization=regularization,
            seed=seed,
            out=out,
            as_json=as_json,
        )
    )
