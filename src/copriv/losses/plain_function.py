"""Which functions a loss from outside may consist of: plain ones, that know nothing but what they are given.

A function that remembered something between two records would let one record change what another one counts, and no
clip would bound that. So a function may use its arguments, numbers, `math` and a few built-in functions. Everything
else is refused: other modules, generators of chance, arrays, defaults, functions that somebody else has compiled.
"""

from __future__ import annotations

import dis
import math
from types import BuiltinFunctionType, CodeType, FunctionType

from copriv.errors import BadInput

_BUILT_IN = {
    each.__name__: each
    for each in (abs, bool, float, int, max, min, pow, round, ValueError, OverflowError, ZeroDivisionError)
}
_READ_ELSEWHERE = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"})
_WRITTEN_ELSEWHERE = frozenset(
    {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "STORE_SUBSCR", "IMPORT_NAME", "MAKE_FUNCTION"}
)
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
# Lists, sets and mappings live outside of the numbers that a function is given.
_CONTAINERS = (
    "BUILD_LIST",
    "BUILD_SET",
    "BUILD_MAP",
    "BUILD_CONST_KEY_MAP",
    "BUILD_STRING",
    "LIST_",
    "SET_",
    "MAP_",
    "DICT_",
)
_OF_MATH = frozenset(
    name
    for name, what in vars(math).items()
    if not name.startswith("_") and isinstance(what, float | BuiltinFunctionType)
)
_CONSTANTS = (type(None), bool, int, float, str)


def require_plain(function: object) -> FunctionType:
    """The function itself, if it is plain.

    >>> def slope(margin, target):
    ...     return math.tanh(margin - target)
    >>> require_plain(slope) is slope
    True
    """
    if not isinstance(function, FunctionType):
        raise _refusal(function, "it is no plain Python function")
    if function.__defaults__ or function.__kwdefaults__:
        raise _refusal(function, "it has arguments with defaults")
    _require_code(function, function.__code__)
    known = {**_BUILT_IN, **function.__globals__, **_closed_over(function)}
    for name in sorted(_names(function.__code__)):
        used = known.get(name)
        if not (used is math or isinstance(used, int | float) or used is _BUILT_IN.get(name, known)):
            raise _refusal(function, f"it uses {name!r}")
    return function


def _require_code(function: FunctionType, code: CodeType) -> None:
    if not all(isinstance(constant, _CONSTANTS) for constant in code.co_consts):
        raise _refusal(function, "it has constants that are no numbers")
    for step in dis.get_instructions(code):
        if step.opname in _WRITTEN_ELSEWHERE:
            raise _refusal(function, f"it changes or makes something outside of itself ({step.opname})")
        if step.opname.startswith(_CONTAINERS):
            raise _refusal(function, f"it makes a list, a set, a mapping or a text ({step.opname})")
        if step.opname in _ATTRIBUTES and str(step.argval) not in _OF_MATH:
            raise _refusal(function, f"it uses {step.argval!r}, which is not of math")


def _names(code: CodeType) -> set[str]:
    """What is looked up outside of the function."""
    return {str(step.argval) for step in dis.get_instructions(code) if step.opname in _READ_ELSEWHERE}


def _closed_over(function: FunctionType) -> dict[str, object]:
    cells = function.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, cells, strict=True)}


def _refusal(function: object, why: str) -> BadInput:
    name = getattr(function, "__name__", type(function).__name__)
    return BadInput(
        f"the function {name!r} of a loss is not plain: {why}",
        remedy="write it with its two arguments, numbers, math, abs, min and max alone, so that no record can change "
        "what another one counts",
        value=name,
    )
