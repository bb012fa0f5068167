"""`copriv generate`: synthetic records in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from copriv.cli.command import argument, option, takes
from copriv.cli.options import DATA, OUTPUT, AsJson, Seeded


@dataclass(frozen=True, kw_only=True)
class GenerateOptions(AsJson, Seeded):
    """The options of `copriv generate`."""

    kind: Annotated[
        Literal["lending", "hospital"], argument("Loans of many borrowers, or discharges of many hospitals.")
    ]
    out: Annotated[Path, option("--out", OUTPUT, "The .csv or .parquet file to write.")]
    rows: Annotated[int, option("--rows", DATA, "How many records.")] = 110_000
    public: Annotated[
        Path | None, option("--public", OUTPUT, "Also write public rows of the same population to this file.")
    ] = None
    public_rows: Annotated[int, option("--public-rows", DATA, "How many public rows.")] = 10_000


@takes(GenerateOptions)
def generate(options: GenerateOptions) -> None:
    """Write synthetic records with the columns, correlations and skew of the real ones, to try things out.

    copriv generate lending --rows 50000 --out loans.parquet

    copriv generate lending --rows 2000 --out my-loans.parquet --public public.parquet --public-rows 5000
    """
    import msgspec
    import typer

    from copriv.api.generate import write_synthetic

    public = {} if options.public is None else {options.public: options.public_rows}
    written = write_synthetic(options.kind, {options.out: options.rows} | public, options.seed)
    columns = written[options.out].columns
    if options.as_json:
        told = {"kind": options.kind, "rows": written[options.out].height, "columns": columns, "out": str(options.out)}
        others = {
            name: value
            for path, rows in public.items()
            for name, value in (("public", str(path)), ("public_rows", rows))
        }
        typer.echo(msgspec.json.encode(told | {"seed": options.seed} | others).decode())
        return
    for path, frame in written.items():
        typer.echo(f"{frame.height:,} synthetic {options.kind} records with {len(columns)} columns in {path}")
