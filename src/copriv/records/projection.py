"""From cells to bounded scores, row by row: a row becomes the same bits wherever it stands.

A library's matrix product rounds by where a row lies in its batch. That would let one record's place move another's
bits, and with components that cancel each other, its features. Here every row is added up by itself, in the order of
its cells; cells of 0 are passed over, which changes no bit.
"""

from __future__ import annotations

import math

import numpy as np

from copriv.vectors import FloatArray, compiled


def project(rows: FloatArray, components: FloatArray) -> FloatArray:
    """Each row's product with each component, added up in the order of the columns.

    >>> project(np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([[1.0, 10.0]])).tolist()
    [[21.0], [30.0]]
    """
    return _project(rows, np.ascontiguousarray(components.T))


@compiled
def _project(rows: FloatArray, weights: FloatArray) -> FloatArray:
    scores = np.zeros((rows.shape[0], weights.shape[1]))
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            cell = rows[i, j]
            if cell != 0.0:
                for k in range(weights.shape[1]):
                    scores[i, k] += cell * weights[j, k]
    return scores


@compiled
def shorten(scores: FloatArray, length: float) -> FloatArray:
    """Scores in units of `length`, each row shortened to at most 1.

    >>> shorten(np.array([[3.0, 4.0], [0.0, 0.5]]), 1.0).tolist()
    [[0.6, 0.8], [0.0, 0.5]]
    """
    shortened = np.empty(scores.shape)
    for i in range(scores.shape[0]):
        total = 0.0
        for k in range(scores.shape[1]):
            shortened[i, k] = scores[i, k] / length
            total += shortened[i, k] * shortened[i, k]
        longest = max(math.sqrt(total), 1.0)
        for k in range(scores.shape[1]):
            shortened[i, k] /= longest
    return shortened
