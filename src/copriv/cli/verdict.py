"""`copriv verdict`: should an owner join? Decided at home, before anybody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from copriv.cli.train import LossName


def verdict(
    data: Annotated[Path, typer.Option("--data", help="Your records: a CSV or Parquet table. They stay here.")],
    public: Annotated[Path, typer.Option("--public", help="A table of public rows.")],
    target: Annotated[str, typer.Option("--target", help="The column to predict.")],
    owners: Annotated[
        int | None, typer.Option("--owners", help="How many owners there would be, you included (default: 10).")
    ] = None,
    others: Annotated[
        str | None,
        typer.Option("--others", help="Records of each other owner, if not as many as yours.", metavar="N[,N…]"),
    ] = None,
    epsilon: Annotated[str, typer.Option("--epsilon", help="What each would promise.", metavar="FLOAT")] = "1",
    delta: Annotated[float, typer.Option("--delta", help="0 for pure epsilon, else a small probability.")] = 0.0,
    ordinal: Annotated[bool, typer.Option("--ordinal", help="Number the categories of a text target 1, 2 …")] = False,
    positive_above: Annotated[
        float | None, typer.Option("--positive-above", help="For the logistic loss: targets above this are positive.")
    ] = None,
    features: Annotated[int, typer.Option("--features", help="Principal components to keep.")] = 10,
    loss: Annotated[LossName, typer.Option("--loss", help="What a mistake costs.")] = LossName.squared,
    regularization: Annotated[float, typer.Option("--regularization", help="Weight of the squared length.")] = 1e-5,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Join or stay alone? Your own model is trained and judged here; what joining costs is foreseen on public rows.

    copriv verdict --data my-loans.parquet --public public.parquet --target int_rate --owners 10 --epsilon 1

    It also says from which epsilon, and from how many others of your size on, joining would pay, each with an interval.
    Nothing leaves this machine.
    """
    from copriv.cli.verdict_job import VerdictOptions, run_verdict

    options = VerdictOptions(
        data=data,
        public=public,
        target=target,
        owners=owners,
        others=others,
        epsilon=epsilon,
        delta=delta,
        ordinal=ordinal,
        positive_above=positive_above,
        features=features,
        loss=loss.value,
        regularization=regularization,
    )
    run_verdict(options, as_json=as_json)
