"""Tasks that know nothing of each other, shared between two processes; results come in the order of the tasks."""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

PROCESSES = 2


def share_out(tasks: Sequence[Callable[[], Any]], description: str) -> list[Any]:
    """What each task returns; a bar tells how many are done. Long tasks should come first.

    Processes are started afresh: one that is forked inherits locks of threads it does not have.
    """
    bars = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    fresh = multiprocessing.get_context("spawn")
    with (
        Progress(*bars, console=Console(stderr=True)) as progress,
        ProcessPoolExecutor(PROCESSES, fresh, _keep_to_one_core) as pool,
    ):
        bar = progress.add_task(description, total=len(tasks))
        futures = [pool.submit(task) for task in tasks]
        for future in futures:
            future.add_done_callback(lambda _: progress.advance(bar))
        return [future.result() for future in futures]


def _keep_to_one_core() -> None:
    """Before compiled passes are loaded: the other core is the other process's."""
    os.environ["NUMBA_NUM_THREADS"] = "1"
