"""From the values of a table to cells, record by record: the same bits whatever the batch.

A column becomes one cell or several: a standardised number, indicators of its categories, a sign that it is missing,
hinges above knots. What a row becomes depends on nothing but the row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from copriv.records.column import MOST_DEVIATIONS, Column, bucket, text
from copriv.vectors import FloatArray, IntArray, compiled

Part: TypeAlias = Literal["value", "category", "other", "missing", "above", "product"]

# What a tree reads where a value is missing: below everything else.
MISSING_INPUT = -MOST_DEVIATIONS


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell stands for.

    Args:
        column: the column; of a product, both.
        part: a value, one category, what is in no list, that it is missing, what lies above a knot, or a product.
        label: in words.
        unit: what the cell is divided by to be per unit of the column; 1 for indicators.
        origin: the value at which the cell is 0, in units of the column; 0 for indicators.
    """

    column: str
    part: Part
    label: str
    unit: float = 1.0
    origin: float = 0.0


def cells_of(columns: Sequence[Column], pairs: Sequence[tuple[int, int]] = ()) -> list[Cell]:
    """All cells, in order.

    >>> ward = Column("ward", "number", 1.0, 2.0, 4.0)
    >>> [cell.label for cell in cells_of([ward])]
    ['ward']
    """
    found = [cell for column in columns for cell in _cells(column)]
    products = (
        Cell(f"{one.column} × {other.column}", "product", f"{one.label} × {other.label}")
        for one, other in ((found[first], found[second]) for first, second in pairs)
    )
    return [*found, *products]


def _cells(column: Column) -> list[Cell]:
    name, encoding = column.name, column.encoded
    if encoding.indicators:
        found = [Cell(name, "category", f"{name} = {category}") for category in column.categories]
        found += [
            Cell(name, "other", f"{name}: other" if encoding.buckets == 1 else f"{name}: other, bucket {place}")
            for place in range(encoding.buckets)
        ]
    else:
        found = [Cell(name, "value", name, column.deviation, column.mean)]
        knots = [(knot, column.mean + knot * column.deviation) for knot in encoding.knots]
        found += [Cell(name, "above", f"{name} above {at:g}", column.deviation, at) for _, at in knots]
    return [*found, *([Cell(name, "missing", f"{name}: missing")] if encoding.missing else [])]


def read_values(table: pl.DataFrame, columns: Sequence[Column]) -> FloatArray:
    """The value of each column of each row (rows × columns): in its own unit, or a category's place; NaN if missing."""
    schema = table.schema
    frame = table.lazy().select(column.values(schema[column.name]) for column in columns).collect()
    values = np.ascontiguousarray(frame.to_numpy(), dtype=np.float64)
    for place, column in enumerate(columns):
        if column.encoded.buckets > 1:
            _fill_buckets(values[:, place], table, column)
    return values


def count_unlisted(values: FloatArray, columns: Sequence[Column]) -> dict[str, int]:
    """Of each column with cells for other categories, how many values are there; only where some are."""
    counts = (
        (column.name, int((values[:, place] >= len(column.categories)).sum()))
        for place, column in enumerate(columns)
        if column.encoded.buckets
    )
    return {name: count for name, count in counts if count}


def _fill_buckets(values: FloatArray, table: pl.DataFrame, column: Column) -> None:
    """Replace, in place, the first place after the list by the one of the category's bucket."""
    beyond = np.flatnonzero(values == len(column.categories))
    if beyond.size == 0:
        return
    texts = table.select(text(column.name, table.schema[column.name])).to_series().gather(beyond)
    names = texts.unique()
    places = [float(len(column.categories) + bucket(name, column.encoded.buckets)) for name in names.to_list()]
    values[beyond] = texts.replace_strict(names, places, return_dtype=pl.Float64).to_numpy()


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns as arrays: one entry a column, and the knots one after another."""

    numbers: FloatArray  # fill, mean, deviation, low, high
    shapes: IntArray  # first cell, cells of categories (0 for a number), first knot, knots, whether missing has a cell
    knots: FloatArray
    pairs: IntArray
    cells: int

    @classmethod
    def of(cls, columns: Sequence[Column], pairs: Sequence[tuple[int, int]] = ()) -> Layout:
        """The layout of these columns, and of products of their cells."""
        numbers, shapes, knots, start = [], [], list[float](), 0
        for column in columns:
            encoding = column.encoded
            low, high = (-math.inf, math.inf) if encoding.limits is None else encoding.limits
            wide = len(column.categories) + encoding.buckets if encoding.indicators else 0
            numbers.append((column.fill, column.mean, column.deviation, low, high))
            shapes.append((start, wide, len(knots), len(encoding.knots), int(encoding.missing)))
            knots.extend(encoding.knots)
            start += column.cells
        places = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        return cls(np.array(numbers), np.array(shapes), np.array(knots), places, start + len(pairs))

    def cells_of(self, values: FloatArray) -> FloatArray:
        """The cells of each row (rows × cells)."""
        return _cells_of(values, self.numbers, self.shapes, self.knots, self.pairs, self.cells)

    def inputs_of(self, values: FloatArray) -> FloatArray:
        """What trees read of each row (rows × columns): standardised numbers, places of categories, or far below."""
        return _inputs_of(values, self.numbers, self.shapes)


@compiled
def _standardise(value: float, numbers: FloatArray) -> float:
    """A number held within its limits, in deviations from the mean, within ±1e9."""
    held = min(max(value, numbers[3]), numbers[4])
    deviations: float = (held - numbers[1]) / numbers[2]
    return min(max(deviations, -MOST_DEVIATIONS), MOST_DEVIATIONS)


@compiled
def _cells_of(
    values: FloatArray, numbers: FloatArray, shapes: IntArray, knots: FloatArray, pairs: IntArray, width: int
) -> FloatArray:
    cells = np.zeros((values.shape[0], width))
    single = width - pairs.shape[0]
    for i in range(values.shape[0]):
        for c in range(shapes.shape[0]):
            start, wide, first, count, missing = shapes[c]
            value = values[i, c]
            known = math.isfinite(value)
            if wide > 0:
                if known:
                    cells[i, start + int(value)] = 1.0
                end = start + wide
            else:
                cell = _standardise(value if known else numbers[c, 0], numbers[c])
                cells[i, start] = cell
                for k in range(count):
                    cells[i, start + 1 + k] = max(cell - knots[first + k], 0.0)
                end = start + 1 + count
            if missing > 0 and not known:
                cells[i, end] = 1.0
        for k in range(pairs.shape[0]):
            product = cells[i, pairs[k, 0]] * cells[i, pairs[k, 1]]
            cells[i, single + k] = min(max(product, -MOST_DEVIATIONS), MOST_DEVIATIONS)
    return cells


@compiled
def _inputs_of(values: FloatArray, numbers: FloatArray, shapes: IntArray) -> FloatArray:
    inputs = np.empty(values.shape)
    for i in range(values.shape[0]):
        for c in range(shapes.shape[0]):
            value = values[i, c]
            if not math.isfinite(value):
                inputs[i, c] = MISSING_INPUT
            elif shapes[c, 1] > 0:
                inputs[i, c] = value
            else:
                inputs[i, c] = _standardise(value, numbers[c])
    return inputs
