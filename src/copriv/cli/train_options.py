"""What the options of `copriv train` mean: records, wishes, guarantees. Nothing is written or spent here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import polars as pl

from copriv.cli.progress import Tell
from copriv.cli.values import read_values
from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.planning.training_spec import RuleChoice, TrainingSpec
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.study_file import read_study
from copriv.records import hospital_like, lending_like
from copriv.records.dictionary import Dictionary
from copriv.records.load import Intake, LoadSpec, load_consortium
from copriv.records.partition import Partition
from copriv.records.table import count_rows, open_table
from copriv.records.target import TargetChoice
from copriv.report.model_file import read_model
from copriv.rules.paper import CentralStep
from copriv.schedule.trace import Trace
from copriv.vectors import IntArray

_SYNTHETIC_OWNERS = 10
_SYNTHETIC_RECORDS = 10_000


class TrainOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `copriv train`, as given."""

    data: Path | None
    target: str | None
    public: Path | None
    public_rows: int
    shuffle: bool
    ordinal: bool
    positive_above: float | None
    dictionary: Path | None
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
    rule: RuleChoice
    horizon: int
    step: float | None
    rho: float | None
    central: str
    regularization: float
    box: float | None
    schedule: Path | None
    seed: int | None
    out: Path | None
    ledgers: Path | None
    as_json: bool
    study: Path | None = None
    budget: str | None = None
    version_of: Path | None = None
    unrelated: bool = False


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
    plan = LoadSpec(choice, _partition(options), options.features, options.public_rows)
    notes: list[str] = []
    table = (
        _synthetic(options, seed) if options.data is None else open_table(options.data, tell=tell, note=notes.append)
    )
    public = None if options.public is None else open_table(options.public)
    # Generated loans come oldest first; ten banks lend side by side, not one after another.
    shuffled = options.shuffle or options.data is None
    agreed = None if options.dictionary is None else read_dictionary(options.dictionary)
    order = shuffled_rows(count_rows(table), seed) if shuffled else None
    intake = load_consortium(table, plan, public=public, order=order, dictionary=agreed, tell=tell)
    return replace(intake, notices=(*notes, *intake.notices))


def make_wishes(options: TrainOptions, intake: Intake, seed: int) -> TrainingSpec:
    """The user's options about privacy and learning, for the owners there are."""
    names = [owner.name for owner in intake.owners]
    if options.epsilons is None:
        epsilons = [_epsilon(options)] * len(names)
    else:
        epsilons = read_values(options.epsilons, names, "epsilon")
    return TrainingSpec(
        rule=_rule(options),
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
        trace=None if options.schedule is None else read_trace(options.schedule),
    )


def _rule(options: TrainOptions) -> RuleChoice:
    """Whoever gives the paper's step means the paper's rule."""
    if options.rule == "auto" and (options.step or options.rho or options.central != "proof"):
        return "paper"
    return options.rule


def read_dictionary(path: Path) -> Dictionary:
    """The dictionary of a study file or of a model."""
    if not path.is_file():
        raise BadInput(f"there is no file {path}", remedy="give a study.toml or a model.json", value=str(path))
    if path.suffix == ".toml":
        return Dictionary.from_study(read_study(path.read_text(encoding="utf-8")).dictionary)
    return read_model(path).dictionary


def check_guarantee(options: TrainOptions) -> None:
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


def shuffled_rows(rows: int, seed: int) -> IntArray:
    """The rows in the order that a seed gives them."""
    return np.asarray(seeded(seed, "shuffle").permutation(rows), dtype=np.int64)


def _rates(path: Path, names: list[str]) -> tuple[float, ...]:
    rates = []
    for value in read_values(path, names, "rate"):
        try:
            rates.append(float(value))
        except ValueError as problem:
            raise BadInput(f"a rate of {value!r}", remedy="give numbers greater than 0", value=value) from problem
    return tuple(rates)


def read_trace(path: Path) -> Trace:
    """A recorded schedule."""
    if not path.is_file():
        raise BadInput(f"there is no schedule {path}", remedy="give the schedule.json of a run folder", value=str(path))
    return Trace.from_json(path.read_bytes())
