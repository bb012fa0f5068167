"""`copriv periods`: from one row a record to one row for each period that it lived through."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from copriv.cli.command import argument, option, takes
from copriv.cli.options import DATA, OUTPUT, AsJson, FileOptions, read_options


@dataclass(frozen=True, kw_only=True)
class PeriodsOptions(AsJson, FileOptions):
    """The options of `copriv periods`."""

    table: Annotated[Path, argument("The table: one row a record.")]
    time: Annotated[str, option("--time", DATA, "The column that says how long a record was followed.")]
    event: Annotated[str, option("--event", DATA, "The column that says whether the event came then: above 0.")]
    out: Annotated[Path, option("--out", OUTPUT, "The .csv or .parquet file to write.")]
    edges: Annotated[str | None, option("--edges", DATA, "Where periods end, as agreed: 3,6,12,24.")] = None
    periods: Annotated[
        int | None, option("--periods", DATA, "So many, chosen on this table: for public rows only.")
    ] = None
    person: Annotated[
        str, option("--person", DATA, "The column of people's ids, which they have in every file; with --prefix.")
    ] = ""
    prefix: Annotated[
        str, option("--prefix", DATA, "Number records as PREFIX/0, PREFIX/1, …: other files' are other records.")
    ] = ""


@takes(PeriodsOptions)
def periods(options: PeriodsOptions) -> None:
    """Write a table of person-periods, to train hazards on: a row for each period that a record lived through.

    copriv periods public.csv --time months --event died --periods 6 --out public-periods.csv

    copriv periods mine.csv --time months --event died --edges 3,6,12,24,48,96 --out my-periods.csv

    Then: --target died --loss logistic --person record --weigh row --rows-cap 6. A record's rows are clipped as one.

    Next month's file has other records, numbered from 0, too: give --prefix 2026-03, and --person if people have ids.
    """
    import msgspec
    import typer

    from copriv.api.hazard import expand_periods, settle_edges

    form = read_options(options)
    edges = settle_edges(options.table, options.time, options.event, options.edges, options.periods, form)
    naming = {"person": options.person, "prefix": options.prefix}
    frame = expand_periods(options.table, options.time, options.event, edges, options.out, form, **naming)
    if options.as_json:
        typer.echo(msgspec.json.encode({"rows": frame.height, "edges": edges, "out": str(options.out)}).decode())
        return
    ends = ",".join(f"{edge:g}" for edge in edges)
    typer.echo(f"{frame.height:,} rows in {options.out}; periods end at {ends}")
    cap = f"{len(edges)}, times the most records that a person may have" if options.person else str(len(edges))
    typer.echo(f"train with --target {options.event} --loss logistic --person record --weigh row --rows-cap {cap}")
    if not any(naming.values()):
        typer.echo("records are numbered from 0: if other files of yours belong to the same study, give --prefix")
