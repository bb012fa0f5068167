"""`copriv.sweep`: trainings over a grid of settings, one row each, that can be interrupted and shared out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from copriv.api.data import Data
from copriv.api.settings import Reading, TrainSettings, request_from
from copriv.api.sweep_cell import Cell, named, run_cell
from copriv.api.sweep_grid import Grid
from copriv.api.sweep_payment import require_payable, require_same_records
from copriv.api.sweep_store import Row, Store
from copriv.errors import BadInput
from copriv.report.sweep_files import write_files
from copriv.report.sweep_table import frame_of, statement_of
from copriv.reproduction.runner import share_out
from copriv.rules.registry import resolve
from copriv.runtime.events import Note, Progress, Tell, Warned, silent
from copriv.runtime.local_load import Sources
from copriv.runtime.local_request import TrainRequest

if TYPE_CHECKING:
    import polars as pl

_OF_TABLE = ("target", "owners")
_NOT_VARIED = ("tell", "ask", "out", "simulate")


@dataclass(frozen=True, slots=True)
class Execution:
    """How a sweep is carried out.

    Args:
        runs: trainings of each cell on the same rows; simulated noise and schedules have one seed after the other.
        simulate: seeded noise, repeatable and not private; False for real noise, which is charged.
        out: the folder that keeps what is finished; None to keep nothing.
        dask: the address of a scheduler, `local` for workers on this machine, None for one training after another.
        tell: is told what happens.
    """

    runs: int = 1
    simulate: bool = True
    out: Path | None = None
    dask: str | None = None
    tell: Tell = silent

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise BadInput(f"{self.runs} runs", remedy="give at least 1", value=self.runs)
        if self.dask is not None and not self.simulate:
            raise BadInput(
                "real noise cannot be shared out: the ledger of the records is on this machine",
                remedy="leave out dask, or simulate",
                value=self.dask,
            )


@dataclass(frozen=True, slots=True)
class Sweep:
    """What came of a grid: a row for each training, in the order of the grid.

    >>> Sweep({"epsilon": (1,)}, ({"epsilon": 1, "problem": None},), simulated=True, folder=None, files=(), reused=0)
    Sweep(over epsilon; simulated, not private: 1 training with seeded noise, nothing was charged)

    Args:
        axes: what was varied, and over which values.
        rows: settings and figures of each training; figures are measured on the records, and not private.
        simulated: whether the noise was seeded, and protects nobody.
        folder: where everything is kept; None if nothing is.
        files: the tables and pictures in it.
        reused: how many trainings were there already.
    """

    axes: Mapping[str, tuple[Any, ...]]
    rows: tuple[Row, ...]
    simulated: bool
    folder: Path | None
    files: tuple[Path, ...]
    reused: int

    @property
    def statement(self) -> str:
        """What the noise protects, and what was spent."""
        return statement_of(self.rows, simulated=self.simulated)

    def to_polars(self) -> pl.DataFrame:
        """A row for each training."""
        return frame_of(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """What `copriv sweep --json` prints."""
        return {
            "statement": self.statement,
            "simulated": self.simulated,
            "varied": {name: list(values) for name, values in self.axes.items()},
            "rows": list(self.rows),
            "reused": self.reused,
            "folder": None if self.folder is None else str(self.folder),
            "files": [str(path) for path in self.files],
        }

    def __repr__(self) -> str:
        varied = ", ".join(self.axes) or "nothing"
        return f"Sweep(over {varied}; {self.statement})"

    def _repr_html_(self) -> str:
        table: str = self.to_polars()._repr_html_()
        return f"<p>{escape(self.statement)}</p>{table}"


def sweep(data: Data | None = None, **grid: Any) -> Sweep:  # noqa: ANN401
    """Train once for every combination of settings; a list is varied, everything else is the same in every training.

    Sweeps simulate by default: seeded noise, repeatable, not private. Real noise (`simulate=False`) is charged to the
    records for each training, as in `train`; the sum of ε is told first, and refused if it is beyond the budget.

    With `out`, every finished training is kept in that folder: the same call goes on after an interruption. Another
    grid in the same folder uses what is there and adds its own; tables (CSV, Parquet) and pictures are of the last one.

    >>> import copriv as cp
    >>> table = {"x": [k % 20 / 10 for k in range(600)], "y": [3.0 + k % 20 / 5 for k in range(600)]}
    >>> data = cp.read(table, target="y", owners=2, features=1)
    >>> found = cp.sweep(data, epsilon=[1, 10], regularization=[1e-5, 1e-3], rule="statistics")
    >>> found.to_polars().select("epsilon", "regularization", "noise").rows()[1]
    (1, 0.001, 'seeded')
    >>> found.statement.partition(":")[0]
    'simulated, not private'

    Args:
        data: made by `read`; None for synthetic banks.
        grid: any setting of `train` and `read`, one value or a list; a setting that is itself a sequence is given as a
            tuple. Beside them: runs (trainings of each cell, with seeds one after the other), simulate, out (a folder),
            dask (address of a scheduler, or "local" for workers on this machine; a script needs its
            `if __name__ == "__main__"` then), tell (is told what happens).

    Raises:
        BadInput: a setting is unknown or cannot be meant, or the budget is too small; nothing is spent or written then.
    """
    how = Execution(
        runs=grid.pop("runs", 1),
        simulate=grid.pop("simulate", True),
        out=None if grid.get("out") is None else Path(grid["out"]),
        dask=grid.pop("dask", None),
        tell=grid.pop("tell", silent),
    )
    grid.pop("out", None)
    _require_known(grid)
    source = Data(None) if data is None else data
    return sweep_requests(lambda settings: _request(source, settings), source.sources(), Grid.of(grid), how)


def sweep_requests(
    make: Callable[[Mapping[str, Any]], TrainRequest], sources: Sources, grid: Grid, how: Execution
) -> Sweep:
    """The same for requests that somebody else makes of the settings of a cell."""
    cells = _cells(make, grid, how)
    store = Store(how.out)
    store.check()
    keyed = named(cells, sources, kept=how.out is not None)
    done = store.read(keyed)
    missing = {key: _placed(cell, key, how) for key, cell in keyed.items() if key not in done}
    require_payable(list(missing.values()), sources, how.tell)
    how.tell(Note(_plan_in_words(len(keyed), len(done), how)))
    rows = done | _run(missing, sources, store, how, len(done))
    ordered = tuple(rows[key] for key in sorted(keyed, key=lambda key: keyed[key].place))
    _require_some(ordered, how.tell)
    written = () if how.out is None else write_files(ordered, grid.axes, how.out, simulated=how.simulate)
    return Sweep(grid.axes, ordered, how.simulate, how.out, tuple(written), len(done))


def _require_known(grid: Mapping[str, Any]) -> None:
    names = ({*TrainSettings.__annotations__, *Reading.__annotations__, "epsilon", *_OF_TABLE}) - {*_NOT_VARIED}
    for name in grid:
        if name not in names:
            raise BadInput(
                f"sweep knows no setting {name!r}", remedy=f"it knows {', '.join(sorted(names))}", value=name
            )


def _request(data: Data, settings: Mapping[str, Any]) -> TrainRequest:
    """What a cell asks of the runtime: some settings are about the table, the others about the training.

    A seed is about both: here, as on the command line, rows are shuffled by it, too.
    """
    reading = {name: value for name, value in settings.items() if name in Reading.__annotations__}
    table = {name: value for name, value in settings.items() if name in _OF_TABLE}
    rest = {name: value for name, value in settings.items() if name not in {*reading, *table, "epsilon"} - {"seed"}}
    asked = replace(data, reading=Reading(**(data.reading | reading)), **table)  # type: ignore[typeddict-item]
    return request_from(asked.loading(settings.get("loss", "squared")), settings.get("epsilon"), rest)


def _cells(make: Callable[[Mapping[str, Any]], TrainRequest], grid: Grid, how: Execution) -> list[Cell]:
    """Every training. Runs of a simulation differ in their seed; real noise differs by itself."""
    if "seed" in grid.axes and how.runs > 1:
        raise BadInput("seeds are varied, and runs vary them too", remedy="leave out one of them", value=how.runs)
    settings = grid.cells()
    for each in settings:
        if each.get("rule", "auto") != "auto":
            resolve(each["rule"])
    requests = [_anywhere(msgspec.structs.replace(make(each), simulate=how.simulate, out=None)) for each in settings]
    if not how.simulate:
        require_same_records(grid, requests)
    return [
        _cell(each, request, place, run)
        for run in range(how.runs)
        for place, (each, request) in enumerate(zip(settings, requests, strict=True))
    ]


def _cell(settings: Mapping[str, Any], request: TrainRequest, place: int, run: int) -> Cell:
    seed = request.seed or 0
    asked = msgspec.structs.replace(request, seed=seed + run if request.simulate else seed)
    return Cell(settings, run + 1, asked, (place, run), rows=seed)


def _anywhere(request: TrainRequest) -> TrainRequest:
    """With paths that a worker in another folder finds."""
    paths = {name: getattr(request, name) for name in request.__struct_fields__}
    return msgspec.structs.replace(
        request, **{name: path.absolute() for name, path in paths.items() if isinstance(path, Path)}
    )


def _placed(cell: Cell, key: str, how: Execution) -> Cell:
    """With real noise, in a run folder of its own, so that it can be resumed."""
    if how.simulate or how.out is None:
        return cell
    return replace(cell, request=msgspec.structs.replace(cell.request, out=how.out / "runs" / key))


def _run(missing: Mapping[str, Cell], sources: Sources, store: Store, how: Execution, done: int) -> dict[str, Row]:
    """Train what is missing; each row is kept as soon as it is there."""
    rows: dict[str, Row] = {}
    total = done + len(missing)
    if not how.simulate:
        store.make("runs")
    how.tell(Progress("training, setting by setting", done, total))
    for key, found in share_out(run_cell, missing, how.dask, Sources(sources.data, sources.public)):
        rows[key] = msgspec.json.decode(msgspec.json.encode(found))
        if rows[key]["problem"] is None:
            store.keep(key, rows[key])
        how.tell(Progress("training, setting by setting", done + len(rows), total))
    return rows


def _plan_in_words(trainings: int, done: int, how: Execution) -> str:
    noise = "simulated, not private" if how.simulate else "real noise"
    before = f", {done} of them done before" if done else ""
    kept = "" if how.out is None else f"; if it is interrupted, the same command goes on from {how.out}"
    return f"{trainings} training{'' if trainings == 1 else 's'} ({noise}){before}{kept}"


def _require_some(rows: Sequence[Row], tell: Tell) -> None:
    """Settings that do not go together are told; if none of them do, that is a mistake."""
    failed = [row for row in rows if row["problem"] is not None]
    if not failed:
        return
    problem, remedy = failed[0]["problem"], failed[0]["remedy"]
    if len(failed) == len(rows):
        raise BadInput(f"no setting of the grid can be trained: {problem}", remedy=remedy, value=problem)
    tell(Warned(f"{len(failed)} of {len(rows)} settings cannot be trained, such as: {problem} ({remedy})"))
