"""Cells of private tables, each read by itself: what cannot be read is missing, and no cell is named in an error.

An error, or a warning, that depends on one record tells about that record. So what is read here depends on the shape
of a table and on the types that its columns are declared to have, and on nothing else.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from copriv.errors import BadInput
from copriv.sklearn.given import Given
from copriv.vectors import FloatArray


def private_rows(given: Given) -> FloatArray:
    """A table of numbers; NaN for a cell that is none.

    Raises:
        BadInput: it is no table with a row and a column; in words that name no cell.

    >>> private_rows([[1, "2.5"], ["?", None]]).tolist()
    [[1.0, 2.5], [nan, nan]]
    """
    rows = numbers_of(given)
    if rows.ndim != 2 or 0 in rows.shape:
        raise BadInput(
            f"X has the shape {rows.shape}",
            remedy="give a table with at least one row and one column: reshape(-1, 1) makes one of a single column",
            value=rows.shape,
        )
    return rows


def private_targets(given: Given, rows: int) -> npt.NDArray[Any]:
    """One target a row, as they are given; a list keeps the type of each.

    Raises:
        BadInput: there are more or fewer; in words that name no target.
    """
    if given is None:
        raise BadInput("requires y to be passed, but the target y is None", remedy="give one target a row")
    found = cells_of(given)
    if found.shape not in ((rows,), (rows, 1)):
        raise BadInput(f"y has the shape {found.shape}", remedy=f"give one target a row: {rows:,}", value=found.shape)
    return found.reshape(rows)


def numbers_of(given: Given) -> FloatArray:
    """Every cell as a number; NaN for what is none."""
    cells = cells_of(given)
    with np.errstate(all="ignore"):
        if cells.dtype.kind in "biuf":
            return np.ascontiguousarray(cells, dtype=np.float64)
        if cells.dtype.kind == "c":
            return np.where(cells.imag == 0, cells.real, np.nan).astype(np.float64)
    return np.array([number_of(cell) for cell in cells.ravel()], dtype=np.float64).reshape(cells.shape)


def cells_of(given: Given) -> npt.NDArray[Any]:
    """Whatever is given as an array, with each cell of a list as it is."""
    if issparse(given):
        raise BadInput("the rows are sparse", remedy="give a dense table: X.toarray()")
    try:
        listed = isinstance(given, list | tuple)
        return np.array(given, dtype=object) if listed else np.asarray(given)
    except (TypeError, ValueError):
        raise BadInput("the rows are no table", remedy="give rows of the same length, with one value a cell") from None


def number_of(cell: object) -> float:
    """A cell as a number; NaN for what is none.

    >>> number_of("1e3"), number_of("HIV-positive"), number_of(None)
    (1000.0, nan, nan)
    """
    if isinstance(cell, complex | np.complexfloating) or cell is np.ma.masked:
        return math.nan
    try:
        return float(cell)  # type: ignore[arg-type]
    except Exception:  # noqa: BLE001
        return math.nan
