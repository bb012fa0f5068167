"""Studies whose dictionaries use every way of encoding a column: honest ones, and traps.

A hostile tree walks in circles, asks for a column that is not there, or finds no number at a leaf. Hostile cells are
beyond all ranges, or more than a table could hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from copriv.audit.hostile_studies import Entry, Study

_CITIES = ["Bern", "Oslo", "Rome"]
# Cells: age, age above a knot, age missing, income, income missing, three cities, two buckets, city missing, since.
_COLUMNS: list[dict[str, Any]] = [
    {"name": "age", "kind": "number", "fill": 40.0, "mean": 40.0, "deviation": 12.0,
     "encoding": {"limits": [18.0, 90.0], "missing": True, "knots": [0.5]}},
    {"name": "income", "kind": "number", "fill": 2500.0, "mean": 2500.0, "deviation": 1100.0,
     "encoding": {"limits": [500.0, 5000.0], "missing": True}},
    {"name": "city", "kind": "category", "fill": 0.0, "mean": 0.0, "deviation": 1.0, "categories": _CITIES,
     "encoding": {"indicators": True, "buckets": 2, "missing": True}},
    {"name": "since", "kind": "day", "fill": 18400.0, "mean": 18400.0, "deviation": 80.0},
]  # fmt: skip
_CELLS = 12
_WEIGHTS = [1.0, 1.0, 2.0, 1.0, 2.0, 0.0, 1.5, 0.0, 2.0, 0.0, 0.0, 1.0]
_COMPONENTS = [
    [0.5, 0.1, 0.0, 0.5, 0.0, 0.2, 0.0, -0.2, 0.4, 0.3, 0.1, 0.1, 0.2],
    [0.0, -0.3, 0.7, 0.2, 0.5, 0.0, 1.0, -1.0, 0.0, 0.5, -0.5, 0.0, 0.3],
]
# Two trees: the second asks for the city, and then for the income.
_TREES: dict[str, Any] = {
    "roots": [0, 3],
    "columns": [0, -1, -1, 2, -1, 1, -1, -1],
    "thresholds": [0.3, 0.0, 0.0, 1.5, 0.0, -0.5, 0.0, 0.0],
    "left": [1, 0, 0, 4, 0, 6, 0, 0],
    "right": [2, 0, 0, 5, 0, 7, 0, 0],
    "values": [0.0, -0.5, 0.5, 0.0, 0.2, 0.0, 0.1, -0.7],
}
_SCORE: dict[str, Any] = {"trees": _TREES, "center": 0.1, "deviation": 0.4}


def _encoded(name: str, parameters: int, /, *, honest: bool = False, **entries: object) -> Study:
    """A study of these columns, with other features than the plain one has."""
    changes: dict[Entry, Any] = {("dictionary", "columns"): _COLUMNS, ("dictionary", "components"): []}
    changes |= {("dictionary", key): value for key, value in entries.items()}
    return Study(name, changes | {("model", "parameters"): parameters}, honest=honest)


def _column(name: str, place: int, /, **entries: object) -> Study:
    """The study of cells with one column changed."""
    columns = [column | entries if k == place else column for k, column in enumerate(_COLUMNS)]
    return _encoded(name, 9, columns=columns, weights=_WEIGHTS)


def _trees(name: str, /, **entries: object) -> Study:
    return _encoded(name, 2, score=_SCORE | {"trees": _TREES | entries})


def _with(values: list[Any], changes: Mapping[int, object]) -> list[Any]:
    return [changes.get(place, value) for place, value in enumerate(values)]


CELLS = _encoded("cells of every kind", 9, honest=True, weights=_WEIGHTS)
COMPONENTS = _encoded(
    "components of cells and a product", 3, honest=True, components=_COMPONENTS, offsets=[0.2, -0.1], pairs=[[0, 6]]
)
SCORE = _encoded("a public score", 2, honest=True, score=_SCORE)
LEAVES = _encoded("leaves", 6, honest=True, leaves=_TREES)
ENCODED = (CELLS, COMPONENTS, SCORE, LEAVES)

TREES = (
    _trees("a tree in a circle", left=_with(_TREES["left"], {5: 3})),
    _trees("a tree that stays where it is", left=_with(_TREES["left"], {0: 0})),
    _trees("a tree that leads out", right=_with(_TREES["right"], {5: 99})),
    _trees("a tree that leads back before all", right=_with(_TREES["right"], {5: -1})),
    _trees("a root that is not there", roots=[0, 8]),
    _trees("a tree that is asked a thousand times", roots=[0] * 1001),
    _trees("a tree that is asked twice", roots=[3, 3]),
    _trees("a tree of a column that is not there", columns=_with(_TREES["columns"], {0: 4})),
    _trees("a tree of no column", columns=_with(_TREES["columns"], {0: -7})),
    _trees("a threshold that is no number", thresholds=_with(_TREES["thresholds"], {0: math.nan})),
    _trees("a threshold without end", thresholds=_with(_TREES["thresholds"], {0: math.inf})),
    _trees("a leaf that is no number", values=_with(_TREES["values"], {1: math.nan})),
    _trees("a huge leaf", values=_with(_TREES["values"], {1: 1e9})),
    _trees("a leaf at the end of doubles", values=_with(_TREES["values"], {1: 1.7e308})),
    _trees("ragged trees", values=[0.0]),
    _encoded("a score of deviation 0", 2, score=_SCORE | {"deviation": 0.0}),
    _encoded("a score of a tiny deviation", 2, score=_SCORE | {"deviation": 1e-9}),
    _encoded("a score from nowhere", 2, score=_SCORE | {"center": math.nan}),
)
TRAPS = (
    _column("limits the wrong way round", 1, encoding={"limits": [5000.0, 500.0]}),
    _column("limits that are no numbers", 1, encoding={"limits": [math.nan, math.inf]}),
    _column("limits of one value", 1, encoding={"limits": [4000.0, 4000.0], "missing": True}, deviation=1e-150),
    _column("a knot that is no number", 0, encoding={"missing": True, "knots": [math.nan]}),
    _column("a knot far away", 0, encoding={"missing": True, "knots": [-1e9]}),
    _column("indicators of a number", 1, encoding={"indicators": True, "missing": True}),
    _column("buckets of a number", 1, encoding={"buckets": 2}),
    _column("fewer buckets than none", 2, encoding={"indicators": True, "buckets": -1, "missing": True}),
    _column("more buckets than a table could hold", 2, encoding={"indicators": True, "buckets": 10**12}),
    _column(
        "a bucket for one record",
        2,
        categories=["Atlantis"],
        encoding={"indicators": True, "buckets": 4, "missing": True},
    ),
    _encoded("weights of 0", 1, weights=[0.0] * _CELLS),
    _encoded("huge weights", 9, weights=[1e9 * weight for weight in _with(_WEIGHTS, {2: 1, 4: 1, 6: 1, 8: 1})]),
    _encoded("weights that are no numbers", 9, weights=_with(_WEIGHTS, {0: math.nan})),
    _encoded("a weight too many", 9, weights=[*_WEIGHTS, 1.0]),
    _encoded("a product of what is not there", 3, components=_COMPONENTS, pairs=[[0, 12]]),
    _encoded("a product of far values", 3, components=_COMPONENTS, pairs=[[3, 11]]),
    _encoded("offsets that are no numbers", 3, components=_COMPONENTS, pairs=[[0, 6]], offsets=[math.nan, 0.0]),
    _encoded("an offset too few", 3, components=_COMPONENTS, pairs=[[0, 6]], offsets=[0.0]),
)  # fmt: skip
