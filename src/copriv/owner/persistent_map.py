"""An immutable mapping that grows in constant time: what a fold over many entries carries along.

The newest mapping holds the table. One that has a successor holds only what the successor changed, and reads through
it (Baker, "Shallow binding makes functional arrays fast", 1991). So a chain of additions costs what a dictionary costs,
an older mapping still says what it always said, and it is gone as soon as nobody holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class _Absent:
    """Stands for a key that was not there."""


_ABSENT = _Absent()


class _Change(NamedTuple, Generic[Key, Value]):
    """How an older mapping differs from the next one."""

    key: Key
    before: Value | _Absent
    following: PersistentMap[Key, Value]


class PersistentMap(Mapping[Key, Value]):
    """A mapping that never changes; `adding` gives another one.

    >>> none = PersistentMap[str, int]()
    >>> one = none.adding("a", 1)
    >>> two = one.adding("a", 2)
    >>> dict(none), dict(one), dict(two)
    ({}, {'a': 1}, {'a': 2})
    """

    __slots__ = ("_change", "_table")

    def __init__(self, items: Mapping[Key, Value] | None = None) -> None:
        self._table: dict[Key, Value] | None = dict(items or {})
        self._change: _Change[Key, Value] | None = None

    def adding(self, key: Key, value: Value) -> PersistentMap[Key, Value]:
        """This mapping with one more item, or with another value for a key."""
        table = self._table
        after: PersistentMap[Key, Value] = PersistentMap.__new__(PersistentMap)
        after._change = None
        if table is None:
            after._table = table = self._own_table()
        else:
            after._table = table
            self._change, self._table = _Change(key, table.get(key, _ABSENT), after), None
        table[key] = value
        return after

    def __contains__(self, key: object) -> bool:
        return key in self._table if self._table is not None else super().__contains__(key)

    def __getitem__(self, key: Key) -> Value:
        here = self
        while here._table is None:
            change = here._behind()
            if change.key == key:
                if isinstance(change.before, _Absent):
                    raise KeyError(key)
                return change.before
            here = change.following
        return here._table[key]  # noqa: SLF001 - its own class

    def __iter__(self) -> Iterator[Key]:
        return iter(self._own_table())

    def __reversed__(self) -> Iterator[Key]:
        return reversed(self._own_table())

    def __len__(self) -> int:
        return len(self._own_table())

    def _behind(self) -> _Change[Key, Value]:
        assert self._change is not None, "a mapping has a table or a change"  # noqa: S101
        return self._change

    def _own_table(self) -> dict[Key, Value]:
        """The table of the newest mapping; of an older one a copy, with what came later taken back."""
        if self._table is not None:
            return self._table
        changes: list[_Change[Key, Value]] = []
        here = self
        while here._table is None:
            changes.append(here._behind())
            here = changes[-1].following
        table = dict(here._table)  # noqa: SLF001 - its own class
        for change in reversed(changes):
            if isinstance(change.before, _Absent):
                del table[change.key]
            else:
                table[change.key] = change.before
        return table
