"""What `copriv forecast` does: read the public rows, ask the oracle, tell; over a range if wanted."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import typer
from rich.console import Console

from copriv.cli.progress import bar
from copriv.errors import BadInput
from copriv.forecast.forecast import Forecast
from copriv.forecast.settings import Choice
from copriv.losses.objective import Objective
from copriv.losses.squared import SquaredLoss
from copriv.privacy.guarantee import Guarantee
from copriv.records.intake import take_public
from copriv.records.table import open_table
from copriv.records.target import TargetChoice
from copriv.report.outlook import ForecastTold, PublicTold, Varying, draw, show
from copriv.simulation.foresight import RULES, Oracle, Question, judge
from copriv.simulation.pilot import choose_limit, public_model

_EPSILONS = tuple(float(f"{value:.3g}") for value in np.geomspace(0.01, 100, 13))
_OWNERS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_RECORDS = tuple(int(float(f"{value:.2g}")) for value in np.geomspace(100, 1_000_000, 13))


@dataclass(frozen=True, slots=True)
class ForecastOptions:
    """The options of `copriv forecast`, as given."""

    public: Path
    target: str
    owners: int
    records: str
    epsilon: str
    delta: float
    rule: str
    horizon: int | None
    heterogeneity: float
    vary: str | None
    ordinal: bool
    features: int
    regularization: float
    seed: int
    out: Path | None
    as_json: bool


def run_job(options: ForecastOptions) -> None:
    """The whole of `copriv forecast`."""
    started = time.perf_counter()
    console = Console(stderr=True)
    question = _question(options)
    _check(options)
    with bar(console, "reading public rows"):
        oracle, notices = _consult(options)
    for notice in notices:
        console.print(f"note: {notice}", style="dim", highlight=False)
    with bar(console, "forecasting"):
        found = _ask(oracle, question, options)
        told = _tell(oracle, question, found, options, notices)
    if options.vary is not None:
        with bar(console, f"varying {options.vary}") as tell:
            told.varied = options.vary
            for done, (value, other) in enumerate(_range(options, question), start=1):
                told.table.append(_row(oracle, other, value, options))
                tell(done, len(_values(options.vary)))
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            told.files = [str(path) for path in draw(told, options.out)]
    told.seconds = round(time.perf_counter() - started, 3)
    if options.as_json:
        typer.echo(msgspec.json.encode(told).decode())
    else:
        show(told, Console())


def _question(options: ForecastOptions) -> Question:
    if options.owners < 1:
        raise BadInput(f"{options.owners} owners", remedy="give at least 1", value=options.owners)
    sizes = tuple(_whole(text) for text in _each(options.records, options.owners, "records"))
    guarantees = tuple(Guarantee.of(text, options.delta) for text in _each(options.epsilon, options.owners, "epsilon"))
    return Question(sizes, guarantees, options.heterogeneity)


def _each(given: str, owners: int, what: str) -> list[str]:
    """One value an owner, from one for all or one for each."""
    values = [text.strip() for text in given.split(",")]
    if len(values) == 1:
        return values * owners
    if len(values) != owners:
        raise BadInput(
            f"{len(values)} values of {what} for {owners} owners",
            remedy=f"give one for all, or {owners} separated by commas",
            value=len(values),
        )
    return values


def _whole(text: str) -> int:
    try:
        size = int(text)
    except ValueError as problem:
        raise BadInput(f"{text!r} records", remedy="give whole numbers from 1", value=text) from problem
    if size < 1:
        raise BadInput(f"{size} records", remedy="give whole numbers from 1", value=size)
    return size


def _check(options: ForecastOptions) -> None:
    if options.horizon is not None and options.horizon < 1:
        raise BadInput(f"the horizon is {options.horizon}", remedy="give at least 1 meeting", value=options.horizon)
    if options.out is not None and options.vary is None:
        raise BadInput("--out without --vary", remedy="say what to vary, or leave --out out", value=str(options.out))
    if options.vary is not None and "," in options.records + options.epsilon:
        raise BadInput(
            f"--vary {options.vary} with owners that differ",
            remedy="give one number of records and one epsilon for all owners",
            value=options.vary,
        )


def _consult(options: ForecastOptions) -> tuple[Oracle, list[str]]:
    choice = TargetChoice(options.target, ordinal=options.ordinal)
    _, sample, notices = take_public(open_table(options.public), choice, options.features)
    limit = choose_limit(public_model(SquaredLoss(), options.regularization, sample))
    oracle = Oracle.of(sample, Objective(SquaredLoss(), options.regularization, limit), options.seed)
    singular = oracle.view.singular
    told = [f"the public rows do not vary in {singular} directions: there the regularizer decides"] if singular else []
    return oracle, [*notices, *told]


def _ask(oracle: Oracle, question: Question, options: ForecastOptions) -> Forecast:
    rules = [rule for rule in RULES if options.rule in (rule, "auto")]
    return oracle.best(question, rules, Choice(horizon=options.horizon))


def _tell(
    oracle: Oracle, question: Question, found: Forecast, options: ForecastOptions, notices: list[str]
) -> ForecastTold:
    alone = float(np.median([oracle.alone(question, owner) for owner in range(len(question.records))]))
    total = sum(question.records)
    return ForecastTold(
        relative_fitness=found.relative_fitness,
        interval=found.interval(),
        alone=alone,
        verdict=judge(found, alone),
        rule=found.rule,
        answers_per_owner=found.answers,
        step=found.step or None,
        mechanism=question.mechanism,
        clip=found.clip,
        horizon=found.horizon,
        owners=len(question.records),
        records=total,
        epsilon=max(guarantee.epsilon for guarantee in question.guarantees),
        delta=options.delta,
        public=PublicTold(oracle.view.sample.records, oracle.view.public_model(total)),
        heterogeneity=options.heterogeneity,
        target=options.target,
        caveats=list(found.caveats),
        notices=notices,
    )


def _range(options: ForecastOptions, question: Question) -> list[tuple[float, Question]]:
    """The question asked for one value after another."""
    size, guarantee, count = question.records[0], question.guarantees[0], len(question.records)
    kappa = options.heterogeneity
    if options.vary == "epsilon":
        return [(e, Question((size,) * count, (Guarantee.of(e, options.delta),) * count, kappa)) for e in _EPSILONS]
    if options.vary == "owners":
        return [(float(n), Question((size,) * n, (guarantee,) * n, kappa)) for n in _OWNERS]
    return [(float(n), Question((n,) * count, (guarantee,) * count, kappa)) for n in _RECORDS]


def _values(vary: str) -> tuple[float, ...]:
    return {"epsilon": _EPSILONS, "owners": _OWNERS, "records": _RECORDS}[vary]


def _row(oracle: Oracle, question: Question, value: float, options: ForecastOptions) -> Varying:
    found = _ask(oracle, question, options)
    alone = oracle.alone(question)
    return Varying(value, found.relative_fitness, found.interval(), alone, judge(found, alone), found.rule)
