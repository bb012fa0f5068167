"""Axes that gradients of synthetic records are told along, and records as they lie there.

A record x is Tx there, from the definition: nothing here is shared with `losses.turned`.
"""

from __future__ import annotations

import numpy as np

from copriv.vectors import Axes, FloatArray

# How much longer the first axis is than the last, and how long all of them are together: terms allow 1.
_STEEP, _TOGETHER = 30.0, 0.9999


def skewed_axes(parameters: int, generator: np.random.Generator) -> Axes:
    """T = QS: the first feature points along (1, …, 1) there, and each feature is shorter there than the one before.

    A gradient along the first feature becomes longer in L1. So an owner that clips first and turns afterwards breaks
    its promise, and does not just tell something else. Along the last axis a row keeps a thirtieth of what it keeps
    along the first: its gradient can still be far beyond the clip.

    >>> axes = skewed_axes(4, np.random.default_rng(1))
    >>> bool(np.sum(np.square(axes)) < 1), round(float(np.linalg.cond(axes)))
    (True, 30)
    """
    columns = generator.normal(size=(parameters, parameters))
    columns[:, 0] = 1.0
    matrix = np.linalg.qr(columns)[0] * np.geomspace(1, 1 / _STEEP, parameters)
    matrix *= _TOGETHER / np.linalg.norm(matrix)
    return tuple(map(tuple, matrix.tolist()))


def along(rows: FloatArray, axes: Axes) -> FloatArray:
    """A row, or one in each line, along these axes; as it is without any.

    >>> along(np.array([[1.0, 2.0]]), ((0.5, 0.0), (0.5, 0.5)))
    array([[0.5, 1.5]])
    """
    return rows @ np.asarray(axes).T if axes else rows


def back(rows: FloatArray, axes: Axes) -> FloatArray:
    """The rows that become these along the axes.

    >>> back(np.array([[0.5, 1.5]]), ((0.5, 0.0), (0.5, 0.5)))
    array([[1., 2.]])
    """
    return np.asarray(np.linalg.solve(np.asarray(axes), rows.T).T) if axes else rows
