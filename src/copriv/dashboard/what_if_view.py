"""What would be if: one forecast after another, from public rows whose features were fitted before.

Every figure is that of `copriv.forecast` with the same setting. The curve over ε is worked out aside, point by point,
because a point at which a rule has to be tuned by simulated runs takes seconds.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import numpy as np
import polars as pl

from copriv.api.forecast import Expected, expect, what_if_at
from copriv.api.plan_settings import PlanSettings, PublicStudy, open_public, read_public, spec_of
from copriv.dashboard.what_if_same import Same, as_command, as_python
from copriv.errors import BadInput, CoprivError
from copriv.losses.metrics import Metrics
from copriv.planning.scenario import Scenario
from copriv.privacy.guarantee import ADJACENCY, UNIT
from copriv.protocol.text import plain
from copriv.report.forecast_report import Varying, sentence_of

EPSILONS = tuple(float(f"{value:.3g}") for value in np.geomspace(0.01, 100, 13))
MOST_OWNERS, MOST_RECORDS = 2_000, 10**9
RULES = ("auto", "newton", "statistics", "averaged", "paper")
_COMPONENTS = (1, 2, 3, 5, 10, 15, 20, 30, 50)
_FITTED_KEPT, _CURVES_KEPT = 8, 64
_LONGEST = 40


class Setting(msgspec.Struct, frozen=True):
    """Where the sliders stand.

    Args:
        owners: how many (N).
        records: of the median owner (n).
        epsilon: the largest, promised about any one record (replace-one).
        delta: 0 for pure ε.
        features: which features.
        rows: so many of the public rows, the first ones.
        rule: how answers become a model; auto for what should cost least.
    """

    owners: int
    records: int
    epsilon: float
    delta: float
    features: str
    rows: int
    rule: str

    @property
    def query(self) -> str:
        """The same as the query of an address."""
        return urlencode({name: f"{value:g}" if isinstance(value, float) else value for name, value in _items(self)})


class WhatIf(msgspec.Struct, kw_only=True):
    """What is expected where the sliders stand; unit and adjacency are those of every ε.

    `price` is what privacy takes from the joint model: R² (of labels, the share of the log-loss that is explained) of
    the best model in these features without noise, less that of the joint one.
    """

    setting: Setting
    verdict: str
    sentence: str
    relative_fitness: float
    interval: tuple[float, float]
    alone: float
    public: float
    chosen_rule: str
    answers: int
    mechanism: str
    joint_quality: Metrics | None
    alone_quality: Metrics | None
    public_quality: Metrics | None
    price: float | None
    warning: str | None
    caveats: list[str]
    curve: list[Varying]
    complete: bool
    break_even: float | None
    link: str
    command: str
    python: str
    unit: str = UNIT
    adjacency: str = ADJACENCY


class Studio:
    """Public rows and a first scenario. It remembers features and curves: a memo, and not a value.

    Args:
        public: the path of the public rows.
        target: the column to predict.
        scenario: where the sliders stand first; owners that differ keep their pattern.
        settings: what is settled beforehand.
    """

    def __init__(self, public: Path, target: str | None, scenario: Scenario, settings: PlanSettings) -> None:
        if settings.get("study") is not None:
            raise BadInput("a study settles rule and features", remedy="leave --study out to play with them")
        self.path, self.target, self._scenario, self._settings = public, target, scenario, settings
        self._table = _collect(public, settings)
        self._fitted: OrderedDict[tuple[str, int], PublicStudy] = OrderedDict()
        self._curves: OrderedDict[Setting, list[Varying]] = OrderedDict()
        self._one_at_a_time, self._wanted = threading.Lock(), threading.Condition()
        self._next: Setting | None = None
        self.first = self._first()
        threading.Thread(target=self._draw_curves, daemon=True).start()

    @property
    def all_rows(self) -> int:
        """How many public rows there are."""
        return self._table.height

    def features(self) -> list[str]:
        """What there is to choose from: what was asked for or chosen first, numbers of components, and all cells."""
        most = len(self._table.columns) - 1
        return list(dict.fromkeys([self.first.features, *(str(n) for n in _COMPONENTS if n <= most), "all"]))

    def read(self, given: Mapping[str, str]) -> Setting:
        """From the query of an address; what is not said stays as it was at first.

        Raises:
            BadInput: a value makes no sense.
        """
        first, known = self.first, {name for name, _ in _items(self.first)} | {"curve"}
        for name in given:
            if name not in known:
                raise BadInput(f"{name[:_LONGEST]}=…", remedy=f"use {', '.join(sorted(known))}", value=name[:_LONGEST])
        rule, features = given.get("rule", first.rule), given.get("features", first.features)
        if rule not in RULES and rule != first.rule:
            raise BadInput(f"rule={rule[:_LONGEST]}", remedy=f"use {', '.join(RULES)}", value=rule[:_LONGEST])
        if features not in self.features():
            raise BadInput(f"features={features[:_LONGEST]}", remedy=f"use {', '.join(self.features())}")
        return Setting(
            owners=int(_between(given, "owners", first.owners, 1, MOST_OWNERS)),
            records=int(_between(given, "records", first.records, 1, MOST_RECORDS)),
            epsilon=_between(given, "epsilon", first.epsilon, 1e-9, 1e6),
            delta=_between(given, "delta", first.delta, 0, 0.5),
            features=features,
            rows=int(_between(given, "rows", first.rows, 1, self.all_rows)),
            rule=rule,
        )

    def show(self, setting: Setting, *, whole: bool = False) -> WhatIf:
        """What is expected; with the whole curve, or as far as it is known by now."""
        scenario = self.scenario(setting)
        with self._one_at_a_time:
            known = self.known(setting)
        expected = expect(known, scenario)
        curve = self._whole_curve(setting) if whole else self._known_curve(setting)
        return self._told(setting, scenario, known, expected, curve)

    def scenario(self, setting: Setting) -> Scenario:
        """The owners of a setting."""
        found, first = self._scenario, self.first
        if setting.owners != first.owners:
            found = found.with_owners(setting.owners)
        if setting.records != first.records:
            found = found.with_median_records(setting.records)
        if setting.epsilon != first.epsilon:
            found = found.with_largest_epsilon(setting.epsilon)
        return found if setting.delta == first.delta else replace(found, delta=setting.delta)

    def known(self, setting: Setting) -> PublicStudy:
        """The public rows in the features of a setting, under its rule."""
        key = (setting.features, setting.rows)
        if key not in self._fitted:
            table = self._table.head(setting.rows)
            fitted = read_public(table, self.target, {**self._settings, "features": setting.features})
            self._fitted[key] = fitted.ready()
            if len(self._fitted) > _FITTED_KEPT:
                self._fitted.popitem(last=False)
        self._fitted.move_to_end(key)
        return replace(self._fitted[key], spec=spec_of({**self._settings, "rule": setting.rule}))

    def _first(self) -> Setting:
        """Features that are left open are chosen once, for the first scenario."""
        scenario, wanted = self._scenario, str(self._settings.get("features") or "auto")
        if wanted == "auto":
            chosen = read_public(self._table, self.target, self._settings, scenario).features
            wanted = wanted if chosen is None else str(chosen)
        return Setting(
            owners=scenario.owners,
            records=round(float(np.median(scenario.records))),
            epsilon=scenario.epsilon_range[1],
            delta=scenario.delta,
            features=wanted,
            rows=self._table.height,
            rule=str(self._settings.get("rule", "auto")),
        )

    def _told(
        self, setting: Setting, scenario: Scenario, known: PublicStudy, expected: Expected, curve: list[Varying]
    ) -> WhatIf:
        found, quality = expected.candidate.forecast, expected.quality
        best = known.quality(scenario, 0.0)
        rows = None if setting.rows == self.all_rows else setting.rows
        settings: PlanSettings = {**self._settings, "features": setting.features, "rule": setting.rule}
        same = Same(self.path, self.target, scenario, settings, rows)
        return WhatIf(
            setting=setting,
            verdict=expected.verdict,
            sentence=sentence_of(expected.verdict, scenario.owners),
            relative_fitness=found.relative_fitness,
            interval=found.interval,
            alone=expected.alone,
            public=expected.public.relative_fitness,
            chosen_rule=expected.candidate.rule,
            answers=expected.candidate.answers,
            mechanism=expected.candidate.mechanism,
            joint_quality=None if quality is None else quality.joint,
            alone_quality=None if quality is None else quality.alone,
            public_quality=None if quality is None else quality.public,
            price=_price(None if best is None else best.joint, None if quality is None else quality.joint),
            warning=None if quality is None else quality.warning,
            caveats=[plain(words, 500) for words in found.caveats],
            curve=curve,
            complete=len(curve) == len(EPSILONS),
            break_even=break_even(curve),
            link=f"/what-if?{setting.query}",
            command=as_command(same),
            python=as_python(same),
            unit=expected.candidate.setting.terms.unit_words,
        )

    def _known_curve(self, setting: Setting) -> list[Varying]:
        """The points that are known by now; the others are asked for."""
        key = _curve_key(setting)
        with self._wanted:
            points = self._curves.setdefault(key, [])
            self._curves.move_to_end(key)
            if len(self._curves) > _CURVES_KEPT:
                self._curves.popitem(last=False)
            if len(points) < len(EPSILONS):
                self._next = key
                self._wanted.notify()
            return sorted(points, key=lambda row: row.value)

    def _whole_curve(self, setting: Setting) -> list[Varying]:
        with self._wanted:
            while len(points := self._known_curve(setting)) < len(EPSILONS):
                self._wanted.wait(0.5)
        return points

    def _draw_curves(self) -> None:
        """The newest curve that somebody wants, point by point: first the ends and the middle, then between."""
        while True:
            with self._wanted:
                while self._next is None:
                    self._wanted.wait()
                key, points = self._next, self._curves.get(self._next, [])
                left = [value for value in _coarse_first() if value not in {row.value for row in points}]
                if not left:
                    self._next = None
                    continue
            row = self._point(key, left[0])
            with self._wanted:
                points.append(row)
                self._wanted.notify_all()

    def _point(self, key: Setting, epsilon: float) -> Varying:
        scenario = self.scenario(msgspec.structs.replace(key, epsilon=epsilon))
        try:
            with self._one_at_a_time:
                known = self.known(key)
            return what_if_at(known, scenario, epsilon)
        except CoprivError:
            none = float("nan")
            return Varying(epsilon, scenario.owners, key.records, epsilon, none, (none, none), none, none, "", "")


def break_even(curve: list[Varying]) -> float | None:
    """The smallest ε at which the joint model should be as good as the best one that needs nobody, between points."""
    points = [
        (row.value, row.relative_fitness / min(row.alone, row.public))
        for row in curve
        if row.relative_fitness > 0 and min(row.alone, row.public) > 0
    ]
    for (low, above), (high, below) in pairwise(points):
        if above > 1 >= below:
            share = np.log(above) / np.log(above / below)
            return float(f"{np.exp(np.log(low) + share * np.log(high / low)):.3g}")
    return None


def _coarse_first() -> list[float]:
    """The points of a curve in the order in which they tell most."""
    order = [0, 12, 6, 3, 9, 1, 2, 4, 5, 7, 8, 10, 11]
    return [EPSILONS[place] for place in order]


def _curve_key(setting: Setting) -> Setting:
    """A curve over ε is the same whatever ε is."""
    return msgspec.structs.replace(setting, epsilon=0.0)


def _collect(public: Path, settings: PlanSettings) -> pl.DataFrame:
    return open_public(public, settings).collect()


def _price(best: Metrics | None, joint: Metrics | None) -> float | None:
    if best is None or joint is None or best.explained is None or joint.explained is None:
        return None
    return best.explained - joint.explained


def _items(setting: Setting) -> list[tuple[str, Any]]:
    return list(msgspec.structs.asdict(setting).items())


def _between(given: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    text = given.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise BadInput(
            f"{name}={text[:_LONGEST]}", remedy=f"give a number from {low:g} to {high:g}", value=text[:_LONGEST]
        )
    return value
