"""What an owner's machine may use for a pass over its records: how much memory, and who helps."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from copriv.errors import BadInput

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

GIB = 1 << 30
_UNITS = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?i?b)", re.IGNORECASE)
# The program and its libraries, and what reading a file takes whatever its size.
PROGRAM = 640 << 20
_LEAST = 400 * 10**6
_MOST_BATCH_ROWS, _FEWEST_BATCH_ROWS = 100_000, 1_000
# A cell while it is read: as text, as a number, standardised, and copies on the way.
_CELL_BYTES = 64


class Spread(Protocol):
    """Does tasks somewhere else, and has their results in order."""

    def __call__(
        self, run: Callable[[Shared, Task], Result], shared: Shared, tasks: Sequence[Task]
    ) -> Iterator[Result]:
        """What `run` returns for every task, in order; `shared` goes to every worker once."""


@dataclass(frozen=True, slots=True)
class Resources:
    """A bound on memory, in bytes, and who helps with a pass that is not made in memory.

    Args:
        memory: reduced records are kept in memory if all fits below this, and read again for every pass if not.
        spread: where stretches of a pass are worked on; None for here.
        batch_rows: how many rows are read at a time; None for what suits the memory.
    """

    memory: int
    spread: Spread | None = None
    batch_rows: int | None = None

    def fits(self, records: int, parameters: int) -> bool:
        """Whether so many reduced records, and what checks them, fit beside the program."""
        return PROGRAM + 10 * records * (parameters + 1) <= self.memory

    def rows_at_once(self, cells: int) -> int:
        """How many rows of so many cells are read at a time: a batch takes an eighth of the memory at most."""
        if self.batch_rows is not None:
            return self.batch_rows
        return min(_MOST_BATCH_ROWS, max(_FEWEST_BATCH_ROWS, self.memory // 8 // (_CELL_BYTES * max(cells, 1))))


def default_resources() -> Resources:
    """Half of this machine's memory, and nobody else."""
    return Resources(max(_LEAST, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2))


def parse_memory(text: str) -> int:
    """An amount of memory in bytes.

    Raises:
        BadInput: it is no amount with a unit, or less than the program itself takes.

    >>> parse_memory("2GiB"), parse_memory("1.5 gb")
    (2147483648, 1500000000)
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise BadInput(f"--memory is {text!r}", remedy="give a number and a unit, as 2GiB or 900MB", value=text)
    memory = int(float(found[1]) * _UNITS[found[2].lower()])
    if memory < _LEAST:
        raise BadInput(
            f"--memory is {text!r}, and the program itself takes more",
            remedy=f"give at least {_LEAST // 10**6}MB",
            value=memory,
        )
    return memory
