"""The ranges of a dictionary's numbers, in which no record can become anything but a bounded row.

Within them (value − mean) / deviation is never NaN, whatever double the value is: its difference from the mean is
finite, because a mean is far below the last digit of the largest double, and its quotient is a number or infinite,
which is then held within ±1e9. Everything after that stays far from both ends of the range of doubles.
docs/theory/sensitivity.md has the calculation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from copriv.errors import BadInput
from copriv.protocol.text import plain

Role: TypeAlias = Literal["place", "unit", "weight", "length", "intercept"]

RANGES: dict[Role, tuple[float, float]] = {
    "place": (-1e150, 1e150),
    "unit": (1e-150, 1e150),
    "weight": (-1e9, 1e9),
    "length": (1e-9, 1e15),
    "intercept": (1e-6, 0.999999),
}
MOST_COLUMNS = 100_000
MOST_CATEGORIES = 1_000_000
LONGEST_TEXT = 10_000


def hold(value: float, role: Role) -> float:
    """The nearest number in the range of its role.

    >>> hold(0.0, "length"), hold(2.0, "length")
    (1e-09, 2.0)
    """
    lowest, highest = RANGES[role]
    return min(max(value, lowest), highest)


def require_number(value: float, role: Role, entry: str) -> None:
    """Refuse a number outside the range of its role, NaN included."""
    lowest, highest = RANGES[role]
    if not lowest <= value <= highest:
        raise BadInput(
            f"{entry} is {value:g}",
            remedy=f"it must be a number from {lowest:g} to {highest:g}: fit the dictionary again, in another unit",
            value=value,
        )


def is_pattern(name: str) -> bool:
    """Whether polars takes a name for a pattern, which stands for all columns that match, and not for one.

    >>> is_pattern("*"), is_pattern("^a.*$"), is_pattern("a*"), is_pattern("^2")
    (True, True, False, False)
    """
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def require_name(name: str, what: str) -> None:
    """Refuse a name that is a page of text, or that stands for more than one column."""
    if len(name) > LONGEST_TEXT:
        raise BadInput(
            f"the name of {what} has {len(name):,} characters", remedy=f"give at most {LONGEST_TEXT:,}", value=len(name)
        )
    if is_pattern(name):
        raise BadInput(
            f"the name of {what} is '{plain(name)}', which stands for every column that matches it",
            remedy="call it by letters: neither *, nor anything from ^ to $",
            value=name,
        )


def require_unique(values: Sequence[object], entry: str) -> None:
    """Refuse a list that is too long or says something twice."""
    if len(values) > MOST_CATEGORIES:
        raise BadInput(f"{entry}: {len(values):,}", remedy=f"give at most {MOST_CATEGORIES:,}", value=len(values))
    if len(set(values)) < len(values):
        raise BadInput(f"{entry} has something twice", remedy="leave one of them out", value=len(values))
