"""Running cells, on this machine or on a Dask cluster; what was computed is kept and not computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec

from copriv.errors import BadInput
from copriv.reproduction.cell import Cell, Outcome

Tell = Callable[[int, int], None]


def run_cells(cells: Sequence[Cell], *, cache: Path, dask: str | None = None, tell: Tell) -> list[Outcome]:
    """The outcomes of cells, in order; those in the cache are read, the others are run and kept."""
    cache.mkdir(parents=True, exist_ok=True)
    missing = {cell.key(): cell for cell in cells if not (cache / f"{cell.key()}.json").exists()}
    done = len(cells) - len(missing)
    for key, outcome in _outcomes(missing, dask):
        _keep(cache / f"{key}.json", outcome)
        done += 1
        tell(done, len(cells))
    return [msgspec.json.decode((cache / f"{cell.key()}.json").read_bytes(), type=Outcome) for cell in cells]


def _outcomes(cells: dict[str, Cell], dask: str | None) -> Iterable[tuple[str, Outcome]]:
    if dask is None or not cells:
        return ((key, cell.run()) for key, cell in cells.items())
    return _on_cluster(cells, dask)


def _on_cluster(cells: dict[str, Cell], address: str) -> Iterable[tuple[str, Outcome]]:
    """Every missing cell as one task; outcomes come back in the order in which they are finished."""
    try:
        from dask.distributed import Client, as_completed
    except ImportError as problem:
        raise BadInput(
            "a Dask cluster needs the package dask[distributed]", remedy="pip install 'copriv[dask]'", value=address
        ) from problem
    with Client(address) as client:
        futures: dict[Future[Any], str] = {client.submit(_run, cell, pure=False): key for key, cell in cells.items()}
        for future in as_completed(list(futures)):
            yield futures[future], future.result()


def _run(cell: Cell) -> Outcome:
    return cell.run()


def _keep(path: Path, outcome: Outcome) -> None:
    draft = path.with_suffix(".new")
    draft.write_bytes(msgspec.json.encode(outcome))
    draft.replace(path)
