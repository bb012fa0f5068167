"""Grids that a user gives for figures instead of the paper's: checked before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from copriv.errors import BadInput

Numbers: TypeAlias = str | float | Sequence[float] | None


def read_epsilons(given: Numbers) -> tuple[float, ...] | None:
    """Budgets, ascending; None for the paper's.

    >>> read_epsilons("10, 0.1,1")
    (0.1, 1.0, 10.0)
    """
    return None if given is None else _ascending(given, "ε")


def read_counts(given: Numbers, what: str, least: int) -> tuple[int, ...] | None:
    """Whole numbers of at least so much, ascending; None for the paper's."""
    if given is None:
        return None
    values = _ascending(given, what)
    for value in values:
        if value < least or value != int(value):
            raise BadInput(f"{value:g} {what}", remedy=f"give whole numbers of at least {least}", value=value)
    return tuple(int(value) for value in values)


def _ascending(given: str | float | Sequence[float], what: str) -> tuple[float, ...]:
    try:
        values = sorted({float(value) for value in _parts(given)})
    except (TypeError, ValueError) as problem:
        raise _bad(given, what) from problem
    if not values or not all(0 < value < math.inf for value in values):
        raise _bad(given, what)
    return tuple(values)


def _parts(given: str | float | Sequence[float]) -> Sequence[str | float]:
    if isinstance(given, str):
        return given.split(",")
    return [given] if isinstance(given, int | float) else given


def _bad(given: object, what: str) -> BadInput:
    return BadInput(
        f"{given!r} as a grid of {what}", remedy="give finite numbers above 0, such as 0.1,1,10", value=str(given)
    )
