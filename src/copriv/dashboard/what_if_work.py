"""Work that may take long: done at once by whoever can wait, or aside for whoever cannot, the newest wish first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Aside(Generic[Key, Value]):
    """Values that are worked out once, and remembered. Of wishes that nobody waits for, only the newest is kept.

    >>> squares = Aside(lambda number: number * number, kept=10)
    >>> squares.get(3), squares.within(3, seconds=0.0)
    (9, 9)

    Args:
        work: what to do; a problem is remembered, too, and raised again.
        kept: so many are remembered.
    """

    def __init__(self, work: Callable[[Key], Value], kept: int) -> None:
        self._work, self._kept = work, kept
        self._known: OrderedDict[Key, Value | Exception] = OrderedDict()
        self._changed = threading.Condition()
        self._wish: Key | None = None
        self._thread: threading.Thread | None = None

    def get(self, key: Key) -> Value:
        """The value, however long it takes."""
        found = self._found(key)
        if found is None:
            self._do(key)
            found = self._found(key)
        return found[0] if found is not None else self._work(key)

    def within(self, key: Key, seconds: float) -> Value | None:
        """The value, if it is there by then; else it is worked out aside, unless somebody wants another one."""
        with self._changed:
            if key not in self._known:
                self._wish = key
                self._start()
                self._changed.notify_all()
                self._changed.wait_for(lambda: key in self._known, seconds)
        found = self._found(key)
        return None if found is None else found[0]

    def _found(self, key: Key) -> tuple[Value] | None:
        with self._changed:
            if key not in self._known:
                return None
            self._known.move_to_end(key)
            value = self._known[key]
        if isinstance(value, Exception):
            raise value
        return (value,)

    def _do(self, key: Key) -> None:
        value: Value | Exception
        try:
            value = self._work(key)
        except Exception as problem:  # noqa: BLE001 - whoever asks is told, and the thread goes on
            value = problem
        with self._changed:
            self._known[key] = value
            if len(self._known) > self._kept:
                self._known.popitem(last=False)
            self._changed.notify_all()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._go_on, daemon=True)
            self._thread.start()

    def _go_on(self) -> None:
        while True:
            with self._changed:
                while self._wish is None:
                    self._changed.wait()
                key, self._wish = self._wish, None
                done = key in self._known
            if not done:
                self._do(key)
