"""AUC, log-loss and observed/expected from counts of records by bin of margins and label.

Where a record lies within its bin is not told. The records of a cell are taken to lie as the public rows of that cell
do: their average loss and probability, and which share of pairs in one bin is in the right order. What chance that
leaves is drawn, too (`Places`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.losses.validation import LabelGrid
from copriv.vectors import FloatArray

_POINTS = 3
_FEWEST_IN_CELL = 5
_LARGEST_MARGIN = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class CellRows:
    """How public rows lie in the cells of a grid: label (negative, positive) × bin, at one model.

    Args:
        rows: how many there are in each cell.
        points: some margins of each cell, evenly over its rows.
        spread: standard deviation of margins in each cell.
        order: share of pairs of a positive of one bin and a negative of another in the right order (bins × bins).
        loss: average log-loss in each cell, and how it changes with the margin.
        probability: average probability of a positive label in each cell, and how it changes with the margin.
    """

    rows: FloatArray
    points: FloatArray
    spread: FloatArray
    order: FloatArray
    loss: tuple[FloatArray, FloatArray]
    probability: tuple[FloatArray, FloatArray]

    @classmethod
    def of(cls, grid: LabelGrid, public: Sample, theta: FloatArray) -> CellRows:
        """From public rows at a model."""
        known = public.usable()
        margins, positive = theta @ known.columns, known.targets > 0
        bins = np.searchsorted(np.asarray(grid.edges), margins, side="right")
        cells = [[_margins_in(grid, margins, bins, positive, label, b) for b in range(grid.bins)] for label in (0, 1)]
        chances = [[_chance(cell) for cell in row] for row in cells]
        loss = [[-np.log(p if label else 1 - p) for p in chances[label]] for label in (0, 1)]
        order = np.greater.outer(np.arange(grid.bins), np.arange(grid.bins)).astype(np.float64)
        np.fill_diagonal(order, [_pairs(one, other) for other, one in zip(*cells, strict=True)])
        lean = [[(p - 1 if label else p).mean() for p in chances[label]] for label in (0, 1)]
        return cls(
            rows=np.array([[float(cell.size) for cell in row] for row in cells]),
            points=np.array([[_points(cell) for cell in row] for row in cells]),
            spread=np.array([[cell.std() for cell in row] for row in cells]),
            order=order,
            loss=(np.array([[each.mean() for each in row] for row in loss]), np.array(lean)),
            probability=(
                np.array([[p.mean() for p in row] for row in chances]),
                np.array([[(p * (1 - p)).mean() for p in row] for row in chances]),
            ),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """How far the records of each cell may lie from the public rows of that cell: draws of what is not told.

    Args:
        shift: of the average margin of each cell (draws × 2 × bins).
        order: of the share of ordered pairs within each bin (draws × bins).
    """

    shift: FloatArray
    order: FloatArray

    @classmethod
    def nowhere(cls, bins: int) -> Places:
        """Exactly as public rows lie."""
        return cls(np.zeros((1, 2, bins)), np.zeros((1, bins)))

    @classmethod
    def draw(cls, known: CellRows, counts: FloatArray | None, draws: int, generator: np.random.Generator) -> Places:
        """For records with these counts, or, without, for the population that they come from."""
        inverse = 1 / known.rows if counts is None else 1 / known.rows + 1 / np.maximum(counts, 1.0)
        shift = generator.standard_normal((draws, *known.rows.shape)) * known.spread * np.sqrt(inverse)
        order = generator.standard_normal((draws, known.rows.shape[1])) * np.sqrt(inverse.sum(axis=0) / 12)
        return cls(shift, order)


def label_figures(known: CellRows, counts: FloatArray, places: Places) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Every figure of every draw of counts (draws × 2 × bins) as a ratio: what is above, and what is below.

    Counts less noise may be negative. They are not mended: a figure is then less sure, and its interval says so.
    """
    negatives, positives = counts[:, 0], counts[:, 1]
    ordered = np.einsum("db,bc,dc->d", positives, known.order, negatives)
    ordered += (positives * negatives * places.order).sum(axis=1)
    losses = (counts * (known.loss[0] + known.loss[1] * places.shift)).sum(axis=(1, 2))
    expected = (counts * (known.probability[0] + known.probability[1] * places.shift)).sum(axis=(1, 2))
    return {
        "auc": (ordered, positives.sum(axis=1) * negatives.sum(axis=1)),
        "log_loss": (losses, counts.sum(axis=(1, 2))),
        "observed_expected": (positives.sum(axis=1), expected),
    }


def _margins_in(
    grid: LabelGrid,
    margins: FloatArray,
    bins: np.ndarray[tuple[int], np.dtype[np.intp]],
    positive: np.ndarray[tuple[int], np.dtype[np.bool_]],
    label: int,
    place: int,
) -> FloatArray:
    """The margins of one cell; of the whole bin where it has hardly any, and at its edge where there is none."""
    here = bins == place
    for chosen in (here & (positive == bool(label)), here):
        if chosen.sum() >= _FEWEST_IN_CELL:
            return np.asarray(margins[chosen], dtype=np.float64)
    edges = grid.edges[max(place - 1, 0) : place + 1]
    if not edges:
        raise BadInput("a bin without an edge", remedy="give at least one edge", value=grid.edges)
    return np.full(1, float(np.mean(edges)))


def _chance(margins: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-np.clip(margins, -_LARGEST_MARGIN, _LARGEST_MARGIN))), dtype=np.float64)


def _points(margins: FloatArray) -> FloatArray:
    """Some margins that stand for all: quantiles, moved so that their average and their spread are those of all."""
    found = np.quantile(margins, (np.arange(_POINTS) + 0.5) / _POINTS)
    spread = float(found.std())
    scale = float(margins.std()) / spread if spread > 0 else 0.0
    return np.asarray(margins.mean() + (found - found.mean()) * scale, dtype=np.float64)


def _pairs(positives: FloatArray, negatives: FloatArray) -> float:
    """The share of pairs in which the positive has the larger margin; ties count one half."""
    ranked = np.sort(negatives)
    below = np.searchsorted(ranked, positives, side="left") + np.searchsorted(ranked, positives, side="right")
    return float(below.mean()) / (2 * negatives.size)
