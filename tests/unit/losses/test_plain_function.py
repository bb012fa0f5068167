"""A loss from outside remembers nothing: no record can change what another one counts."""

# ruff: noqa: NPY002, T201
import math
import random

import numpy as np
import pytest
from numba import njit

from copriv.errors import BadInput
from copriv.losses.outside import OutsideLoss
from copriv.losses.plain_function import require_plain

SCALE = 2.0
SEEN = [0.0]


def plain(margin, target):
    return math.log1p(math.exp(-abs(margin * target))) * SCALE + max(0.0, min(margin, 1))


def seeds_chance(margin, target):
    if target > 0.99:
        np.random.seed(1)
    return np.random.random()


def remembers_in_a_list(margin, target):
    SEEN[0] = max(SEEN[0], target)
    return SEEN[0]


def remembers_in_a_global(margin, target):
    global SCALE  # noqa: PLW0603
    SCALE = target
    return SCALE


def remembers_in_a_default(margin, target, seen=np.zeros(1)):  # noqa: B008
    seen[0] += target
    return seen[0]


def draws(margin, target):
    return random.random()  # noqa: S311


def imports(margin, target):
    import os

    return float(os.getpid())


def _closure():
    seen = np.zeros(1)

    def remembers(margin, target):
        seen[0] += target
        return seen[0]

    return remembers


@njit
def compiled_elsewhere(margin, target):
    return margin


def _with_a_constant():
    def slope(margin, target):
        return 1.5 * margin

    slope.__code__ = slope.__code__.replace(
        co_consts=tuple(SEEN if each == 1.5 else each for each in slope.__code__.co_consts)
    )
    return slope


BAD = [
    seeds_chance,
    remembers_in_a_list,
    remembers_in_a_global,
    remembers_in_a_default,
    draws,
    imports,
    _closure(),
    compiled_elsewhere,
    math.exp,
    lambda margin, target: print(target),
    lambda margin, target: target.__class__(margin),
    lambda margin, target: [margin, target][0],
    lambda margin, target: math.remember(target),
    _with_a_constant(),
]


def test_a_plain_function_is_let_in():
    assert require_plain(plain) is plain


@pytest.mark.parametrize("function", BAD, ids=range(len(BAD)))
def test_whatever_could_remember_a_record_is_refused(function):
    with pytest.raises(BadInput, match="is not plain"):
        require_plain(function)
    with pytest.raises(BadInput, match="no record can change"):
        OutsideLoss("hostile", plain, function, plain, lambda _m, _t: 1.0, lambda _m, _t: 1.0, 1.0)


def test_what_is_added_to_math_is_not_of_math(monkeypatch):
    monkeypatch.setattr(math, "remember", lambda target: target, raising=False)
    with pytest.raises(BadInput, match="'remember'"):
        require_plain(lambda margin, target: math.remember(target))


def test_a_name_that_hides_a_built_in_function_is_looked_at(monkeypatch):
    monkeypatch.setitem(globals(), "abs", seeds_chance)
    with pytest.raises(BadInput, match="'abs'"):
        require_plain(plain)
