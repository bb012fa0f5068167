"""Running cells, on this machine or on a Dask cluster; what was computed is kept and not computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from copriv.records.cluster import connect
from copriv.reproduction.cell import Cell, Outcome

Tell = Callable[[int, int], None]
Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")


def run_cells(
    cells: Sequence[Cell], *, cache: Path | None = None, dask: str | None = None, tell: Tell
) -> list[Outcome]:
    """The outcomes of cells, in order; those in the cache are read, the others are run and, with a cache, kept."""
    by_key = {cell.key(): cell for cell in cells}
    outcomes = {} if cache is None else _kept(cache, by_key)
    missing = {key: cell for key, cell in by_key.items() if key not in outcomes}
    for key, outcome in share_out(_run, missing, dask, None):
        if cache is not None:
            _keep(cache / f"{key}.json", outcome)
        outcomes[key] = outcome
        tell(len(cells) - len(by_key) + len(outcomes), len(cells))
    return [outcomes[cell.key()] for cell in cells]


def share_out(
    run: Callable[[Shared, Task], Result], tasks: Mapping[str, Task], dask: str | None, shared: Shared
) -> Iterator[tuple[str, Result]]:
    """The result of every task under its key, as it is finished: one after another here, or all on a Dask cluster.

    Args:
        run: a function that workers can import.
        tasks: what it is called with, one by one.
        dask: the address of a scheduler, `local` for workers on this machine, None to do without.
        shared: what it is called with every time; on a cluster, sent to each worker once.
    """
    if dask is None or not tasks:
        yield from ((key, run(shared, task)) for key, task in tasks.items())
        return
    with connect(dask) as client:
        from dask.distributed import as_completed

        given = client.scatter(shared, broadcast=True, hash=False)
        futures = {client.submit(run, given, task, pure=False): key for key, task in tasks.items()}
        for future in as_completed(list(futures)):
            yield futures[future], future.result()


def _run(_shared: None, cell: Cell) -> Outcome:
    return cell.run()


def _kept(cache: Path, cells: Mapping[str, Cell]) -> dict[str, Outcome]:
    """What the cache has of these cells."""
    cache.mkdir(parents=True, exist_ok=True)
    paths = {key: cache / f"{key}.json" for key in cells}
    return {key: msgspec.json.decode(path.read_bytes(), type=Outcome) for key, path in paths.items() if path.exists()}


def _keep(path: Path, outcome: Outcome) -> None:
    draft = path.with_suffix(".new")
    draft.write_bytes(msgspec.json.encode(outcome))
    draft.replace(path)
