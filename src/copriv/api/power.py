"""`power`: will an effect be found? Before anybody is asked, from public rows, sizes and promises."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from copriv.api.plan_settings import PlanSettings, PublicStudy, read_public
from copriv.api.settings import require_known
from copriv.api.tables import Table
from copriv.errors import BadInput
from copriv.forecast.one_step import COVERED, FLAT, TAKEN, too_few
from copriv.planning.power import Ahead, ExpectedErrors, smallest
from copriv.planning.scenario import Scenario
from copriv.planning.search import choose
from copriv.privacy.guarantee import ADJACENCY, UNIT, UNITS
from copriv.records.dictionary import Dictionary
from copriv.report.inference import OF_COMPONENTS, in_units
from copriv.report.sentence import many
from copriv.vectors import FloatArray

_EPSILONS, _RECORDS, _OWNERS = (0.01, 100.0), (50.0, 1e7), (1.0, 1000.0)


@dataclass(frozen=True)
class Power:
    """The chance to find an effect, and what it would take to find it; made by `power`.

    Args:
        scenario: who would train.
        name: the coefficient.
        effect: as it was given: an odds ratio, a rate ratio, or in the target's unit.
        log_odds: whether it is an odds ratio.
        errors: variances that are to be expected.
        power: the chance that the 95 % interval does not hold "no effect".
        wanted: the power that is asked for, if any.
        needed: the ε, the records of each owner, or the owners that would reach it, all else as it is; None where
            nothing does.
        unit: what is protected as one.
        log_rates: whether the effect is a rate ratio.
        none: why there would be no interval, so that nothing is found; empty if there should be one.

    >>> errors = ExpectedErrors(sampling=0.01, privacy=0.01, between=0.0, public=0.0, owners=10)
    >>> Power(Scenario([2000] * 10), "drug = yes", 1.5, True, errors, errors.power(math.log(1.5))).power > 0.7
    True
    """

    scenario: Scenario
    name: str
    effect: float
    log_odds: bool
    errors: ExpectedErrors
    power: float
    wanted: float | None = None
    needed: dict[str, float | None] | None = None
    unit: str = UNIT
    log_rates: bool = False
    none: str = ""

    @property
    def standard_error(self) -> float:
        """Of the coefficient: of log-odds, or in the target's unit."""
        return self.errors.standard_error

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        parts = {name: math.sqrt(getattr(self.errors, name)) for name in ("sampling", "privacy", "between", "public")}
        who = {"owners": self.scenario.owners, "records": list(self.scenario.records)}
        promise = {"epsilon": list(self.scenario.epsilons), "delta": self.scenario.delta}
        about = {"coefficient": self.name, "effect": self.effect, "odds_ratio": self.log_odds}
        about |= {"rate_ratio": self.log_rates, "power": self.power, "no_interval": self.none}
        errors = {"standard_error": self.standard_error, **parts}
        wanted = {} if self.needed is None else {"wanted": self.wanted, "needed": self.needed}
        return about | errors | who | promise | {"unit": self.unit, "adjacency": ADJACENCY} | wanted

    def lines(self) -> list[str]:
        """The same for people."""
        kind = f"{_kind(log_odds=self.log_odds, log_rates=self.log_rates)} of"
        epsilons = sorted(set(self.scenario.epsilons))
        promised = " to ".join(f"{epsilon:g}" for epsilon in dict.fromkeys((epsilons[0], epsilons[-1])))
        sizes = sorted(set(self.scenario.records))
        records = " to ".join(f"{size:,}" for size in dict.fromkeys((sizes[0], sizes[-1])))
        chance = (
            f"at ε = {promised}, δ = {self.scenario.delta:g} for any one {self.unit} ({ADJACENCY}), "
            f"{many(self.scenario.owners, 'owner')} of {records} records: {kind} {self.effect:g} for {self.name!r} is "
            f"found with power {self.power:.2f}"
        )
        found = "found: the 95 % interval does not hold “no effect”; if the public rows are of the owners' population"
        return [chance, *([f"no interval: {self.none}"] if self.none else [self._parts(), found]), *self._needs()]

    def _parts(self) -> str:
        errors = self.errors
        parts = {
            "sampling": errors.sampling,
            "privacy": errors.privacy,
            "differences between owners": errors.between,
            "public rows": errors.public,
        }
        told = ", ".join(f"{cause} {math.sqrt(variance):.2g}" for cause, variance in parts.items())
        return f"standard error {self.standard_error:.3g}: {told}"

    def _needs(self) -> list[str]:
        words: dict[str, Callable[[float], str]] = {
            "epsilon": lambda value: f"ε = {value:.3g}",
            "records": lambda value: f"{many(round(value), 'record')} of each owner",
            "owners": lambda value: many(round(value), "owner"),
        }
        return [
            f"for power {self.wanted:g}, all else as it is: "
            + (f"no {what} suffices" if value is None else words[what](value))
            for what, value in (self.needed or {}).items()
        ]


def power(
    public: Table,
    scenario: Scenario,
    *,
    target: str | None = None,
    column: str,
    effect: float,
    wanted: float | None = None,
    **settings: Unpack[PlanSettings],
) -> Power:
    """The chance that a coefficient's interval does not hold "no effect", before anything is spent.

    Args:
        public: public rows: a path, or a polars, pandas or Arrow table.
        scenario: who would train, and what each promises; with `heterogeneity`, how much owners differ.
        target: the column to predict.
        column: the coefficient: a column of numbers, or a column and its category as in "treatment = yes".
        effect: what one more unit of it adds to the target; for the logistic loss the odds ratio, for
            the Poisson and the Gamma loss the rate ratio.
        wanted: also work out the ε, the records and the owners that a power would take, one at a time.
        **settings: see `PlanSettings`; features are `all` unless others are named.

    Raises:
        BadInput: there is no such coefficient, the effect is none, or there would be no interval.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"age": [25, 31, 47, 61, 38] * 42, "rate": [9.5, 8.2, 7.4, 5.1, 8.0, 9.1, 7.7] * 30})
    >>> found = power(rows, Scenario([2000] * 5, epsilon=1.0), target="rate", column="age", effect=0.005)
    >>> 0 < found.power < 1, found.name
    (True, 'age')
    """
    require_known(settings, PlanSettings, "power")
    settled: Any = {"features": "all", "rule": "newton"} | dict(settings)
    known = read_public(public, target, settled, scenario)
    evidence, loss = known.evidence, settled.get("loss", "squared")
    reason = OF_COMPONENTS if known.dictionary.components else too_few(evidence.sample, evidence.objective.loss)
    if loss not in COVERED:
        reason = f"whether intervals hold under the {loss} loss has not been measured: use {' or '.join(COVERED)}"
    if reason:
        raise BadInput("there would be no interval", remedy=reason, value=str(settled["features"]))
    if wanted is not None and not 0 < wanted < 1:
        raise BadInput(f"a power of {wanted}", remedy="give a number between 0 and 1, such as 0.8", value=wanted)
    name, row = _coefficient(known.dictionary, column)
    kinds = {"log_odds": known.dictionary.target.kind == "label", "log_rates": known.dictionary.target.is_rate}
    size = _size(effect, **kinds)
    ahead = _ahead(known, scenario)
    found, none = _errors(ahead, row, scenario), TAKEN if ahead.is_taken else ""
    chance = 0.0 if none else found.power(size)
    needed = None if wanted is None else _needed(scenario, partial(_power, known, row, size), wanted)
    unit = UNITS["record" if known.person is None else "person"]
    return Power(
        scenario, name, effect, errors=found, power=chance, wanted=wanted, needed=needed, unit=unit, none=none, **kinds
    )


def _ahead(known: PublicStudy, scenario: Scenario) -> Ahead:
    ahead = Ahead.of(choose(known.outline(scenario)).setting, known.evidence.sample, known.evidence.model)
    if ahead.sandwich.flat:
        raise BadInput("there would be no interval", remedy=f"{FLAT}: leave some out with --skip", value="collinear")
    return ahead


def _errors(ahead: Ahead, row: FloatArray, scenario: Scenario) -> ExpectedErrors:
    return ahead.errors(row[None], scenario.heterogeneity)[0]


def _power(known: PublicStudy, row: FloatArray, size: float, scenario: Scenario) -> float:
    """Of a scenario; none if it would have no interval."""
    ahead = _ahead(known, scenario)
    return 0.0 if ahead.is_taken else _errors(ahead, row, scenario).power(size)


def _needed(scenario: Scenario, power_of: Callable[[Scenario], float], wanted: float) -> dict[str, float | None]:
    """The least ε, records and owners, one at a time; with owners of equal size and promise where these vary."""
    records, epsilon = max(scenario.records), max(scenario.epsilons)
    alike = replace(scenario, records=(records,) * scenario.owners, epsilon=epsilon, rates=None)

    def with_owners(count: float) -> Scenario:
        return replace(alike, records=(records,) * math.ceil(count))

    def with_records(size: float) -> Scenario:
        return replace(alike, records=(math.ceil(size),) * scenario.owners)

    def with_epsilon(promise: float) -> Scenario:
        return replace(scenario, epsilon=float(f"{promise:.4g}"))

    found = {
        "epsilon": smallest(lambda value: power_of(with_epsilon(value)), wanted, *_EPSILONS),
        "records": smallest(lambda value: power_of(with_records(value)), wanted, *_RECORDS),
        "owners": smallest(lambda value: power_of(with_owners(value)), wanted, *_OWNERS),
    }
    return {
        what: value if what == "epsilon" or value is None else float(math.ceil(value)) for what, value in found.items()
    }


def _coefficient(dictionary: Dictionary, column: str) -> tuple[str, FloatArray]:
    """The coefficient that is meant, and the row that models are multiplied by."""
    _, effects, names = in_units(dictionary)
    wanted = column.strip()
    found = [name for name in names if name == wanted]
    found = found or [name for name in names if name.startswith(f"{wanted} = ")]
    if len(found) != 1:
        raise BadInput(
            f"{column!r} is {'no coefficient' if not found else 'more than one coefficient'}",
            remedy=f"name one of {', '.join(found or names)}",
            value=column,
        )
    return found[0], np.asarray(effects[names.index(found[0])])


def _kind(*, log_odds: bool, log_rates: bool) -> str:
    return "an odds ratio" if log_odds else "a rate ratio" if log_rates else "an effect"


def _size(effect: float, *, log_odds: bool, log_rates: bool) -> float:
    """How large a coefficient is; refuses what is no effect."""
    is_ratio = log_odds or log_rates
    known, none = _kind(log_odds=log_odds, log_rates=log_rates), 1 if is_ratio else 0
    if not math.isfinite(effect) or effect == none or (is_ratio and effect <= 0):
        remedy = "give a number above 0 that is not 1" if is_ratio else "give a finite number that is not 0"
        raise BadInput(f"{known} of {effect}", remedy=remedy, value=effect)
    return abs(math.log(effect)) if is_ratio else abs(effect)
