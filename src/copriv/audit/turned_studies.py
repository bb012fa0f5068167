"""Studies whose gradients are told along axes: such as an owner must answer, and those of a hostile learner.

Every number of the axes is the learner's. None may make a record overflow, drop out or count for more than the clip. An
owner refuses axes that could, in the same words whatever its records are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from copriv.audit.hostile_studies import (
    FILLED,
    FILLED_BESIDE,
    MENU,
    MENU_WITH_DELTA,
    MOMENTS,
    PEOPLE,
    WITH_MENUS,
    Entry,
    Study,
)

_AXES: Entry = ("privacy", "axes")
# Skewed, of unequal lengths; one gets longer in L1. Rows are shorter there, so that gradients need a smaller clip.
_T = [[0.6, -0.2, 0.3], [0.4, 0.3, -0.1], [0.2, 0.1, 0.05]]
_CLIP = 0.2


def _turned(study: Study, axes: object = _T, clip: float = _CLIP) -> Mapping[Entry, Any]:
    return {**study.changes, ("privacy", "clip"): clip, _AXES: axes}


def _diagonal(*lengths: float) -> list[list[float]]:
    return [[length if place == row else 0.0 for place in range(len(lengths))] for row, length in enumerate(lengths)]


def _with(entry: float) -> list[list[float]]:
    """The same axes with another entry in the middle of the first."""
    return [[_T[0][0], entry, _T[0][2]], *_T[1:]]


TURNED = tuple(
    Study(f"{study.name}, along axes", _turned(study), honest=True) for study in (MENU, MENU_WITH_DELTA, *FILLED)
)
# Other losses, and records that are held back: with and without what fills a gradient.
TURNED_BESIDE = tuple(
    Study(f"{study.name}, along axes", _turned(study, clip=clip), honest=True)
    for study, clip in zip((*FILLED_BESIDE, WITH_MENUS[0], WITH_MENUS[3]), (0.2, 0.2, 5e-4, 0.2, 0.2, 0.1), strict=True)
)
# Axes at the ends of what terms allow. An owner may answer them; then nothing may show.
AT_THE_ENDS = tuple(
    Study(f"axes {name}", _turned(study, axes))
    for name, axes, study in (
        ("as long as they may be, and as steep", _diagonal(0.99999, 1.1e-4, 1.1e-4), FILLED[0]),
        ("as short as they may be", _diagonal(0.2887, 0.2887, 0.2887), FILLED[1]),
        ("with subnormal entries", _with(5e-324), FILLED[0]),
        ("that are the features, shortened", _diagonal(0.57, 0.57, 0.57), MENU),
        ("that are whole numbers but for the first", [[0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5]], MENU_WITH_DELTA),
        ("that are no axes", [], MENU),
    )
)
REFUSED_AXES = (
    *(
        Study(f"an axis with an entry of {entry:g}", _turned(FILLED[0], _with(entry)))
        for entry in (math.nan, math.inf, -math.inf, 1e308, -1.7e308, 1.0)
    ),
    *(
        Study(f"axes {name}", _turned(MENU, axes))
        for name, axes in (
            ("that are all no numbers", [[math.nan] * 3] * 3),
            ("without length", _diagonal(0.0, 0.0, 0.0)),
            ("of subnormal length", _diagonal(5e-324, 5e-324, 5e-324)),
            ("that are too short", _diagonal(0.28, 0.28, 0.28)),
            ("whose squares add up to 2", _diagonal(1.0, 0.8, 0.6)),
            ("of which two are one", [_T[1], _T[1], _T[2]]),
            ("of which one is nothing", [_T[0], _T[1], [0.0] * 3]),
            ("that are nearly in a plane", _diagonal(0.9, 0.3, 1e-14)),
            ("that are too steep", _diagonal(0.9, 0.3, 8.9e-5)),
            ("with one too few", _T[:2]),
            ("with one too many", [*_T, _T[0]]),
            ("with numbers too few", [axis[:2] for axis in _T]),
            ("of unequal length", [_T[0], _T[1][:2], _T[2]]),
            ("without numbers", [[]]),
            ("of other models", _diagonal(0.4, 0.4, 0.4, 0.4)),
            ("that are a word", "all"),
            ("of words", [["a", "b", "c"]] * 3),
            ("that are one row of numbers", _T[0]),
            ("of axes", [_T]),
            ("that are one number", 0.5),
            ("with an integer of a thousand digits", [[10**1000, 0, 0], *_T[1:]]),
        )
    ),
    Study("axes without a menu", {_AXES: _T}),
    Study("axes of moments", _turned(MOMENTS)),
    Study("axes of moments, a menu", {**MOMENTS.changes, **_turned(MENU)}),
    Study("axes of people", {**PEOPLE[4].changes, _AXES: _T}),
)
HOSTILE_AXES: tuple[Study, ...] = (*AT_THE_ENDS, *REFUSED_AXES)
