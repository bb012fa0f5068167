"""Study files that a hostile learner would write, to make one record of an owner stand out.

Each is the plain study with a few entries changed. An owner may refuse them all, in the same words whatever its records
are.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from copriv.protocol.terms import FORMAT

Entry: TypeAlias = tuple[str | int, ...]

_CITIES = ["Bern", "Oslo", "Rome"]
_COLUMNS: list[dict[str, Any]] = [
    {"name": "age", "kind": "number", "fill": 40.0, "mean": 40.0, "deviation": 12.0, "categories": []},
    {"name": "income", "kind": "number", "fill": 2500.0, "mean": 2500.0, "deviation": 1100.0, "categories": []},
    {"name": "city", "kind": "category", "fill": 1.0, "mean": 1.0, "deviation": 0.8, "categories": _CITIES},
    {"name": "since", "kind": "day", "fill": 18400.0, "mean": 18400.0, "deviation": 80.0, "categories": []},
]  # fmt: skip
_PLAIN: dict[str, Any] = {
    "study": {"name": "plain", "format": FORMAT},
    "model": {
        "loss": "squared",
        "threshold": 0.0,
        "parameters": 3,
        "regularization": 1e-5,
        "limit": 3.0,
        "row_norm": 1.0,
        "target_bound": 1.0,
    },
    "privacy": {"epsilon": 1.0, "delta": 0.0, "answers": 6, "clip": 0.5},
    "learning": {"rule": "paper", "horizon": 12, "step": 0.1, "central": "proof"},
    "meetings": {"meeting": "request", "clock": "always"},
    "evaluation": {"evaluations": 2, "evaluation_share": 0.25, "loss_bound": 0.4},
    "validation": {},
    "dictionary": {
        "columns": _COLUMNS,
        "components": [[0.5, 0.5, 0.0, 0.1], [0.0, -0.3, 0.7, 0.2]],
        "length": 1.5,
        "intercept": 0.6,
        "target": {"name": "stay", "kind": "number", "center": 5.0, "scale": 4.0, "categories": [], "levels": []},
    },
}


@dataclass(frozen=True, slots=True)
class Study:
    """A study file: its name, where it departs from the plain one, and whether an owner must answer it.

    `None` in place of a value takes an entry out.
    """

    name: str
    changes: Mapping[Entry, Any] = field(default_factory=dict)
    honest: bool = False

    def text(self) -> str:
        """The file."""
        return "\n".join(f"{section} = {_toml(entries)}" for section, entries in self.content().items())

    def content(self) -> dict[str, Any]:
        """What the file holds."""
        found: dict[str, Any] = copy.deepcopy(_PLAIN)
        for path, value in self.changes.items():
            entry: Any = found
            for step in path[:-1]:
                entry = entry[step]
            if value is None:
                del entry[path[-1]]
            else:
                entry[path[-1]] = value
        return found


def _toml(value: object) -> str:
    r"""A value as TOML has it; the package that writes whole files need not be there for an audit.

    >>> _toml({"length": 1.5, "names": ["a", '"'], "none": math.inf})
    '{"length" = 1.5, "names" = ["a", "\\""], "none" = inf}'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(str(key))} = {_toml(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") if isinstance(value, str) else repr(value)


def _model(name: str, /, **values: object) -> Study:
    return Study(name, {("model", key): value for key, value in values.items()})


def _target(name: str, /, **values: object) -> Study:
    return Study(name, {("dictionary", "target", key): value for key, value in values.items()})


def _column(name: str, place: int, /, **values: object) -> Study:
    return Study(name, {("dictionary", "columns", place, key): value for key, value in values.items()})


def _dictionary(name: str, /, **values: object) -> Study:
    return Study(name, {("dictionary", key): value for key, value in values.items()})


def _typed(kinds: Mapping[str, str]) -> list[dict[str, Any]]:
    """Columns of every type, read as numbers, days, months or categories."""
    categories = {"category": ["A", "True", "ab", "x"]}
    common = {"fill": 0.5, "mean": 1.0, "deviation": 2.0}
    return [
        {"name": name, "kind": kind, "categories": categories.get(kind, []), **common} for name, kind in kinds.items()
    ]


def _of_types(name: str, kinds: Mapping[str, str]) -> Study:
    rows = [[0.5] * len(kinds), [(-1.0) ** place for place in range(len(kinds))]]
    return _dictionary(name, columns=_typed(kinds), components=rows)


_TYPES = ("day", "moment", "instant", "amount", "flag", "grade", "tall", "short")

PLAIN = Study("plain", honest=True)
TYPED = (
    _of_types("every type as a number", dict.fromkeys(_TYPES, "number")),
    _of_types("every type as a category", dict.fromkeys(_TYPES, "category")),
    _of_types("a list and bytes as categories", {"tags": "category", "blob": "category"}),
    _of_types("every type as a day", dict.fromkeys(_TYPES, "day")),
    _of_types("every type as a month", dict.fromkeys(_TYPES, "month")),
)
WITH_DELTA = Study("with delta", {("privacy", "delta"): 1e-6}, honest=True)
MOMENTS = Study("moments", {("learning", "rule"): "statistics", ("privacy", "answers"): 1}, honest=True)
_MENU: dict[Entry, Any] = {
    ("privacy", "shares"): [15, 20, 65],
    ("privacy", "kinds"): ["gradient", "second_moments", "positives"],
}
MENU = Study("a menu", _MENU, honest=True)
_OF_PEOPLE: dict[Entry, Any] = {
    ("privacy", "unit"): "person",
    ("privacy", "person"): "id",
    ("privacy", "rows_cap"): 50,
    ("privacy", "weigh"): "person",
}
MENU_WITH_DELTA = Study("a menu with delta", {**_MENU, ("privacy", "delta"): 1e-6}, honest=True)
# Short rows are filled, and longer ones have too little room for it.
_FILL: dict[Entry, Any] = {**_MENU, ("privacy", "fill"): 1.0}
FILLED = (
    Study("filled gradients", _FILL, honest=True),
    Study("filled gradients with delta", {**_FILL, **MENU_WITH_DELTA.changes}, honest=True),
)
_BY_ROW: dict[Entry, Any] = {("privacy", "rows_cap"): 2, ("privacy", "weigh"): "row"}
# The same where a record is a person.
PEOPLE = (
    Study("people", _OF_PEOPLE, honest=True),
    Study("people, with delta", {**_OF_PEOPLE, ("privacy", "delta"): 1e-6}, honest=True),
    Study("people, rows weigh alike", {**_OF_PEOPLE, **_BY_ROW}, honest=True),
    Study("people, moments", {**_OF_PEOPLE, **MOMENTS.changes}, honest=True),
    Study("people, a menu", {**_OF_PEOPLE, **_MENU}, honest=True),
)
MENUS = (
    Study("a menu of one gradient", {**_MENU, ("privacy", "shares"): [100], ("privacy", "kinds"): ["gradient"]}),
    Study("a menu beyond the whole", {**_MENU, ("privacy", "shares"): [20, 1000]}),
    Study("a menu of nothing", {**_MENU, ("privacy", "shares"): [0, 20]}),
    Study("a menu of losses", {**_MENU, ("privacy", "kinds"): ["gradient", "loss"]}),
    Study("a menu for long rows", {**_MENU, ("model", "row_norm"): 1e3}),
)
FILLS = (
    *(
        Study(f"a fill of {value:g}", {**_FILL, ("privacy", "fill"): value})
        for value in (math.nan, math.inf, -math.inf, -0.4, -0.0, -5e-324, 5e-324, 1e-300, 1e-18, 1e12, 1e13, 1e308)
    ),
    Study("a fill that is a word", {**_FILL, ("privacy", "fill"): "all"}),
    Study("a fill without a menu", {("privacy", "fill"): 0.4}),
    Study("a fill of moments", {**MOMENTS.changes, **_FILL}),
    Study("a fill of people", {**_OF_PEOPLE, **_FILL}),
    Study("a fill for long rows", {**_FILL, ("model", "row_norm"): 1e3, ("privacy", "clip"): 1e9}),
    Study("a fill in the smallest room", {**_FILL, ("privacy", "fill"): 1e12, ("privacy", "clip"): 1e-9}),
)
_EXPOSURE = {"name": "income", "logarithm": False, "low": 6.0, "high": 9.0}


def _rate(loss: str, kind: str, exposure: Mapping[str, Any] | None = None) -> dict[Entry, Any]:
    """Counts or amounts, in place of the target."""
    found: dict[Entry, Any] = {("model", "loss"): loss, ("dictionary", "target", "kind"): kind}
    found[("dictionary", "target", "center")] = 5.0 if exposure is None else 2e-3
    return found if exposure is None else {**found, ("dictionary", "target", "exposure"): dict(exposure)}


RATES = (
    Study("counts", _rate("poisson", "count"), honest=True),
    Study("counts with an exposure", _rate("poisson", "count", _EXPOSURE), honest=True),
    Study("counts with an offset", _rate("poisson", "count", {**_EXPOSURE, "logarithm": True})),
    Study("amounts with an exposure", _rate("gamma", "amount", _EXPOSURE), honest=True),
)
_VALIDATION: dict[Entry, Any] = {
    ("validation", "held_back"): 0.5,
    ("validation", "validations"): 2,
    ("validation", "validation_share"): 0.25,
}
_VALIDATED_NUMBERS: dict[Entry, Any] = {**_VALIDATION, ("validation", "validation_grid"): [0.1, 0.4, 0.7]}
VALIDATED = Study("validation of numbers", _VALIDATED_NUMBERS, honest=True)
_LABELS: dict[Entry, Any] = {("model", "loss"): "logistic", ("dictionary", "target", "kind"): "label"}
VALIDATED_LABELS = Study(
    "validation of labels",
    {**_LABELS, **_VALIDATION, ("validation", "validation_grid"): [-0.5, -5e-324, 0.0, 0.3]},
    honest=True,
)
_TWO_LEVELS: dict[Entry, Any] = {
    **_LABELS,
    ("dictionary", "target", "levels"): [1.0, 5.0],
    ("dictionary", "target", "center"): 3.0,
}
_HUBER: dict[Entry, Any] = {("model", "loss"): "huber", ("model", "threshold"): 1e-3}
# A menu beside all that changes which targets are above 0, or how much a record counts. Of two levels, most have none.
WITH_MENUS = (
    Study("labels, a menu", {**_LABELS, **_MENU}, honest=True),
    Study("labels of two levels, a menu", {**_TWO_LEVELS, **_MENU}, honest=True),
    Study("counts, a menu", {**_rate("poisson", "count", _EXPOSURE), **_MENU}, honest=True),
    Study("amounts, a menu with delta", {**_rate("gamma", "amount"), **MENU_WITH_DELTA.changes}, honest=True),
    Study("validation, a menu", {**_VALIDATED_NUMBERS, **_MENU}, honest=True),
)
# Filled gradients of other losses, and beside records that are held back.
FILLED_BESIDE = (
    Study("filled gradients of labels", {**_LABELS, **_FILL, ("privacy", "kinds"): ["gradient"]}, honest=True),
    Study("filled gradients of counts", {**_rate("poisson", "count", _EXPOSURE), **_FILL}, honest=True),
    Study("filled gradients of a Huber loss with delta", _HUBER | dict(FILLED[1].changes), honest=True),
    Study("filled gradients, validation", {**_VALIDATED_NUMBERS, **_FILL}, honest=True),
)
PEOPLE_WITH_MENUS = (
    PEOPLE[-1],
    Study("people, rows weigh alike, a menu", {**_OF_PEOPLE, **_BY_ROW, **_MENU}, honest=True),
    Study(
        "people, rows weigh alike, labels, a menu with delta",
        {**_OF_PEOPLE, **_BY_ROW, **_LABELS, **MENU_WITH_DELTA.changes},
        honest=True,
    ),
)
OTHER_LOSSES = (
    _model("huber", loss="huber", threshold=1e-3),
    Study("labels", _LABELS),
    Study("labels of two levels", {**_LABELS, ("dictionary", "target", "levels"): [1.0, 5.0]}),
    Study("a Poisson loss of numbers", {("model", "loss"): "poisson"}),
    Study("a Gamma loss of numbers", {("model", "loss"): "gamma"}),
    _target("an ordinal target", categories=["1.0", "5.0", "Oslo"]),
    _target("an id as the target", name="id"),
)
OTHER_TARGETS = (
    _target("a day as the target", name="day"),
    _target("bytes as the target", name="blob", categories=["ab", "cd"]),
)
BOXES = tuple(
    study
    for value in (1.7e308, 1e200, 1e6, 1e-6, 5e-324, 0.0, math.inf, math.nan)
    for study in (
        _model(f"a box of {value:g}", limit=value),
        Study(f"a box of {value:g} with delta", {("model", "limit"): value, ("privacy", "delta"): 1e-6}),
    )
)
BOUNDS = (
    *(Study(f"a clip of {value:g}", {("privacy", "clip"): value}) for value in (1e308, 1e9, 1e-9, 5e-324, math.nan)),
    *(_model(f"rows up to {value:g}", row_norm=value) for value in (1e-3, 0.5, 1e3, 1e200, math.inf)),
    *(_model(f"targets up to {value:g}", target_bound=value) for value in (1e-6, 0.5, 1e6, 1e200, math.inf)),
    _model("a wide box and wide rows", limit=1e6, row_norm=1e3, target_bound=1e6),
    _model("a steep Huber loss", loss="huber", threshold=1e308),
    _model("no threshold", loss="huber", threshold=0.0),
    Study("a loss bound of nothing", {("evaluation", "loss_bound"): 5e-324}),
    Study("a loss bound of everything", {("evaluation", "loss_bound"): 1e308, ("model", "limit"): 1e6}),
    Study("no loss bound", {("evaluation", "loss_bound"): math.inf}),
)
EXPOSURES = (
    *(
        Study(f"an exposure with {name}", _rate("poisson", "count", {**_EXPOSURE, **change}))
        for name, change in (
            ("one place", {"low": 7.0, "high": 7.0}),
            ("ends the wrong way round", {"low": 9.0, "high": 6.0}),
            ("a range of everything", {"low": -1e308, "high": 1e308}),
            ("an end that is no number", {"low": math.nan}),
            ("an infinite end", {"high": math.inf}),
            ("a column that is not there", {"name": "nobody"}),
            ("a column of categories", {"name": "city"}),
            ("the target itself", {"name": "stay"}),
        )
    ),
    Study("an exposure of labels", {("dictionary", "target", "exposure"): dict(_EXPOSURE)}),
    *(
        Study(f"counts of mean {mean:g}", {**_rate("poisson", "count"), ("dictionary", "target", "center"): mean})
        for mean in (0.0, -1.0, 5e-324, 1e150, math.nan)
    ),
)
TARGETS = (
    _target("a target of scale 0", scale=0.0),
    _target("a target of scale 0 at a record", scale=0.0, center=4.0),
    _target("a target of a tiny scale", scale=1e-150),
    _target("a target of a subnormal scale", scale=5e-324),
    _target("a target of a huge scale", scale=1e150),
    _target("a target of no finite scale", scale=math.inf),
    _target("a target of a negative scale", scale=-1.0),
    _target("a target whose scale is no number", scale=math.nan),
    _target("a target far away", center=1e150),
    _target("a target at the end of doubles", center=1.7e308),
    _target("a target at no finite centre", center=math.inf),
    _target("a category as the target", categories=["4.0"]),
    _target("a target that is not there", name="nobody"),
)
COLUMNS = (
    _column("a deviation of 0", 1, deviation=0.0),
    _column("a deviation of 0 at a record", 1, deviation=0.0, mean=4000.0),
    _column("a tiny deviation", 1, deviation=1e-150),
    _column("a subnormal deviation", 1, deviation=5e-324),
    _column("a deviation that is no number", 1, deviation=math.nan),
    _column("a fill that is no number", 1, fill=math.nan),
    _column("an infinite fill", 1, fill=math.inf),
    _column("a far fill", 1, fill=1e150, mean=-1e150, deviation=1e-150),
    _column("an infinite mean", 1, mean=math.inf),
    _column("a mean at the end of doubles", 1, mean=-1.7e308),
    _column("an unknown kind", 1, kind="row"),
    _column("a name of escapes and markup", 1, name="\x1b[2J[/x]"),
    _column("a column twice", 1, name="age"),
    _column("the target among the features", 1, name="stay"),
    _column("a category for one record", 2, categories=["Atlantis"]),
    _column("a category twice", 2, categories=["Oslo", "Oslo"]),
    _column("no categories", 2, categories=[]),
    _column("a category of every missing word", 2, categories=["", "na", "null", "?"]),
)
DICTIONARIES = (
    _dictionary("components of 0", components=[[0.0] * 4, [0.0] * 4]),
    _dictionary("huge components", components=[[1e9] * 4, [-1e9, 1e9, -1e9, 1e9]]),
    _dictionary("components at the end of doubles", components=[[1.7e308] * 4, [-1.7e308] * 4]),
    _dictionary("components that are no numbers", components=[[math.nan] * 4, [math.inf] * 4]),
    _dictionary("ragged components", components=[[1.0], [1.0, 2.0]]),
    _dictionary("no components", components=[]),
    _dictionary("a tiny length", length=1e-9),
    _dictionary("a subnormal length", length=5e-324),
    _dictionary("a length of 0", length=0.0),
    _dictionary("a huge length", length=1e15),
    _dictionary("an infinite length", length=math.inf),
    _dictionary("an intercept of 0", intercept=0.0),
    _dictionary("an intercept of 1", intercept=1.0),
    _dictionary("an intercept above 1", intercept=1.5),
    _dictionary("a tiny intercept", intercept=1e-6),
    _dictionary("no target", target=None),
    Study("a name of escapes and markup", {("study", "name"): "\x1b[2J[/x]"}),
    Study("a page of a name", {("study", "name"): "x" * 100_000}),
    Study("other numbers than the dictionary has", {("model", "parameters"): 4}),
)
HOSTILE: tuple[Study, ...] = (*BOXES, *BOUNDS, *MENUS, *FILLS, *EXPOSURES, *TARGETS, *COLUMNS, *DICTIONARIES)
