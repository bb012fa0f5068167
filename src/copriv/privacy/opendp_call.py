"""Calling a measurement of OpenDP on an array of doubles or of whole numbers, through the library's C interface.

The library's own Python call looks up and parses the names of types and converts number by number, which takes longer
than drawing the noise. This does the same five calls with arrays, where the installed version was tested with it. What
is sampled, and how, is OpenDP's alone.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.metadata import version
from typing import Any, TypeVar

import numpy as np

from copriv.errors import BadInput
from copriv.vectors import FloatArray, IntArray

_TESTED = ("0.16.",)
_NAMES = {np.dtype(np.float64): b"Vec<f64>", np.dtype(np.int64): b"Vec<i64>"}
_Address = ctypes.c_void_p
_Array = TypeVar("_Array", FloatArray, IntArray)


def invoke(measurement: Any, values: FloatArray) -> FloatArray:  # noqa: ANN401
    """The measurement's release for these values, as a new array of the same length."""
    return _release(measurement, np.ascontiguousarray(values, dtype=np.float64))


def invoke_integers(measurement: Any, count: int) -> IntArray:  # noqa: ANN401
    """The measurement's release for so many zeros, which is its noise, in whole numbers."""
    return _release(measurement, np.zeros(count, dtype=np.int64))


def _release(measurement: Any, numbers: _Array) -> _Array:  # noqa: ANN401
    if not is_tested():
        return np.asarray(measurement(numbers.tolist()), dtype=numbers.dtype)
    call = _interface()
    given = call.object_of(numbers)
    try:
        released = call.invoke(ctypes.cast(measurement, _Address), given)
    finally:
        call.free_object(given)
    try:
        found = call.numbers_of(released, numbers)
    finally:
        call.free_object(released)
    if found.shape != numbers.shape:
        raise BadInput(
            f"{found.size} noisy numbers for {numbers.size}",
            remedy="install a tested version of OpenDP",
            value=found.size,
        )
    return found


@cache
def is_tested() -> bool:
    """Whether the C interface of the installed version is known; else the library's own call serves."""
    return version("opendp").startswith(_TESTED)


class _Interface:
    """The few functions of the library that a call takes; each tells its own failure."""

    def __init__(self) -> None:
        from opendp._lib import FfiResult, FfiSlice, lib, unwrap

        self._slice, self._failed = FfiSlice, unwrap
        slices = ctypes.POINTER(FfiSlice)
        self._slices = slices

        def function(name: str, *arguments: Any) -> Any:  # noqa: ANN401
            return ctypes.CFUNCTYPE(FfiResult, *arguments)((name, lib))

        self._slice_as_object = function("opendp_data__slice_as_object", slices, ctypes.c_char_p)
        self._object_as_slice = function("opendp_data__object_as_slice", _Address)
        self._invoke = function("opendp_core__measurement_invoke", _Address, _Address)
        self._free_object = function("opendp_data__object_free", _Address)
        self._free_slice = function("opendp_data__slice_free", _Address)

    def object_of(self, numbers: FloatArray | IntArray) -> int:
        """A copy of the numbers in the library's hands."""
        view = self._slice(numbers.ctypes.data, numbers.size)
        return self._result(self._slice_as_object(ctypes.byref(view), _NAMES[numbers.dtype]))

    def invoke(self, measurement: Any, given: int) -> int:  # noqa: ANN401
        """A release, in the library's hands."""
        return self._result(self._invoke(measurement, given))

    def numbers_of(self, held: int, like: _Array) -> _Array:
        """A copy of what the library holds: numbers as those that it was given."""
        found = self._result(self._object_as_slice(held))
        try:
            view = ctypes.cast(found, self._slices).contents
            kind = ctypes.c_double if like.dtype == np.float64 else ctypes.c_int64
            numbers = ctypes.cast(view.ptr, ctypes.POINTER(kind))
            return np.array(np.ctypeslib.as_array(numbers, (view.len,)), dtype=like.dtype)
        finally:
            self._result(self._free_slice(found))

    def free_object(self, held: int) -> None:
        """Give the library its memory back."""
        self._result(self._free_object(held))

    def _result(self, result: Any) -> int:  # noqa: ANN401
        if result.tag != 0:
            self._failed(result, _Address)
        return int(result.payload.Ok or 0)


@cache
def _interface() -> _Interface:
    return _Interface()
