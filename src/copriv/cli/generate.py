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
    public: Annotated[
        Path | None, typer.Option("--public", help="Also write public rows of the same population to this file.")
    ] = None,
    public_rows: Annotated[int, typer.Option("--public-rows", help="How many public rows.")] = 10_000,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same records.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write synthetic records with the columns, correlations and skew of the real ones, to try things out.

    copriv generate lending --rows 50000 --out loans.parquet

    copriv generate lending --rows 2000 --out my-loans.parquet --public public.parquet --public-rows 5000
    """
    import msgspec

    from copriv.entropy import seeded
    from copriv.records import hospital_like, lending_like

    files = {out: (rows, "records")} | ({} if public is None else {public: (public_rows, "public records")})
    for path in files:
        _require_new_table(path)
    make = lending_like.generate if kind is SyntheticName.lending else hospital_like.generate
    frames = {path: make(count, seeded(seed, stream)) for path, (count, stream) in files.items()}
    for path, frame in frames.items():
        if path.suffix.lower() == ".csv":
            frame.write_csv(path)
        else:
            frame.write_parquet(path)
        if not as_json:
            typer.echo(f"{frame.height:,} synthetic {kind.value} records with {frame.width} columns in {path}")
    if as_json:
        frame = frames[out]
        told = {"kind": kind.value, "rows": frame.height, "columns": frame.columns, "out": str(out), "seed": seed}
        others = {"public": str(public), "public_rows": frames[public].height} if public is not None else {}
        typer.echo(msgspec.json.encode(told | others).decode())


def _require_new_table(path: Path) -> None:
    from copriv.errors import BadInput

    if path.suffix.lower() not in {".csv", ".parquet"}:
        raise BadInput(f"{path} is neither .csv nor .parquet", remedy="name such a file", value=str(path))
    if path.exists():
        raise BadInput(f"{path} exists", remedy="choose another name, or remove it yourself", value=str(path))
