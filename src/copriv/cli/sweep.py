"""`copriv sweep`: trainings over a grid of options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from copriv.cli.command import option, takes
from copriv.cli.options import OUTPUT, AsJson
from copriv.cli.train import Training
from copriv.errors import BadInput

GRID = "Grid"
_NUMBERS_AS_TEXT = ("epsilon", "budget")


@dataclass(frozen=True, kw_only=True)
class _Sweeping:
    vary: Annotated[
        list[str] | None,
        option("--vary", GRID, "Vary this option of `copriv train` over these values. Repeat it.", "NAME=V[,V…]"),
    ] = None
    runs: Annotated[int, option("--runs", GRID, "Trainings of each setting, with seeds one after the other.")] = 1
    simulate: Annotated[
        bool, option("--simulate/--real-noise", GRID, "Seeded noise, not private; or charge every training.")
    ] = True
    dask: Annotated[
        str | None,
        option("--dask", GRID, "Share out by Dask: the address of a scheduler, or `local` for this machine."),
    ] = None
    out: Annotated[Path | None, option("--out", OUTPUT, "Folder for tables, pictures and what is finished.")] = None


@dataclass(frozen=True, kw_only=True)
class SweepOptions(AsJson, _Sweeping, Training):
    """The options of `copriv train`, and what to vary."""


@takes(SweepOptions)
def sweep(options: SweepOptions, typed: tuple[str, ...]) -> None:
    """Train over a grid of options: one row a training, as CSV, Parquet and pictures.

    Sweeps simulate: seeded noise, repeatable, not private. Without --data, ten synthetic banks train. With --out, what
    is finished is kept: the same command goes on after an interruption, and another grid adds to the folder.

        copriv sweep --vary epsilon=0.1,1,10 --vary rule=auto,paper --runs 5 --out sweeps/first
        copriv sweep --data loans.csv --target int_rate --owner-column bank --vary features=5,10,20 --dask local
    """
    import msgspec
    import typer
    from rich.console import Console

    from copriv.api.sweep import Execution, sweep_requests
    from copriv.api.sweep_cell import request_of
    from copriv.api.sweep_grid import Grid
    from copriv.report.progress import Teller
    from copriv.report.sweep_table import show
    from copriv.runtime.local_load import Sources
    from copriv.runtime.local_request import TrainRequest

    axes = dict(_axis(text) for text in options.vary or ())
    fixed = {name: getattr(options, name) for name in typed if name in TrainRequest.__struct_fields__}
    fixed = {name: value for name, value in fixed.items() if name not in (*axes, "out", "simulate")}
    left_open = {name: None for name in ("epsilon", "seed") if name not in typed}
    base = vars(options) | left_open
    with Teller(Console(stderr=True)) as tell:
        how = Execution(options.runs, options.simulate, options.out, options.dask, tell)
        found = sweep_requests(lambda cell: request_of(base | dict(cell)), Sources(), Grid(axes, fixed), how)
    if options.as_json:
        typer.echo(msgspec.json.encode(found.to_dict(), enc_hook=str).decode())
    else:
        show(found.rows, list(axes), found.statement, found.files, Console())


def _axis(text: str) -> tuple[str, tuple[Any, ...]]:
    """The name and the values of NAME=V,V…; each value is read as the option itself would be."""
    name, _, given = text.partition("=")
    field = name.strip().removeprefix("--").replace("-", "_")
    kinds = get_type_hints(Training)
    if field not in kinds or not given.strip():
        names = ", ".join(sorted(kinds)).replace("_", "-")
        raise BadInput(f"--vary {text}", remedy=f"give NAME=V,V… with one of {names}", value=text)
    return field, tuple(dict.fromkeys(_value(field, part.strip(), kinds[field]) for part in given.split(",")))


def _value(field: str, text: str, kind: Any) -> Any:  # noqa: ANN401
    import msgspec

    try:
        if field in _NUMBERS_AS_TEXT:
            return float(text)
        return msgspec.convert(text, kind, strict=False, dec_hook=lambda _kind, path: Path(path))
    except ValueError as problem:
        raise BadInput(f"--vary {field}: {text!r}: {problem}", remedy="give other values", value=text) from problem
