"""Variables that move together: correlated normals, and the tables that turn them into values and categories.

A Gaussian copula: every variable has a standard normal behind it. How the normals are correlated says how the
variables move together; a table of quantiles, or of shares, says how each of them is spread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import ndtri

from copriv.errors import BadInput
from copriv.vectors import FloatArray, IntArray

# The probabilities at which a table of quantiles gives its values; the first and last stand for the extremes seen.
# fmt: off
TABLED = (
    0.00001, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999,
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Dependence:
    """How named normals are correlated: their names, and a root of their correlation matrix."""

    names: tuple[str, ...]
    root: FloatArray

    def draw(self, rows: int, generator: np.random.Generator) -> dict[str, FloatArray]:
        """One array of `rows` standard normals for every name."""
        independent = generator.standard_normal((len(self.names), rows))
        return dict(zip(self.names, self.root @ independent, strict=True))


def read_dependence(table: str) -> Dependence:
    """Read the lower triangle of a correlation matrix, in hundredths, one named variable to a line.

    >>> read_dependence("height 100; weight 60 100").root.round(2).tolist()
    [[1.0, 0.0], [0.6, 0.8]]
    """
    lines = [line.split() for line in table.replace(";", "\n").strip().splitlines()]
    lower = np.zeros((len(lines), len(lines)))
    for row, line in enumerate(lines):
        lower[row, : row + 1] = [int(word) / 100.0 for word in line[1:]]
    root = np.linalg.cholesky(lower + np.tril(lower, -1).T)
    return Dependence(names=tuple(line[0] for line in lines), root=np.asarray(root, dtype=np.float64))


def look_up_values(normals: FloatArray, quantiles: npt.ArrayLike) -> FloatArray:
    """The values whose quantiles, at the probabilities `TABLED`, are given.

    >>> look_up_values(np.array([-9.0, 0.0, 9.0]), range(len(TABLED))).tolist()
    [0.0, 8.0, 17.0]
    """
    return np.interp(normals, ndtri(TABLED), np.asarray(quantiles, dtype=np.float64))


def look_up_categories(normals: FloatArray, shares: Sequence[float]) -> IntArray:
    """The positions of ordered categories that have the given shares; higher normals fall in later categories.

    >>> look_up_categories(np.array([-1.0, 0.1, 3.0]), [50, 30, 20]).tolist()
    [0, 1, 2]
    """
    return place(normals, limits(shares))


def look_up_labels(normals: FloatArray, shares: Mapping[str, float]) -> pl.Series:
    """The names of ordered categories that have the given shares.

    >>> look_up_labels(np.array([-1.0, 3.0]), {"low": 50, "high": 50}).to_list()
    ['low', 'high']
    """
    return label(list(shares), look_up_categories(normals, list(shares.values())))


def limits(shares: Sequence[float]) -> FloatArray:
    """The normals at which one category ends and the next begins, when they have the given shares.

    >>> limits([20, 30, 50]).round(2).tolist()
    [-0.84, 0.0]
    """
    return cast(FloatArray, ndtri(_cumulative(shares)[:-1]))


def choose(shares: npt.ArrayLike, rows: int, generator: np.random.Generator) -> IntArray:
    """Positions of categories drawn independently, with the given shares."""
    return place(generator.random(rows), _cumulative(shares)[:-1])


def choose_given(shares: npt.ArrayLike, situations: IntArray, generator: np.random.Generator) -> IntArray:
    """Positions of categories drawn with shares that depend on the situation: one row of `shares` for each."""
    ends = _cumulative(shares)[:, :-1]
    chances = generator.random(len(situations))
    return np.asarray((chances[:, None] >= ends[situations]).sum(axis=1), dtype=np.int64)


def place(values: FloatArray, ends: FloatArray) -> IntArray:
    """How many of the ascending ends each value has reached.

    >>> place(np.array([0.5, 2.0]), np.array([1.0, 2.0])).tolist()
    [0, 2]
    """
    return np.asarray(np.searchsorted(ends, values, side="right"), dtype=np.int64)


def label(names: Sequence[str | None], positions: IntArray) -> pl.Series:
    """The names at the given positions, as a column of text."""
    return pl.Series(names, dtype=pl.String).gather(positions)


def write(words: Sequence[str], rows: int, generator: np.random.Generator) -> pl.Series:
    """A column of words, each as likely as the others."""
    return label(words, generator.integers(0, len(words), rows))


def require_rows(rows: int) -> None:
    """Refuse to generate a table without rows.

    Raises:
        BadInput: `rows` is less than 1.
    """
    if rows < 1:
        raise BadInput(f"{rows} rows were asked for", remedy="ask for at least 1 row", value=rows)


def _cumulative(shares: npt.ArrayLike) -> FloatArray:
    """Running totals of shares, scaled to end at one."""
    totals = np.cumsum(np.asarray(shares, dtype=np.float64), axis=-1)
    return np.asarray(totals / totals[..., -1:], dtype=np.float64)
