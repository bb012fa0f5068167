"""A grid of settings: what is varied, what is fixed, and every combination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from copriv.errors import BadInput

MOST_CELLS = 100_000


@dataclass(frozen=True, slots=True)
class Grid:
    """Settings that are varied, in the order they were given, and settings that are the same in every cell."""

    axes: Mapping[str, tuple[Any, ...]]
    fixed: Mapping[str, Any]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Grid:
        """A list, a range or an array is varied; anything else, a tuple included, is one value.

        >>> Grid.of({"epsilon": [0.1, 1, 1], "rule": "paper"})
        Grid(axes={'epsilon': (0.1, 1)}, fixed={'rule': 'paper'})
        """
        axes = {name: _values(name, value) for name, value in given.items() if _is_axis(value)}
        cells = int(np.prod([len(values) for values in axes.values()], dtype=float))
        if cells > MOST_CELLS:
            raise BadInput(f"a grid of {cells:,} cells", remedy=f"vary less: at most {MOST_CELLS:,}", value=cells)
        return cls(axes, {name: value for name, value in given.items() if not _is_axis(value)})

    def cells(self) -> list[dict[str, Any]]:
        """The settings of every cell; the last axis changes fastest.

        >>> Grid.of({"a": [1, 2], "b": [3, 4], "c": 5}).cells()[1]
        {'c': 5, 'a': 1, 'b': 4}
        """
        return [dict(self.fixed) | dict(zip(self.axes, values, strict=True)) for values in product(*self.axes.values())]


def in_words(value: object) -> str | float | bool | None:
    """A setting as one cell of a table: numbers and words as they are, several joined by commas, objects by name."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return ",".join(f"{name}={each}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ",".join(str(each) for each in value)
    return str(getattr(value, "name", value))


def _is_axis(value: object) -> bool:
    return isinstance(value, list | range | np.ndarray)


def _values(name: str, given: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """Each value once, as plain numbers."""
    values = given.tolist() if isinstance(given, np.ndarray) else list(given)
    if not values:
        raise BadInput(f"nothing to vary {name} over", remedy="give at least one value", value=name)
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return tuple(found)
