"""Jobs side by side, one process a core: for benchmarks whose work is many independent pieces of plain Python.

Every process has one thread, so that the pieces do not get into each other's way. Numbers do not depend on how many
processes there are.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TypeVar

Result = TypeVar("Result")
_ONE_THREAD = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS")


@contextmanager
def crew() -> Iterator[ProcessPoolExecutor]:
    """A process for every core."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as workers:
            yield workers
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def work_off(
    workers: ProcessPoolExecutor, jobs: Sequence[Callable[[], Result]], tell: Callable[[], object]
) -> list[Result]:
    """The results of some jobs in their order; `tell` is called whenever one is done."""
    waiting = [workers.submit(job) for job in jobs]
    for _ in as_completed(waiting):
        tell()
    return [job.result() for job in waiting]
