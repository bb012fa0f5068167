"""`copriv audit`: does the noise keep the promise?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from copriv.cli.command import option, takes
from copriv.cli.options import OWNERS, PRIVACY, AsJson

ATTACK = "Attack"


@dataclass(frozen=True, kw_only=True)
class AuditOptions(AsJson):
    """What is claimed, and how hard to look."""

    asks: Annotated[
        Literal["gradient", "moments", "menu", "both", "all"],
        option(
            "--asks",
            ATTACK,
            "The answers to attack: gradients, moments, both, a menu (filled or along axes, too), or all of them.",
        ),
    ] = "all"
    epsilon: Annotated[
        str, option("--epsilon", PRIVACY, "What the owner claims about any one unit (replace-one).", "FLOAT")
    ] = "1"
    delta: Annotated[float, option("--delta", PRIVACY, "0 for pure epsilon (Laplace); above 0 for Gaussian noise.")] = (
        0.0
    )
    records: Annotated[int, option("--records", OWNERS, "How many synthetic records the owner has.")] = 100
    parameters: Annotated[int, option("--parameters", OWNERS, "How many features a record has.")] = 10
    clip: Annotated[float, option("--clip", PRIVACY, "The most one record's gradient may count.")] = 1.0
    unit: Annotated[
        Literal["record", "person"], option("--unit", PRIVACY, "What is swapped: a record, or a person with its rows.")
    ] = "record"
    rows: Annotated[int, option("--rows", OWNERS, "How many rows the person that is swapped has.")] = 5
    answers: Annotated[
        int,
        option(
            "--answers",
            ATTACK,
            "Over how many gradients the claim holds, and how many owners tell moments; all are measured.",
        ),
    ] = 1000
    draws: Annotated[int, option("--draws", ATTACK, "How many single answers the canary takes; more certify more.")] = (
        80_000
    )
    level: Annotated[float, option("--level", ATTACK, "How often a correct owner may fail the transcript test.")] = 1e-4
    seed: Annotated[
        int, option("--seed", ATTACK, "Seeds records, models and searches; the owner's noise is never seeded.")
    ] = 0


@takes(AuditOptions)
def audit(options: AuditOptions) -> None:
    """Attack owners as they are, and see whether their noise keeps what they promise.

    Synthetic records go through the answer path that real ones take: checks, ledger, clipped gradient or moments,
    secure noise. Each test certifies a lower bound of the true epsilon; if that exceeds the claimed one, the test fails
    and so does the command, with exit code 1. The last one, whole-reply, compares everything else that leaves an owner
    for files that differ in one record. No record is read and no budget is touched. It takes about a minute.

        copriv audit --epsilon 1 --delta 1e-6
    """
    import msgspec
    import typer
    from rich.console import Console

    from copriv.api.audit import audit as run
    from copriv.report.audit_table import show
    from copriv.report.progress import Teller

    settings = {name: value for name, value in vars(options).items() if name not in ("as_json", "epsilon")}
    with Teller(Console(stderr=True)) as tell:
        told = run(options.epsilon, **settings, tell=tell)
    if options.as_json:
        typer.echo(msgspec.json.encode(told.to_dict()).decode())
    else:
        show(told.tests, told.claims, told.seconds, Console())
    raise typer.Exit(0 if told.passed else 1)
