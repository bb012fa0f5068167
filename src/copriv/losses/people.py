"""People: which rows of a sample are one person's, and how much each row counts.

A person's gradient, loss and moments are sums over its rows, each times its weight. Weights of a person add up to at
most 1, so a person is bounded as one record is, and is clipped as one.

    person   1/m for each of m rows: the mean, so every person weighs the same
    row      1/cap for each row: every row weighs the same, and a person with fewer rows than the cap less than another
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from copriv.errors import BadInput
from copriv.vectors import FloatArray, IntArray

Weigh: TypeAlias = Literal["person", "row"]

# The code of a row that names nobody; it is a person of its own.
NOBODY = -1


@dataclass(frozen=True, slots=True, eq=False)
class Whose:
    """Whose each row of a table is, and how much of it counts.

    Args:
        codes: one a row, the same for all rows of a person; `NOBODY` for a row that names nobody.
        cap: the most rows of a person that count.
        weigh: whether people weigh alike, or rows.
    """

    codes: IntArray
    cap: int
    weigh: Weigh

    def take(self, rows: IntArray) -> Whose:
        """Of some rows."""
        return Whose(self.codes[rows], self.cap, self.weigh)

    @property
    def places(self) -> IntArray:
        """The place of each row's person, in the order of their first rows.

        >>> Whose(np.array([7, 3, 7, -1, 3, -1]), 9, "person").places.tolist()
        [0, 1, 0, 2, 1, 3]
        """
        alone = self.codes == NOBODY
        apart = np.where(alone, self.codes.max(initial=0) + 1 + np.cumsum(alone), self.codes)
        _, first, who = np.unique(apart, return_index=True, return_inverse=True)
        return np.asarray(np.argsort(np.argsort(first))[who], dtype=np.int64)

    @property
    def people(self) -> int:
        """How many people there are: a row that names nobody is one."""
        return int(self.places.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class People:
    """Rows in groups: person i has those from starts[i] to before starts[i + 1].

    Args:
        starts: where each person's rows begin; behind the last one, how many rows there are.
        weights: of each row; those of a person add up to at most 1.
    """

    starts: IntArray
    weights: FloatArray

    def __post_init__(self) -> None:
        if self.starts.size < 2 or self.starts[0] != 0 or self.starts[-1] != self.weights.size:
            raise BadInput("people that are not all rows", remedy="say of each row whose it is", value=self.starts.size)
        if not (np.all(self.sizes >= 1) and np.all(self.weights >= 0)):
            raise BadInput("a person without rows, or a row with a weight below 0", remedy="give each at least one row")
        if float(np.max(self.add_up(np.ones(self.weights.size)))) > 1 + 1e-9:
            raise BadInput("a person whose rows count more than 1", remedy="give weights that add up to at most 1")

    @classmethod
    def join(cls, parts: Sequence[People]) -> People:
        """All people of several groups, in order; none of them is taken for another."""
        return cls(_starts(np.concatenate([part.sizes for part in parts])), np.concatenate([p.weights for p in parts]))

    @property
    def count(self) -> int:
        """How many people there are (n)."""
        return int(self.starts.size - 1)

    @property
    def sizes(self) -> IntArray:
        """How many rows each has."""
        return np.diff(self.starts)

    @property
    def most_rows(self) -> int:
        """How many the one with most has."""
        return int(np.max(self.sizes))

    @property
    def effective(self) -> float:
        """How many people who weigh alike would say as much: (Σw)²/Σw², w what a person's rows count together.

        >>> People(np.array([0, 2, 3]), np.array([0.5, 0.5, 1.0])).effective
        2.0
        >>> round(People(np.array([0, 2, 3]), np.array([0.5, 0.5, 0.5])).effective, 2)
        1.8
        """
        weights = np.round(self.add_up(np.ones(self.weights.size)), 9)  # people who weigh alike count exactly
        squares = float(weights @ weights)
        return float(weights.sum()) ** 2 / squares if squares > 0 else float(self.count)

    def add_up(self, values: FloatArray) -> FloatArray:
        """The weighted sum over each person's rows; rows are the last axis."""
        return np.asarray(np.add.reduceat(values * self.weights, self.starts[:-1], axis=-1))

    def rows_of(self, chosen: IntArray) -> IntArray:
        """The rows of some people, one person after another."""
        sizes = self.sizes[chosen]
        ends = np.cumsum(sizes)
        return np.asarray(np.repeat(self.starts[chosen] - (ends - sizes), sizes) + np.arange(sizes.sum()))

    def take(self, chosen: IntArray) -> People:
        """Some people, in this order."""
        return People(_starts(self.sizes[chosen]), self.weights[self.rows_of(chosen)])

    def keep(self, rows: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> People:
        """Some rows, with the weights that they had, and the people who have any of them."""
        sizes = np.add.reduceat(rows.astype(np.int64), self.starts[:-1])
        return People(_starts(sizes[sizes > 0]), self.weights[rows])


def group(whose: Whose) -> tuple[IntArray, People]:
    """Which rows count, one person's after another's, and whose they are.

    People come in the order of their first rows, and of each at most so many rows count: the first. A row that names
    nobody is a person of its own.

    >>> rows, people = group(Whose(np.array([7, 3, 7, -1, 7, -1]), 2, "person"))
    >>> rows.tolist(), people.starts.tolist(), people.weights.round(3).tolist()
    ([0, 2, 1, 3, 5], [0, 2, 3, 4, 5], [0.5, 0.5, 1.0, 1.0, 1.0])
    """
    places, cap = whose.places, whose.cap
    order, sizes = np.argsort(places, kind="stable"), np.bincount(places)
    within = np.arange(places.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    capped = np.minimum(sizes, cap)
    shares = np.repeat(capped if whose.weigh == "person" else np.full(capped.size, cap), capped)
    return np.asarray(order[within < cap], dtype=np.int64), People(_starts(capped), _below_one_over(shares))


def _starts(sizes: IntArray) -> IntArray:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)])


def _below_one_over(shares: IntArray) -> FloatArray:
    """1/share, rounded down: so many of them add up to no more than 1, exactly."""
    return np.where(shares == 1, 1.0, np.nextafter(1 / shares, 0.0))
