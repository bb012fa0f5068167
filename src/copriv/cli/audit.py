"""`copriv audit`: does the noise keep the promise?"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

import typer


class AsksName(StrEnum):
    """What owners are asked for."""

    GRADIENT = "gradient"
    MOMENTS = "moments"
    BOTH = "both"


_KINDS: dict[AsksName, tuple[Literal["gradient", "moments"], ...]] = {
    AsksName.GRADIENT: ("gradient",),
    AsksName.MOMENTS: ("moments",),
    AsksName.BOTH: ("gradient", "moments"),
}


def audit(
    asks: Annotated[
        AsksName,
        typer.Option("--asks", help="The answers to attack: gradients, second moments (one-shot statistics)."),
    ] = AsksName.BOTH,
    epsilon: Annotated[
        str, typer.Option("--epsilon", help="What the owner claims about any one record.", metavar="FLOAT")
    ] = "1",
    delta: Annotated[
        float, typer.Option("--delta", help="0 for pure epsilon (Laplace); above 0 for Gaussian noise.")
    ] = 0.0,
    records: Annotated[int, typer.Option("--records", help="How many synthetic records the owner has.")] = 100,
    parameters: Annotated[int, typer.Option("--parameters", help="How many features a record has.")] = 10,
    clip: Annotated[float, typer.Option("--clip", help="The most one record's gradient may count.")] = 1.0,
    answers: Annotated[
        int,
        typer.Option(
            "--answers",
            help="Over how many gradients the claim holds, and how many owners tell moments; all are measured.",
        ),
    ] = 1000,
    draws: Annotated[
        int, typer.Option("--draws", help="How many single answers the canary takes; more certify more.")
    ] = 80_000,
    level: Annotated[
        float, typer.Option("--level", help="How often a correct owner may fail the transcript test.")
    ] = 1e-4,
    seed: Annotated[
        int, typer.Option("--seed", help="Seeds records, models and searches; the owner's noise is never seeded.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
) -> None:
    """Attack owners as they are, and see whether their noise keeps what they promise.

    Synthetic records go through the answer path that real ones take: checks, ledger, clipped gradient or moments,
    secure noise. Each test certifies a lower bound of the true epsilon; if that exceeds the claimed one, the test fails
    and so does the command, with exit code 1. The last one, whole-reply, compares everything else that leaves an owner
    for files that differ in one record. No record is read and no budget is touched. It takes less than a minute.

        copriv audit --epsilon 1 --delta 1e-6
    """
    from copriv.cli.audit_job import AuditOptions, run_job

    options = AuditOptions(
        asks=_KINDS[asks],
        epsilon=epsilon,
        delta=delta,
        records=records,
        parameters=parameters,
        clip=clip,
        answers=answers,
        draws=draws,
        level=level,
        seed=seed,
        as_json=as_json,
    )
    raise typer.Exit(0 if run_job(options) else 1)
