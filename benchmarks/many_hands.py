"""Tasks that know nothing of each other, one process a core; results come in the order of the tasks.

Every process has one thread, so that they do not get into each other's way. Numbers do not depend on how many processes
there are.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Result = TypeVar("Result")
_ONE_THREAD = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS")


def share_out(tasks: Sequence[Callable[[], Result]], description: str) -> list[Result]:
    """What each task returns; a bar tells how many are done. Long tasks should come first.

    Processes are started afresh: one that is forked inherits locks of threads it does not have.
    """
    bars = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        Progress(*bars, console=Console(stderr=True)) as progress,
        one_thread_each(),
        ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool,
    ):
        bar = progress.add_task(description, total=len(tasks))
        futures = [pool.submit(task) for task in tasks]
        for future in futures:
            future.add_done_callback(lambda _: progress.advance(bar))
        return [future.result() for future in futures]


@contextmanager
def one_thread_each() -> Iterator[None]:
    """What processes that start meanwhile find in their environment."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
