"""How much one column alone says about the target, on public rows: to name what gives it away, and to pair the strong.

A column's values are cut into at most twenty groups. What the averages of the groups explain is the column's strength:
the adjusted share of the variance, or for labels the area under the ROC curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from copriv.records.cells import Layout
from copriv.records.column import Column
from copriv.vectors import FloatArray, IntArray

_GROUPS = 20
_GIVES_AWAY = {"number": 0.9, "label": 0.97}
_STRONG_COLUMNS = 5
_CELLS_OF_A_COLUMN = 4


def strengths_of(inputs: FloatArray, targets: FloatArray, *, labels: bool) -> FloatArray:
    """Of each column, the share of the variance that it explains alone; of labels, the area under the ROC curve.

    >>> x = np.arange(100.0)[:, None]
    >>> strengths_of(x, np.where(x[:, 0] > 49, 1.0, -1.0), labels=True).tolist()
    [1.0]
    """
    measure = _area if labels else _explained
    return np.array([measure(_groups(inputs[:, column]), targets) for column in range(inputs.shape[1])])


def describe_giveaways(columns: Sequence[Column], strengths: FloatArray, *, labels: bool) -> list[str]:
    """A sentence about each column that nearly determines the target."""
    most = _GIVES_AWAY["label" if labels else "number"]
    return [
        f"the column {column.name!r} alone {_words(strength, labels=labels)}: if it is known only after the target is, "
        f"leave it out (--skip {column.name})"
        for column, strength in zip(columns, strengths.tolist(), strict=True)
        if strength >= most
    ]


def pair_cells(columns: Sequence[Column], strengths: FloatArray) -> tuple[tuple[int, int], ...]:
    """Cells of different strong columns, two by two: of a number its value, of categories the first few."""
    starts = Layout.of(columns).shapes[:, 0]
    strong = sorted(np.argsort(-strengths, kind="stable")[:_STRONG_COLUMNS].tolist())
    cells = {
        place: range(starts[place], starts[place] + min(len(columns[place].categories) or 1, _CELLS_OF_A_COLUMN))
        for place in strong
    }
    return tuple(
        (int(first), int(second))
        for one, other in combinations(strong, 2)
        for first in cells[one]
        for second in cells[other]
    )


def _words(strength: float, *, labels: bool) -> str:
    if labels:
        return f"tells the labels apart with an AUC of {strength:.2f}"
    return f"explains {100 * strength:.0f} % of the target's variance"


def _groups(values: FloatArray) -> IntArray:
    """Values cut into groups of about equal size; their own groups if they are few."""
    known, places = np.unique(values, return_inverse=True)
    if known.size <= _GROUPS:
        return np.asarray(places, dtype=np.int64)
    ends = np.quantile(values, np.arange(1, _GROUPS) / _GROUPS)
    return np.asarray(np.searchsorted(np.unique(ends), values), dtype=np.int64)


def _averages(groups: IntArray, targets: FloatArray) -> tuple[FloatArray, int]:
    """The average target of each row's group, and how many groups there are."""
    rows = np.bincount(groups)
    averages = np.bincount(groups, weights=targets) / np.maximum(rows, 1)
    return np.asarray(averages[groups], dtype=np.float64), int((rows > 0).sum())


def _explained(groups: IntArray, targets: FloatArray) -> float:
    averages, count = _averages(groups, targets)
    total = float(np.square(targets - targets.mean()).sum())
    free = targets.size - count
    if total <= 0 or free < 1:
        return 0.0
    unexplained = float(np.square(targets - averages).sum()) / free
    return max(0.0, 1 - unexplained / (total / (targets.size - 1)))


def _area(groups: IntArray, targets: FloatArray) -> float:
    averages, _ = _averages(groups, targets)
    positive = targets > 0
    many, few = int(positive.sum()), int((~positive).sum())
    if not (many and few):
        return 0.5
    ranks = float(_ranks(averages)[positive].sum())
    return (ranks - many * (many + 1) / 2) / (many * few)


def _ranks(values: FloatArray) -> FloatArray:
    """The rank of each value, from 1; equal values share the average of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places], dtype=np.float64)
