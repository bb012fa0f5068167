"""Who answered when: meetings counted in columns, so that a million of them fit into a small file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

# As many columns as a picture can show, and as many owners as have a row of their own in it.
COLUMNS = 200
MOST_ROWS = 40


class OwnerMet(msgspec.Struct, frozen=True, array_like=True):
    """How one owner was met: answers, meetings without one, and the numbers of the first and last that it answered."""

    owner: str
    answers: int
    refusals: int
    first: int
    last: int


class Timeline(msgspec.Struct, frozen=True):
    """The meetings of a run.

    Args:
        meetings: the number of the last one.
        owners: one entry an owner.
        answers: of each column, how many meetings had an answer.
        refusals: of each column, how many had none.
        rows: of each owner, one letter a column: a answered, r did not, b both, . was not met; empty for many owners.
    """

    meetings: int
    owners: list[OwnerMet]
    answers: list[int]
    refusals: list[int]
    rows: list[str] = []

    @property
    def refused(self) -> int:
        """How many meetings came to nothing."""
        return sum(self.refusals)


def draw_up(names: Sequence[str], numbers: Sequence[int], owners: Sequence[str], answered: Iterable[bool]) -> Timeline:
    """The timeline of meetings in order.

    >>> found = draw_up(["east", "west"], [1, 2, 3], ["east", "west", "east"], [True, False, True])
    >>> found.rows, found.owners[0]
    (['a.a', '.r.'], OwnerMet(owner='east', answers=2, refusals=0, first=1, last=3))
    """
    places = {name: place for place, name in enumerate(names)}
    last = max(numbers, default=0)
    columns = max(min(last, COLUMNS), 1)
    number, good = np.asarray(numbers, dtype=np.int64), np.fromiter(answered, dtype=bool, count=len(numbers))
    who = np.fromiter((places[name] for name in owners), dtype=np.int64, count=len(numbers))
    column = np.minimum((number - 1) * columns // max(last, 1), columns - 1)
    counts = [_count(who[kind], column[kind], len(places), columns) for kind in (good, ~good)]
    first, final = np.zeros(len(places), dtype=np.int64), np.zeros(len(places), dtype=np.int64)
    first[who[good][::-1]], final[who[good]] = number[good][::-1], number[good]
    met = [
        OwnerMet(name, int(counts[0][place].sum()), int(counts[1][place].sum()), int(first[place]), int(final[place]))
        for name, place in places.items()
    ]
    rows = ["".join(_LETTERS[2 * a + r] for a, r in zip(*pair, strict=True)) for pair in _flags(counts)]
    totals = [each.sum(axis=0).tolist() for each in counts]
    return Timeline(last, met, totals[0], totals[1], rows if len(places) <= MOST_ROWS else [])


_LETTERS = ".rab"


def _count(who: np.ndarray, column: np.ndarray, owners: int, columns: int) -> np.ndarray:
    return np.bincount(who * columns + column, minlength=owners * columns).reshape(owners, columns)


def _flags(counts: Sequence[np.ndarray]) -> Iterable[tuple[list[bool], list[bool]]]:
    """Of few owners, which columns have an answer and which a meeting without one."""
    if counts[0].shape[0] > MOST_ROWS:
        return []
    return zip((counts[0] > 0).tolist(), (counts[1] > 0).tolist(), strict=True)
