"""`copriv generate`: synthetic records in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from copriv.cli.train import SyntheticName


def generate(
    kind: Annotated[SyntheticName, typer.Argument(help="Loans of many borrowers, or discharges of many hospitals.")],
    out: Annotated[Path, typer.Option("--out", help="The .csv or .parquet file to write.")],
    rows: Annotated[int, typer.Option("--rows", help="How many records.")] = 110_000,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same records.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write synthetic records with the columns, correlations and skew of the real ones, to try things out.

    copriv generate lending --rows 50000 --out loans.parquet
    """
    import msgspec

    from copriv.entropy import seeded
    from copriv.errors import BadInput
    from copriv.records import hospital_like, lending_like

    if out.suffix.lower() not in {".csv", ".parquet"}:
        raise BadInput(f"{out} is neither .csv nor .parquet", remedy="name such a file", value=str(out))
    if out.exists():
        raise BadInput(f"{out} exists", remedy="choose another --out, or remove it yourself", value=str(out))
    make = lending_like.generate if kind is SyntheticName.lending else hospital_like.generate
    frame = make(rows, seeded(seed, "records"))
    if out.suffix.lower() == ".csv":
        frame.write_csv(out)
    else:
        frame.write_parquet(out)
    told = {"kind": kind.value, "rows": frame.height, "columns": frame.columns, "out": str(out), "seed": seed}
    text = f"{frame.height:,} synthetic {kind.value} records with {frame.width} columns in {out}"
    typer.echo(msgspec.json.encode(told).decode() if as_json else text)
