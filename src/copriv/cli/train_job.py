"""What `copriv train` does: read, design, train, measure, tell.

Nothing is written or spent before all input is checked.
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import polars as pl
import typer
from rich.console import Console

from copriv.cli.progress import Tell, bar
from copriv.cli.values import read_values
from copriv.entropy import fresh_seed, secure, seeded
from copriv.errors import BadInput
from copriv.owner.ledger import Ledger
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.promise import Promise
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Guarantee
from copriv.records import hospital_like, lending_like
from copriv.records.intake import Intake, Plan, take_in
from copriv.records.partition import Partition
from copriv.records.table import count_rows, open_table
from copriv.records.target import TargetChoice
from copriv.report import run_folder
from copriv.report.figures import Run, figures
from copriv.report.table import show
from copriv.rules.paper import CentralStep
from copriv.schedule.trace import Trace
from copriv.simulation.consortium import Consortium, MakeLedger, Watch, assemble, measure, run
from copriv.simulation.study import Noise, Study, Wishes, design
from copriv.vectors import FloatArray, IntArray

_SYNTHETIC_OWNERS = 10
_SYNTHETIC_RECORDS = 10_000
_FILES_PER_LEDGER = 3
_OTHER_FILES = 256


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """The options of `copriv train`, as given."""

    data: Path | None
    target: str | None
    public: Path | None
    public_rows: int
    shuffle: bool
    ordinal: bool
    positive_above: float | None
    features: int
    synthetic: str
    owner_column: str | None
    owners: int | None
    min_records: int
    records_per_owner: int | None
    rates: Path | None
    epsilon: str | None
    epsilons: Path | None
    delta: float
    accountant: Literal["pld", "zcdp"]
    answers: int | None
    clip: float | None
    simulate: bool
    loss: str
    huber_threshold: float
    rule: str
    horizon: int
    step: float | None
    rho: float | None
    central: str
    regularization: float
    box: float | None
    schedule: Path | None
    seed: int | None
    out: Path | None
    as_json: bool


def run_job(options: TrainOptions) -> None:
    """The whole of `copriv train`."""
    started = time.perf_counter()
    console = Console(stderr=True)
    noise: Noise = "seeded" if options.simulate else "secure"
    seed = fresh_seed() if options.seed is None else options.seed
    folder = options.out or _default_folder()
    run_folder.require_new(folder)
    _check_guarantee(options)
    with bar(console, "reading records") as tell:
        intake = take_records(options, seed, tell)
    for notice in intake.notices:
        console.print(f"note: {notice}", style="dim", highlight=False)
    with bar(console, "choosing clip and step on the public rows"):
        study = design(intake, make_wishes(options, intake, seed))
    if noise == "secure":
        allow_open_files(len(intake.owners) * _FILES_PER_LEDGER)
    run_folder.make(folder)
    consortium = assemble(intake, study, noise=noise, seed=seed, make_ledger=ledger_maker(folder, noise))
    watch, model = _train(consortium, study, console)
    with bar(console, "comparing with training alone") as tell:
        samples = [owner.sample for owner in intake.owners]
        findings = measure(study.terms.objective(), samples, study, watch, model, tell)
    finished = Run(
        intake, study, consortium, watch, findings, noise, seed, str(folder), round(time.perf_counter() - started, 3)
    )
    told = figures(finished)
    with bar(console, "drawing"):
        run_folder.write(folder, finished, told, model)
    if options.as_json:
        typer.echo(msgspec.json.encode(told).decode())
    else:
        show(told, Console())


def take_records(options: TrainOptions, seed: int, tell: Tell) -> Intake:
    """The table of the user, or a synthetic one, reduced and divided."""
    choice = TargetChoice(
        name=_target(options),
        ordinal=options.ordinal,
        positive_above=options.positive_above,
        labels=options.loss == "logistic",
    )
    if options.positive_above is not None and not choice.labels:
        raise BadInput(
            "--positive-above makes labels of the target, which only the logistic loss uses",
            remedy="add --loss logistic, or leave it out",
            value=options.positive_above,
        )
    plan = Plan(choice, _partition(options), options.features, options.public_rows)
    table = _synthetic(options, seed) if options.data is None else open_table(options.data)
    public = None if options.public is None else open_table(options.public)
    # Generated loans come oldest first; ten banks lend side by side, not one after another.
    shuffled = options.shuffle or options.data is None
    return take_in(table, plan, public=public, order=_order(table, seed) if shuffled else None, tell=tell)


def make_wishes(options: TrainOptions, intake: Intake, seed: int) -> Wishes:
    """The user's options about privacy and learning, for the owners there are."""
    names = [owner.name for owner in intake.owners]
    if options.epsilons is None:
        epsilons = [_epsilon(options)] * len(names)
    else:
        epsilons = read_values(options.epsilons, names, "epsilon")
    return Wishes(
        guarantees=tuple(Guarantee.of(epsilon, options.delta) for epsilon in epsilons),
        seed=seed,
        loss=options.loss,
        threshold=options.huber_threshold,
        horizon=options.horizon,
        step=options.step,
        rho=options.rho,
        clip=options.clip,
        answers=options.answers,
        central=CentralStep(options.central),
        regularization=options.regularization,
        limit=options.box,
        rates=None if options.rates is None else _rates(options.rates, names),
        accountant=options.accountant,
        trace=None if options.schedule is None else _trace(options.schedule),
    )


def ledger_maker(folder: Path, noise: Noise) -> MakeLedger:
    """Ledgers on disk for records, in memory for a simulation."""
    count = 0

    def make_ledger(owner: str, promise: Promise) -> Ledger:
        nonlocal count
        count += 1
        if noise != "secure":
            return MemoryLedger(promise.calibration.budget)
        return SqliteLedger.create(run_folder.ledger_path(folder, count, owner), owner, promise.calibration.budget)

    return make_ledger


def allow_open_files(wanted: int) -> None:
    """Every ledger stays open during a run; ask the system for as many files, or say that there are too many owners."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if soft >= needed or soft == resource.RLIM_INFINITY:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise BadInput(
            f"{wanted // _FILES_PER_LEDGER} ledgers need {needed} open files, and this machine allows {hard}",
            remedy="raise the limit (ulimit -n), or take fewer owners",
            value=hard,
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _train(consortium: Consortium, study: Study, console: Console) -> tuple[Watch, FloatArray]:
    watch = Watch(len(study.trace))
    model = study.rule.model(study.rule.begin())
    with bar(console, "training, meeting by meeting") as tell:
        for iteration in run(consortium, study, f"{secure().getrandbits(64):016x}"):
            watch.see(iteration)
            model = study.rule.model(iteration.state)
            tell(iteration.number, len(study.trace))
    return watch, model


def _check_guarantee(options: TrainOptions) -> None:
    """Catch a bad promise before a large table is read."""
    if options.epsilon is not None and options.epsilons is not None:
        raise BadInput("--epsilon and --epsilons are both given", remedy="give one of them", value=options.epsilon)
    Guarantee.of(_epsilon(options), options.delta)


def _epsilon(options: TrainOptions) -> str:
    return "1" if options.epsilon is None else options.epsilon


def _target(options: TrainOptions) -> str:
    if options.data is None:
        return options.target or {"lending": "int_rate", "hospital": "Length of Stay"}[options.synthetic]
    if options.target is None:
        raise BadInput("--data without --target", remedy="say which column to predict: --target COLUMN")
    return options.target


def _partition(options: TrainOptions) -> Partition:
    owners = options.owners
    if options.data is None and owners is None and options.owner_column is None:
        owners = _SYNTHETIC_OWNERS
    per_owner = options.records_per_owner
    if options.data is None and options.owner_column is None and per_owner is None:
        per_owner = _SYNTHETIC_RECORDS
    return Partition(options.owner_column, owners, per_owner, options.min_records)


def _synthetic(options: TrainOptions, seed: int) -> pl.LazyFrame:
    """As many generated rows as the owners and the public need."""
    partition = _partition(options)
    private = (partition.owners or _SYNTHETIC_OWNERS) * (partition.records_per_owner or _SYNTHETIC_RECORDS)
    make = lending_like.generate if options.synthetic == "lending" else hospital_like.generate
    return make(private + (0 if options.public else options.public_rows), seeded(seed, "records")).lazy()


def _order(table: pl.LazyFrame, seed: int) -> IntArray:
    return np.asarray(seeded(seed, "shuffle").permutation(count_rows(table)), dtype=np.int64)


def _rates(path: Path, names: list[str]) -> tuple[float, ...]:
    rates = []
    for value in read_values(path, names, "rate"):
        try:
            rates.append(float(value))
        except ValueError as problem:
            raise BadInput(f"a rate of {value!r}", remedy="give numbers greater than 0", value=value) from problem
    return tuple(rates)


def _trace(path: Path) -> Trace:
    if not path.is_file():
        raise BadInput(f"there is no schedule {path}", remedy="give the schedule.json of a run folder", value=str(path))
    return Trace.from_json(path.read_bytes())


def _default_folder() -> Path:
    return Path("runs") / datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
