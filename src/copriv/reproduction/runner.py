"""Running cells, on this machine or on a Dask cluster; what was computed is kept and not computed again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from copriv.errors import BadInput
from copriv.reproduction.cell import Cell, Outcome

Tell = Callable[[int, int], None]
Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

HERE = "local"
_PATIENCE = "10s"
_QUIET = logging.CRITICAL


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
    with _client(dask) as (client, as_completed):
        given = client.scatter(shared, broadcast=True, hash=False)
        futures = {client.submit(run, given, task, pure=False): key for key, task in tasks.items()}
        for future in as_completed(list(futures)):
            yield futures[future], future.result()


@contextmanager
def _client(address: str) -> Iterator[tuple[Any, Any]]:
    """A client of a cluster, and how to wait for what it does."""
    try:
        from dask.distributed import Client, LocalCluster, as_completed
    except ImportError as problem:
        raise BadInput(
            "a Dask cluster needs the package dask[distributed]", remedy="pip install 'copriv[dask]'", value=address
        ) from problem
    if address == HERE:
        with (
            LocalCluster(threads_per_worker=1, dashboard_address=None, silence_logs=_QUIET) as cluster,
            Client(cluster) as client,
        ):
            yield client, as_completed
        return
    try:
        found = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError) as problem:
        remedy = f"start one with `dask scheduler`, or give --dask {HERE}"
        raise BadInput(f"no Dask scheduler answers at {address}", remedy=remedy, value=address) from problem
    with found as client:
        yield client, as_completed


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
