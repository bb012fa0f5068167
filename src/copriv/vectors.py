"""What the project computes with: arrays of doubles, and the one way of compiling a loop over them."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import get_num_threads, njit

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]

# The rows of a matrix, as files hold it.
Axes: TypeAlias = tuple[tuple[float, ...], ...]

# Threads of compiled passes sleep while they wait. Otherwise they spin, and where two processes share the cores a pass
# takes ten times as long. OpenMP reads this when its threads start, in the next line; a user's own setting stays.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# The cores that compiled passes may use.
CORES: int = get_num_threads()

# Passes over records add them up in blocks of this size, and then the blocks: that bounds the rounding error of a sum.
BLOCK = 512

_Function = TypeVar("_Function", bound=Callable[..., Any])

# Sums may be taken in another order and multiplications fused with additions; nothing is assumed about NaN or
# infinities, and divisions stay divisions. The error bound of privacy.sensitivity holds for every such order.
_REORDERED = {"reassoc", "contract", "nsz"}


class Norm(Enum):
    """The norm in which a gradient is clipped: always the one in which the mechanism measures a change."""

    L1 = 1
    L2 = 2

    def of(self, vector: FloatArray) -> float:
        """Length of a vector.

        >>> Norm.L1.of(np.array([3.0, -4.0])), Norm.L2.of(np.array([3.0, -4.0]))
        (7.0, 5.0)
        """
        return float(np.linalg.norm(vector, ord=self.value))


def compiled(function: _Function) -> _Function:
    """Compile a function to machine code, keeping the result on disk.

    Arithmetic is strictly as written, so that one function gives the same bits wherever it is called.
    """
    return cast(_Function, njit(cache=True, nogil=True, fastmath=False, error_model="numpy")(function))


def compiled_reordered(function: _Function) -> _Function:
    """Compile an inner loop whose sums may be taken in another order, so that they use the whole width of a core."""
    return cast(_Function, njit(cache=True, nogil=True, fastmath=_REORDERED, error_model="numpy")(function))


def compiled_parallel(function: _Function) -> _Function:
    """Compile a pass over many records for all cores; sums may be reordered within a block."""
    decorate = njit(cache=True, nogil=True, parallel=True, fastmath=_REORDERED, error_model="numpy")
    return cast(_Function, decorate(function))


def compiled_rows(function: _Function) -> _Function:
    """Compile a pass over many records for all cores that adds up nothing across them; arithmetic as written."""
    decorate = njit(cache=True, nogil=True, parallel=True, fastmath=False, error_model="numpy")
    return cast(_Function, decorate(function))


def freeze(array: FloatArray) -> FloatArray:
    """The array itself, which nobody can change from now on; for one that has just been made.

    >>> freeze(np.zeros(2)).flags.writeable
    False
    """
    array.flags.writeable = False
    return array


def read_only(values: npt.ArrayLike) -> FloatArray:
    """A private copy of `values` as doubles that nobody can change.

    >>> read_only([1, 2]).flags.writeable
    False
    """
    return freeze(np.array(values, dtype=np.float64, order="C"))
