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
from copriv.cli.public_file import open_public
from copriv.errors import BadInput
from copriv.forecast.forecast import Forecast
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.planning.forecaster import RULES, Forecaster, Scenario, judge
from copriv.planning.search import Fixed
from copriv.planning.tuning import choose_limit, public_model
from copriv.privacy.guarantee import Guarantee
from copriv.records.load import take_public
from copriv.records.target import TargetChoice
from copriv.report.forecast_report import ForecastTold, PublicTold, Varying, show
from copriv.report.what_if import draw

_EPSILONS = tuple(float(f"{value:.3g}") for value in np.geomspace(0.01, 100, 13))
_OWNERS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_FEW_EPSILONS = tuple(float(f"{value:.2g}") for value in np.geomspace(0.01, 100, 9))
_CROWDS = (2, 3, 5, 10, 20, 50, 100, 200)
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
    loss: str
    huber_threshold: float
    positive_above: float | None
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
        oracle, notices = _consult(options, question)
    for notice in notices:
        console.print(f"note: {notice}", style="dim", highlight=False, markup=False)
    with bar(console, "forecasting"):
        found = _ask(oracle, question, options)
        told = _tell(oracle, question, found, options, notices)
    if options.vary is not None:
        with bar(console, f"varying {options.vary}") as tell:
            told.varied = options.vary
            cases = _range(options, question)
            for done, (value, other) in enumerate(cases, start=1):
                told.table.append(_row(oracle, other, value, options))
                tell(done, len(cases))
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            told.files = [str(path) for path in draw(told, options.out)]
    told.seconds = round(time.perf_counter() - started, 3)
    if options.as_json:
        typer.echo(msgspec.json.encode(told).decode())
    else:
        show(told, Console())


def _question(options: ForecastOptions) -> Scenario:
    if options.owners < 1:
        raise BadInput(f"{options.owners} owners", remedy="give at least 1", value=options.owners)
    sizes = tuple(_whole(text) for text in _each(options.records, options.owners, "records"))
    guarantees = tuple(Guarantee.of(text, options.delta) for text in _each(options.epsilon, options.owners, "epsilon"))
    return Scenario(sizes, guarantees, options.heterogeneity)


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
    if options.positive_above is not None and options.loss != "logistic":
        raise BadInput(
            "--positive-above makes labels of the target, which only the logistic loss uses",
            remedy="add --loss logistic, or leave it out",
            value=options.positive_above,
        )
    if options.vary is not None and "," in options.records + options.epsilon:
        raise BadInput(
            f"--vary {options.vary} with owners that differ",
            remedy="give one number of records and one epsilon for all owners",
            value=options.vary,
        )


def _consult(options: ForecastOptions, question: Scenario) -> tuple[Forecaster, list[str]]:
    labels = options.loss == "logistic"
    choice = TargetChoice(options.target, options.ordinal, options.positive_above, labels)
    _, sample, notices = take_public(open_public(options.public), choice, options.features)
    fewest = min(question.records)
    if fewest <= sample.parameters:
        raise BadInput(
            f"an owner of {fewest} records for a model of {sample.parameters} numbers, which it could not train alone",
            remedy=f"give more than {sample.parameters} records an owner, or fewer --features",
            value=fewest,
        )
    loss = choose(options.loss, options.huber_threshold if options.loss == "huber" else 0.0)
    limit = choose_limit(public_model(loss, options.regularization, sample))
    oracle = Forecaster.of(sample, Objective(loss, options.regularization, limit), options.seed)
    singular = oracle.view.singular
    told = [f"the public rows do not vary in {singular} directions: there the regularizer decides"] if singular else []
    return oracle, [*notices, *told]


def _ask(oracle: Forecaster, question: Scenario, options: ForecastOptions) -> Forecast:
    rules = [rule for rule in RULES if options.rule in (rule, "auto")]
    return oracle.best(question, rules, Fixed(horizon=options.horizon))


def _tell(
    oracle: Forecaster, question: Scenario, found: Forecast, options: ForecastOptions, notices: list[str]
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
        loss=options.loss,
        public=PublicTold(oracle.view.sample.records, oracle.view.public_model(total)),
        heterogeneity=options.heterogeneity,
        target=options.target,
        caveats=list(found.caveats),
        notices=notices,
    )


def _range(options: ForecastOptions, question: Scenario) -> list[tuple[float, Scenario]]:
    """The question asked for one value after another."""
    size, guarantee, count = question.records[0], question.guarantees[0], len(question.records)

    def ask(owners: int, records: int, commitment: Guarantee) -> Scenario:
        return Scenario((records,) * owners, (commitment,) * owners, options.heterogeneity)

    epsilons = _FEW_EPSILONS if options.vary == "join" else _EPSILONS
    commitments = {epsilon: Guarantee.of(epsilon, options.delta) for epsilon in epsilons}
    if options.vary == "epsilon":
        return [(epsilon, ask(count, size, commitment)) for epsilon, commitment in commitments.items()]
    if options.vary == "owners":
        return [(float(owners), ask(owners, size, guarantee)) for owners in _OWNERS]
    if options.vary == "records":
        return [(float(records), ask(count, records, guarantee)) for records in _RECORDS]
    return [(epsilon, ask(n, size, commitment)) for n in _CROWDS for epsilon, commitment in commitments.items()]


def _row(oracle: Forecaster, question: Scenario, value: float, options: ForecastOptions) -> Varying:
    found, alone = _ask(oracle, question, options), oracle.alone(question)
    return Varying(
        value=value,
        owners=len(question.records),
        records=question.records[0],
        epsilon=question.guarantees[0].epsilon,
        relative_fitness=found.relative_fitness,
        interval=found.interval(),
        alone=alone,
        public=oracle.view.public_model(sum(question.records)),
        verdict=judge(found, alone),
        rule=found.rule,
    )
