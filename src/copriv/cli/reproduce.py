"""`copriv reproduce`: redraw the paper's figures."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class StudyName(StrEnum):
    """Studies to choose from."""

    lending = "lending"
    hospital = "hospital"
    all = "all"


class ScaleName(StrEnum):
    """The size of the noise."""

    printed = "printed"
    valid = "valid"


def reproduce(
    study: Annotated[StudyName, typer.Argument(help="Loans, hospital stays, or both.")],
    data: Annotated[
        Path | None, typer.Option("--data", help="The official table, or one with its columns; else synthetic records.")
    ] = None,
    target: Annotated[str | None, typer.Option("--target", help="What to predict, if not the paper's target.")] = None,
    ordinal: Annotated[
        bool, typer.Option("--ordinal", help="Number the categories of a text target 1, 2, 3 …")
    ] = False,
    min_records: Annotated[
        int | None, typer.Option("--min-records", help="Leave out hospitals with fewer records (default: 10,000).")
    ] = None,
    public_rows: Annotated[
        int | None,
        typer.Option("--public-rows", help="How many of the last rows are public (default: as in the paper)."),
    ] = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Shuffle the rows first; synthetic rows always are.")
    ] = False,
    figures: Annotated[str | None, typer.Option("--figures", help="Only these, such as a0,a4 (default: all).")] = None,
    runs: Annotated[int, typer.Option("--runs", help="Runs of each setting.")] = 100,
    noise: Annotated[ScaleName, typer.Option("--noise", help="As printed (not ε-DP), or valid.")] = ScaleName.printed,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same figures.")] = 0,
    dask: Annotated[
        str | None, typer.Option("--dask", help="Address of a Dask scheduler to run the settings on.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for tables, pictures and index.html.")] = Path("figures"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Redraw the paper's figures: tables, pictures and a page that compares them with what the paper says.

    Settings that were computed before are taken from OUT/cache, so that an interrupted run goes on where it was.

        copriv reproduce all
        copriv reproduce lending --data loan.csv --figures a0,a4 --noise valid
    """
    from copriv.cli.reproduce_job import ReproduceOptions, run_job

    run_job(
        ReproduceOptions(
            study=study.value,
            data=data,
            target=target,
            ordinal=ordinal,
            min_records=min_records,
            public_rows=public_rows,
            shuffle=shuffle,
            figures=figures,
            runs=runs,
            noise=noise.value,
            seed=seed,
            dask=dask,
            out=out,
            as_json=as_json,
        )
    )
