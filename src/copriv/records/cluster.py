"""A Dask cluster that helps with a pass over records.

Its workers read the files themselves, so they must see them under the same path, and they see records: it has to be the
owner's own cluster. What comes back are sums of blocks and hashes of stretches, which never leave the owner either.
Whoever can reach a scheduler can run code on it: a local one has certificates of its own, made for this one process, so
that other users of the machine cannot.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from copriv.errors import BadInput
from copriv.records.resources import Resources, default_resources, parse_memory

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

HERE = "local"
_PATIENCE = "10s"
_QUIET = logging.CRITICAL
# So many tasks a worker are on their way, so that none waits and results do not pile up.
_AHEAD = 3


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """A client of a cluster.

    Args:
        address: of a scheduler; `local` for workers on this machine.

    Raises:
        BadInput: the package is missing, or nobody answers.
    """
    try:
        from dask.distributed import Client, LocalCluster, Security
    except ImportError as problem:
        raise BadInput(
            "a Dask cluster needs the package dask[distributed]", remedy="pip install 'copriv[dask]'", value=address
        ) from problem
    if address == HERE:
        with (
            LocalCluster(
                threads_per_worker=1, dashboard_address=None, silence_logs=_QUIET, security=Security.temporary()
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        found = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError) as problem:
        remedy = f"start one with `dask scheduler`, or give --dask {HERE}"
        raise BadInput(f"no Dask scheduler answers at {address}", remedy=remedy, value=address) from problem
    with found as client:
        yield client


@dataclass(frozen=True, slots=True)
class DaskSpread:
    """Tasks on a cluster, results in order."""

    client: Any

    def __call__(
        self, run: Callable[[Shared, Task], Result], shared: Shared, tasks: Sequence[Task]
    ) -> Iterator[Result]:
        """What `run` returns for every task, in order; not more than a few a worker are on their way."""
        given = self.client.scatter(shared, broadcast=True, hash=False)
        most = _AHEAD * max(1, len(self.client.ncores()))
        waiting: deque[Any] = deque()
        for task in tasks:
            waiting.append(self.client.submit(run, given, task, pure=False))
            if len(waiting) >= most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@dataclass(frozen=True, slots=True)
class Machine:
    """What an owner says its machine may use, as it is typed.

    Args:
        memory: a bound, as 2GiB; None for half of this machine's.
        dask: the address of a scheduler, `local` for workers on this machine; None for no help.
    """

    memory: str | None = None
    dask: str | None = None

    @contextmanager
    def opened(self) -> Iterator[Resources]:
        """The same, for as long as the context lasts.

        Raises:
            BadInput: the bound is none, or no scheduler answers.
        """
        resources = default_resources() if self.memory is None else Resources(parse_memory(self.memory))
        if self.dask is None:
            yield resources
            return
        with connect(self.dask) as client:
            yield replace(resources, spread=DaskSpread(client))


PLAIN_MACHINE = Machine()
