"""`copriv reproduce`: redraw the paper's figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from copriv.cli.command import argument, option, takes
from copriv.cli.options import DATA, LEARNING, OUTPUT, AsJson, Seeded

FIGURES = "Figures"


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(AsJson, Seeded):
    """What a figure is drawn of, and how often."""

    study: Annotated[Literal["lending", "hospital", "all"], argument("Loans, hospital stays, or both.")]
    data: Annotated[
        Path | None, option("--data", DATA, "The official table, or one with its columns; else synthetic records.")
    ] = None
    target: Annotated[str | None, option("--target", DATA, "What to predict, if not the paper's target.")] = None
    ordinal: Annotated[bool, option("--ordinal", DATA, "Number the sorted categories of a text target 1, 2, 3 …")] = (
        False
    )
    min_records: Annotated[
        int | None, option("--min-records", DATA, "Leave out hospitals with fewer records (default: 10,000).")
    ] = None
    public_rows: Annotated[
        int | None, option("--public-rows", DATA, "How many of the last rows are public (default: as in the paper).")
    ] = None
    shuffle: Annotated[bool, option("--shuffle", DATA, "Shuffle the rows first; synthetic rows always are.")] = False
    figures: Annotated[str | None, option("--figures", FIGURES, "Only these, such as a0,a4 (default: all).")] = None
    runs: Annotated[int, option("--runs", FIGURES, "Runs of each setting.")] = 100
    horizon: Annotated[int, option("--horizon", FIGURES, "Meetings of a run (T).")] = 1000
    epsilons: Annotated[
        str | None, option("--epsilons", FIGURES, "The ε of all figures (default: the paper's).", "E[,E…]")
    ] = None
    sizes: Annotated[
        str | None, option("--sizes", FIGURES, "Records of each bank in a1 and a3; the largest in a0.", "N[,N…]")
    ] = None
    owners: Annotated[str | None, option("--owners", FIGURES, "How many banks there are in a4.", "N[,N…]")] = None
    noise: Annotated[Literal["printed", "valid"], option("--noise", FIGURES, "As printed (not ε-DP), or valid.")] = (
        "printed"
    )
    dask: Annotated[
        str | None,
        option("--dask", LEARNING, "Share out by Dask: the address of a scheduler, or `local` for this machine."),
    ] = None
    out: Annotated[Path, option("--out", OUTPUT, "Folder for tables, pictures and index.html.")] = Path("figures")


@takes(ReproduceOptions)
def reproduce(options: ReproduceOptions) -> None:
    """Redraw the paper's figures: tables, pictures and a page that compares them with what the paper says.

    Settings that were computed before are taken from OUT/cache, so that an interrupted run goes on where it was.

        copriv reproduce all
        copriv reproduce lending --data loan.csv --figures a0,a4 --noise valid
        copriv reproduce lending --figures a1 --epsilons 0.5,1,2 --sizes 1000,10000 --horizon 200
    """
    import msgspec
    import typer
    from rich.console import Console

    from copriv.api.reproduce import reproduce as run
    from copriv.report.findings_table import show
    from copriv.report.progress import Teller

    settings = {name: value for name, value in vars(options).items() if name not in ("study", "as_json")}
    with Teller(Console(stderr=True)) as tell:
        told = run(options.study, **settings, tell=tell)
    if options.as_json:
        typer.echo(msgspec.json.encode(told.to_dict()).decode())
    else:
        findings = [(figure, each.paper, each.ours, each.verdict) for figure, each in told.findings]
        show(findings, told.page, told.seconds, Console())
