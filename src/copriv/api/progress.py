"""How a verb tells how far it has come: a bar in a terminal, nothing in a program that does not ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

Tell: TypeAlias = Callable[[int, int], None]
Progress: TypeAlias = Callable[[str], AbstractContextManager[Tell]]


@contextmanager
def silent(_words: str) -> Iterator[Tell]:
    """Tell nobody."""
    yield lambda _done, _total: None
