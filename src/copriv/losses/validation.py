"""What held-back records say of a model, as whole counts: bins of margins by label, or sums of squares.

A record counts in one cell, or with a few numbers within fixed bounds. Each number is rounded to a multiple of 2⁻²⁰, so
that sums are sums of whole numbers and exact in whatever order they are taken. docs/theory/sensitivity.md says how far
one record can move them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from copriv.errors import BadInput
from copriv.losses.records import Records
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray

Shape: TypeAlias = Literal["labels", "numbers"]

MOST_EDGES = 63
# Of a sum's numbers: the fraction that the plain distance and the count are told with, of what squares are.
LIGHT = 0.25
_GRID = 2.0**20
_SMALLEST_WIDTH = 1e-6


@dataclass(frozen=True, slots=True)
class LabelGrid:
    """Bins of margins: records by bin and label, and those without a usable target.

    >>> LabelGrid((-1.0, 1.0)).numbers
    7
    """

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        ascending = all(one < other for one, other in zip(self.edges, self.edges[1:], strict=False))
        if not (0 < len(self.edges) <= MOST_EDGES and ascending and all(map(math.isfinite, self.edges))):
            raise BadInput(
                f"{len(self.edges)} edges of bins for validation",
                remedy=f"give 1 to {MOST_EDGES} different finite numbers, the smallest first",
                value=self.edges,
            )

    @property
    def bins(self) -> int:
        """How many bins a label has."""
        return len(self.edges) + 1

    @property
    def numbers(self) -> int:
        """How many numbers an answer has: bins of negatives, bins of positives, and the unusable."""
        return 2 * self.bins + 1

    def exact(self, records: Records, theta: FloatArray) -> FloatArray:
        """The counts; to be sealed at once."""
        return _added(records, partial(_label_counts, self.edges, theta), self.numbers)


@dataclass(frozen=True, slots=True)
class NumberGrid:
    """Bounds of squares: of a residual, and of a target's distance from a centre; larger ones count as the bound.

    An answer has Σ min(r²/R², 1), Σ z², Σ z/4 and a quarter of the usable records, with z = (y − c)/w within ±1.
    """

    centre: float
    width: float
    residual: float

    def __post_init__(self) -> None:
        finite = all(map(math.isfinite, (self.centre, self.width, self.residual)))
        if not (finite and self.width >= _SMALLEST_WIDTH and self.residual >= _SMALLEST_WIDTH):
            raise BadInput(
                f"validation around {self.centre:g}, within {self.width:g} and residuals of {self.residual:g}",
                remedy=f"give finite numbers, the latter two of at least {_SMALLEST_WIDTH:g}",
                value=self.width,
            )

    numbers = 4

    def exact(self, records: Records, theta: FloatArray) -> FloatArray:
        """The sums; to be sealed at once."""
        return _added(records, partial(_number_sums, self, theta), self.numbers)

    def rows(self, sample: Sample, theta: FloatArray) -> FloatArray:
        """What each record counts (4 × records)."""
        used = sample.used
        residuals = np.clip((theta @ sample.columns - sample.targets) / self.residual, -1.0, 1.0)
        distances = np.clip((sample.targets - self.centre) / self.width, -1.0, 1.0)
        rows = np.vstack([residuals**2, distances**2, LIGHT * distances, np.full(used.size, LIGHT)])
        return np.asarray(np.rint(np.where(used, rows, 0.0) * _GRID) / _GRID, dtype=np.float64)


Grid: TypeAlias = LabelGrid | NumberGrid


def shape_for(loss: str) -> Shape:
    """What records of a study with this loss are validated by.

    >>> shape_for("logistic"), shape_for("huber")
    ('labels', 'numbers')
    """
    if loss == "logistic":
        return "labels"
    if loss in ("squared", "huber"):
        return "numbers"
    raise BadInput(
        f"validation under the {loss} loss",
        remedy="train with the squared, huber or logistic loss, or without validation",
        value=loss,
    )


def grid_of(shape: Shape, marks: Sequence[float]) -> Grid:
    """The grid that terms agree on, from its numbers."""
    if shape == "labels":
        return LabelGrid(tuple(marks))
    if len(marks) != 3:
        raise BadInput(
            f"{len(marks)} numbers for validation", remedy="give centre, width and largest residual", value=tuple(marks)
        )
    return NumberGrid(*marks)


def _label_counts(edges: tuple[float, ...], theta: FloatArray, sample: Sample) -> FloatArray:
    bins = len(edges) + 1
    cells = np.searchsorted(np.asarray(edges), theta @ sample.columns, side="right")
    cells = np.where(sample.used, cells + bins * (sample.targets > 0), 2 * bins)
    return np.bincount(cells, minlength=2 * bins + 1).astype(np.float64)[None]


def _number_sums(grid: NumberGrid, theta: FloatArray, sample: Sample) -> FloatArray:
    return np.asarray(grid.rows(sample, theta).sum(axis=1)[None], dtype=np.float64)


def _added(records: Records, work: Callable[[Sample], FloatArray], numbers: int) -> FloatArray:
    """Stretches have few enough records for exact sums; these are added as whole numbers."""
    total = [0] * numbers
    for rows in records.each(work):
        for row in rows:
            total = [before + int(value * _GRID) for before, value in zip(total, row, strict=True)]
    return np.array([value / _GRID for value in total])
