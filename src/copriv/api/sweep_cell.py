"""One training of a sweep: a request to the runtime, the name of its result, and the row that comes of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from copriv.api.settings import promised, this_person, written
from copriv.api.sweep_grid import in_words
from copriv.api.sweep_store import Row
from copriv.api.train import carry_out
from copriv.errors import BadInput
from copriv.owner.ledger_opening import fingerprint_of_file
from copriv.report.figures import Figures
from copriv.runtime.events import silent
from copriv.runtime.local_load import Sources
from copriv.runtime.local_request import TrainRequest
from copriv.runtime.local_run import begin, reopen

_FIGURES = "relative_fitness", "cost_of_privacy", "fitness", "best_fitness", "predicted", "records", "refused"
_USED = (
    "rule",
    "owners",
    "loss",
    "mechanism",
    "accountant",
    "horizon",
    "clip",
    "step",
    "features",
    "limit",
    "regularization",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """Settings of one training.

    Args:
        settings: as they were given.
        run: its number among repetitions, from 1.
        request: what is asked of the runtime.
        place: where it stands among the results.
    """

    settings: Mapping[str, Any]
    run: int
    request: TrainRequest
    place: tuple[int, int]

    def key(self, files: Mapping[Path, str], tables: str) -> str:
        """A name for everything the result depends on: the request, and what its files and tables hold."""
        plain = msgspec.structs.replace(self.request, out=None)
        said = msgspec.json.encode(plain, enc_hook=lambda path: files.get(path, str(path)))
        return hashlib.sha256(said + tables.encode()).hexdigest()[:32]

    def row(self) -> Row:
        """What was asked for, as a table has it."""
        asked = {name: in_words(value) for name, value in self.settings.items()}
        return asked | {"run": self.run, "seed": self.request.seed}


def request_of(values: Mapping[str, Any]) -> TrainRequest:
    """What is asked of the runtime, of values by the names that requests have; other names are left out."""
    known = {name: values[name] for name in TrainRequest.__struct_fields__ if name in values}
    budget = known.get("budget")
    settled = {"epsilon": promised(known.get("epsilon")), "skip": tuple(known.get("skip") or ())}
    return TrainRequest(**(known | settled | {"budget": None if budget is None else written(budget)}))


def files_of(request: TrainRequest) -> list[Path]:
    """The files that a request names."""
    values = (getattr(request, name) for name in request.__struct_fields__ if name not in ("out", "ledgers"))
    return [value for value in values if isinstance(value, Path) and value.is_file()]


def fingerprints(cells: list[Cell]) -> dict[Path, str]:
    """Of the bytes of every file that some cell names."""
    return {path: fingerprint_of_file(path) for path in {path for cell in cells for path in files_of(cell.request)}}


def fingerprint_of_tables(sources: Sources) -> str:
    """Of the content of tables in memory."""
    import io

    found = hashlib.sha256()
    for held in (sources.data, sources.public):
        if held is not None:
            written = io.BytesIO()
            held.table.collect().write_ipc(written)
            found.update(written.getbuffer())
    return found.hexdigest()


def run_cell(sources: Sources, cell: Cell) -> Row:
    """Train, and tell the figures; a simulation that cannot be run tells why instead."""
    try:
        return cell.row() | told(_train(sources, cell)) | {"problem": None, "remedy": None}
    except BadInput as problem:
        if not cell.request.simulate:
            raise
        return cell.row() | {"problem": problem.problem, "remedy": problem.remedy}


def told(figures: Figures) -> Row:
    """The figures of a run as one row."""
    public = None if figures.public is None else figures.public.relative_fitness
    return (
        {name: getattr(figures, name) for name in _FIGURES}
        | {f"{name}_used": getattr(figures, name) for name in _USED}
        | {"alone_median": figures.alone.median, "gaining": figures.alone.gaining, "public": public}
        | {"epsilon_promised": figures.guarantee.epsilon, "delta_promised": figures.guarantee.delta}
        | {"unit": figures.guarantee.unit, "adjacency": figures.guarantee.adjacency}
        | {"answers_most": max(entry.answers for entry in figures.spent), "noise": figures.noise}
        | {"seconds": figures.seconds}
    )


def _train(sources: Sources, cell: Cell) -> Figures:
    """A new run; or one with real noise that was interrupted, which goes on and pays nothing more."""
    request, person, folder = cell.request, this_person(), cell.request.out
    if folder is not None and (folder / "run.json").is_file():
        return msgspec.json.decode((folder / "run.json").read_bytes(), type=Figures)
    if folder is not None and (folder / "start.json").is_file():
        return carry_out(reopen(folder, sources, person, silent)).figures
    return carry_out(begin(request, sources, tuple(cell.settings), person, silent)).figures
