"""`forecast`: what training together will cost, from public rows, sizes and promises alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

import msgspec
import numpy as np
import polars as pl

from copriv.api.plan_settings import PlanSettings, PublicStudy, read_public
from copriv.api.settings import require_known
from copriv.api.tables import Table
from copriv.errors import BadInput
from copriv.forecast.limits import find_limits, times
from copriv.forecast.public import PublicView
from copriv.planning.advice import ForeseenDecision, foresee
from copriv.planning.candidate import Candidate
from copriv.planning.expected_quality import ExpectedQuality
from copriv.planning.feature_trade import beaten_by_public
from copriv.planning.scenario import Scenario
from copriv.planning.search import choose, first_look
from copriv.report.forecast_report import ForecastTold, LimitsTold, PublicTold, Varying, as_html

Varied = Literal["epsilon", "owners", "records", "join"]
Tell = Callable[[int, int], None]
_EPSILONS = tuple(float(f"{value:.3g}") for value in np.geomspace(0.01, 100, 13))
_OWNERS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_FEW_EPSILONS = tuple(float(f"{value:.2g}") for value in np.geomspace(0.01, 100, 9))
_CROWDS = (2, 3, 5, 10, 20, 50, 100, 200)
_RECORDS = tuple(int(float(f"{value:.2g}")) for value in np.geomspace(100, 1_000_000, 13))
_VERDICTS: dict[ForeseenDecision, str] = {
    "join": "join",
    "stay": "stay",
    "public": "use the public model",
    "either": "too close to call",
}


@dataclass(frozen=True)
class Forecast:
    """What is expected of training together; made by `forecast`.

    Args:
        scenario: who would train.
        candidate: what would be done: rule, mechanism, answers, clip, step, horizon, box.
        told: all figures, as `to_dict` gives them.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [25, 31, 47, 61, 38] * 40, "rate": [9.5, 8.2, 7.4, 5.1, 8.0] * 40})
    >>> forecast(table, Scenario([2000] * 4), target="rate", rule="newton", features=1).rule
    'newton'
    """

    scenario: Scenario
    candidate: Candidate
    told: ForecastTold

    @property
    def relative_fitness(self) -> float:
        """ψ to be expected: the distance of the joint model from the best one in these features (0 is the best)."""
        return self.candidate.forecast.relative_fitness

    @property
    def interval(self) -> tuple[float, float]:
        """Where ψ of one training lies with a probability of 95 %, if the public rows fit."""
        return self.candidate.forecast.interval

    @property
    def elsewhere(self) -> tuple[float, float] | None:
        """The same if the public rows come from elsewhere; None where nothing is known of that."""
        return self.candidate.forecast.elsewhere

    @property
    def standard_error(self) -> float:
        """Of the expected ψ, from the finite public sample."""
        return self.candidate.forecast.standard_error

    @property
    def rule(self) -> str:
        """How answers would become a model."""
        return self.candidate.rule

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the figures do not cover, or how else they were made."""
        return self.candidate.forecast.caveats

    @property
    def limits(self) -> LimitsTold:
        """How far from the limit: ψ with the best noise, with one noise for all, and by information alone."""
        return self.told.limits

    @property
    def quality(self) -> ExpectedQuality | None:
        """What models should be worth on new records, in figures people know; None if public rows are too few."""
        return self.told.quality

    @property
    def alone(self) -> float:
        """ψ that the median owner is expected to reach with its own records only."""
        return self.told.alone

    @property
    def decision(self) -> str:
        """join, stay, use the public model, or too close to call."""
        return self.told.verdict

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        found: dict[str, Any] = msgspec.to_builtins(self.told)
        return found

    def to_polars(self) -> pl.DataFrame:
        """One row a scenario: what was varied, or the one that was asked for."""
        rows = self.told.table or [_row(self.candidate, self.scenario, 0.0, self.told.alone, self.told.public)]
        return pl.DataFrame([_flat(row) for row in rows])

    def _repr_html_(self) -> str:
        return as_html(self.told)


def forecast(
    public: Table,
    scenario: Scenario,
    *,
    target: str | None = None,
    vary: Varied | None = None,
    tell: Tell = lambda _done, _total: None,
    **settings: Unpack[PlanSettings],
) -> Forecast:
    """What training together would cost. Nobody is asked, nothing is spent.

    Args:
        public: public rows: a path, or a polars, pandas or Arrow table; None for those beside `study`.
        scenario: who would train, and what each promises.
        target: the column to predict.
        vary: also over a range of ε, owners or records; `join`: of owners and ε.
        tell: is told how many of how many scenarios are done.
        **settings: see `PlanSettings`: what is settled beforehand.

    Raises:
        BadInput: a setting makes no sense, or the public rows cannot be read or are too few.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [25, 31, 47, 61, 38] * 40, "rate": [9.5, 8.2, 7.4, 5.1, 8.0] * 40})
    >>> found = forecast(table, Scenario(records=[2000] * 4, epsilon=1.0), target="rate", rule="newton", features=1)
    >>> low, high = found.interval
    >>> low < found.relative_fitness < high, found.rule
    (True, 'newton')
    """
    require_known(settings, PlanSettings, "forecast")
    known = read_public(public, target, settings, scenario)
    found = foretell(known, scenario)
    if vary is not None:
        found.told.varied, found.told.table = vary, what_if(known, scenario, vary, tell)
    return found


def foretell(known: PublicStudy, scenario: Scenario) -> Forecast:
    """The forecast for owners of a scenario, from public rows that were read before."""
    return Forecast(scenario, *_told(known, scenario, expect(known, scenario)))


@dataclass(frozen=True)
class Expected:
    """The heart of a forecast: what would be done, and whether to.

    Args:
        candidate: what would be done.
        alone: ψ of the median owner's own model.
        public: the public rows, and ψ of their model.
        quality: what models should be worth; None if public rows are too few.
        verdict: join, stay, use the public model, or too close to call.
    """

    candidate: Candidate
    alone: float
    public: PublicTold
    quality: ExpectedQuality | None
    verdict: str


def expect(known: PublicStudy, scenario: Scenario) -> Expected:
    """What a forecast says, but for how far it is from the limits, which takes longer than all else."""
    _require_own_models(known.evidence.view, scenario)
    return _expected(known, scenario, choose(known.outline(scenario)))


def expect_at_first(known: PublicStudy, scenario: Scenario) -> Expected | None:
    """What can be said at once: rules that need simulated runs, the standard error and a finer account come later.

    None if nothing can.
    """
    _require_own_models(known.evidence.view, scenario)
    candidate = first_look(known.outline(replace(scenario, accountant="zcdp")))
    return None if candidate is None else _expected(known, scenario, candidate)


def _expected(known: PublicStudy, scenario: Scenario, candidate: Candidate) -> Expected:
    view = known.evidence.view
    alone = view.median_alone(scenario.records, scenario.heterogeneity)
    public = PublicTold(view.sample.records, view.public_model(sum(scenario.records)))
    quality = known.quality(scenario, candidate.relative_fitness)
    verdict = _VERDICTS[foresee(candidate.forecast, alone, public.relative_fitness)]
    if _is_beaten(known, scenario, quality):
        verdict = _VERDICTS["public"]
    return Expected(candidate, alone, public, quality, verdict)


def what_if(
    known: PublicStudy, scenario: Scenario, vary: Varied, tell: Tell = lambda _done, _total: None
) -> list[Varying]:
    """The forecast over a range of ε, owners or records, from public rows that were read before."""
    cases, table = _range(vary, scenario), list[Varying]()
    for done, (value, other) in enumerate(cases, start=1):
        table.append(what_if_at(known, other, value))
        tell(done, len(cases))
    return table


def _is_beaten(known: PublicStudy, scenario: Scenario, quality: ExpectedQuality | None) -> bool:
    """Where nothing can be learnt, or a public model in other features should do better, nobody is told to join."""
    if quality is None or scenario.owners == 1:
        return False
    return quality.warning is not None or (known.choice is not None and beaten_by_public(known.choice))


def _require_own_models(view: PublicView, scenario: Scenario) -> None:
    """Refuse owners that could not train alone, as there would be nothing to compare with."""
    fewest, parameters = min(scenario.records), view.sample.parameters
    if fewest <= parameters:
        raise BadInput(
            f"an owner of {fewest} records for a model of {parameters} numbers, which it could not train alone",
            remedy=f"give more than {parameters} records an owner, or fewer --features",
            value=fewest,
        )


def _told(known: PublicStudy, scenario: Scenario, expected: Expected) -> tuple[Candidate, ForecastTold]:
    candidate = expected.candidate
    found, still = candidate.forecast, known.evidence.view.singular
    singular = f"the public rows do not vary in {still} directions: there the regularizer decides"
    delta = candidate.setting.guarantees[0].delta
    pure = f"one pure answer costs less than what δ = {scenario.delta:g} buys: owners would promise δ = 0"
    told = ForecastTold(
        relative_fitness=found.relative_fitness,
        standard_error=found.standard_error,
        alone=expected.alone,
        public=expected.public,
        limits=_limits(known, candidate),
        verdict=expected.verdict,
        interval=found.interval,
        rule=candidate.rule,
        answers_per_owner=candidate.answers,
        step=candidate.step,
        mechanism=candidate.mechanism,
        clip=candidate.clip,
        horizon=candidate.horizon,
        box=candidate.box,
        owners=scenario.owners,
        records=scenario.total,
        epsilon=scenario.any_epsilon,
        delta=delta,
        loss=known.evidence.objective.loss.name,
        heterogeneity=scenario.heterogeneity,
        target=known.dictionary.target.name,
        seed=known.spec.seed,
        caveats=list(found.caveats),
        notices=[
            *known.notices,
            *([singular] if still else []),
            *([pure] if delta != scenario.delta else []),
        ],
        elsewhere=found.elsewhere,
        quality=expected.quality,
        unit=candidate.setting.terms.unit_words,
    )
    return candidate, told


def _limits(known: PublicStudy, candidate: Candidate) -> LimitsTold:
    found, expected = find_limits(candidate.setting, known.evidence), candidate.relative_fitness
    return LimitsTold(
        best_noise=found.best_noise,
        times_best_noise=times(expected, found.best_noise),
        one_noise=found.one_noise,
        times_one_noise=times(expected, found.one_noise),
        information=found.information,
        binding=found.binding,
        noise=found.noise,
        body=found.body,
        clip=found.clip,
    )


def _range(vary: Varied, scenario: Scenario) -> list[tuple[float, Scenario]]:
    """The scenario for one value after another; owners that differ keep their pattern."""
    if vary == "epsilon":
        return [(epsilon, scenario.with_largest_epsilon(epsilon)) for epsilon in _EPSILONS]
    if vary == "owners":
        return [(float(owners), scenario.with_owners(owners)) for owners in _OWNERS]
    if vary == "records":
        return [(float(records), scenario.with_median_records(records)) for records in _RECORDS]
    crowds = [scenario.with_owners(owners) for owners in _CROWDS]
    return [(epsilon, crowd.with_largest_epsilon(epsilon)) for crowd in crowds for epsilon in _FEW_EPSILONS]


def what_if_at(known: PublicStudy, scenario: Scenario, value: float) -> Varying:
    """One row of what is varied: a scenario, and the value that it has."""
    view = known.evidence.view
    alone = view.median_alone(scenario.records, scenario.heterogeneity)
    public = PublicTold(view.sample.records, view.public_model(scenario.total))
    return _row(choose(known.outline(scenario)), scenario, value, alone, public)


def _row(candidate: Candidate, scenario: Scenario, value: float, alone: float, public: PublicTold) -> Varying:
    found = candidate.forecast
    return Varying(
        value=value,
        owners=scenario.owners,
        records=round(float(np.median(scenario.records))),
        epsilon=scenario.any_epsilon,
        relative_fitness=found.relative_fitness,
        interval=found.interval,
        alone=alone,
        public=public.relative_fitness,
        verdict=_VERDICTS[foresee(found, alone, public.relative_fitness)],
        rule=candidate.rule,
    )


def _flat(row: Varying) -> dict[str, Any]:
    """A row without ranges in it: ε is the largest, and `smallest_epsilon` beside it."""
    low, high = (row.epsilon, row.epsilon) if isinstance(row.epsilon, float) else row.epsilon
    return {
        "owners": row.owners,
        "records": row.records,
        "epsilon": high,
        "smallest_epsilon": low,
        "relative_fitness": row.relative_fitness,
        "low": row.interval[0],
        "high": row.interval[1],
        "alone": row.alone,
        "public": row.public,
        "rule": row.rule,
        "verdict": row.verdict,
    }
