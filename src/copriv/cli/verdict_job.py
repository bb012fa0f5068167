"""What `copriv verdict` does: read both tables, judge, tell. Nothing is written, sent or spent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import typer
from rich.console import Console

from copriv.cli.progress import bar
from copriv.cli.public_file import open_public
from copriv.errors import BadInput, BadTable
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.planning.advice import Advice, Adviser
from copriv.planning.break_even import BreakEven, break_even
from copriv.planning.training_spec import TrainingSpec
from copriv.planning.tuning import choose_limit, public_model
from copriv.privacy.guarantee import ADJACENCY, UNIT, Guarantee
from copriv.records.dictionary import Dictionary
from copriv.records.load import take_public
from copriv.records.load_owner import load_owner
from copriv.records.table import open_table
from copriv.records.target import TargetChoice
from copriv.report.advice import explain

_OWNERS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictOptions:
    """The options of `copriv verdict`, as given."""

    data: Path
    public: Path
    target: str
    owners: int | None
    others: str | None
    epsilon: str
    delta: float
    ordinal: bool
    positive_above: float | None
    features: int
    loss: str
    regularization: float


class Told(msgspec.Struct):
    """The verdict as it is shown. Not private: it stays at home."""

    verdict: str
    alone: float
    alone_standard_error: float
    joint: float
    interval: tuple[float, float]
    ratio_interval: tuple[float, float]
    public: float
    break_even_epsilon: float | None
    break_even_epsilon_interval: tuple[float | None, float | None]
    break_even_owners: int | None
    break_even_owners_interval: tuple[int | None, int | None]
    owners: int
    records: int
    others: tuple[int, ...]
    epsilon: float
    delta: float
    unit: str
    adjacency: str
    words: str


def run_verdict(options: VerdictOptions, *, as_json: bool) -> None:
    """Judge at home, before joining."""
    guarantee, console = Guarantee.of(options.epsilon, options.delta), Console(stderr=True)
    sizes = _others(options)
    dictionary, public = _read_public(options)
    with bar(console, "reading your records") as tell:
        own = load_owner(open_table(options.data), dictionary, tell=tell).sample
    judged = own.usable()
    others = sizes or (judged.records,) * ((options.owners or _OWNERS) - 1)
    with console.status("judging on the public rows"):
        adviser = Adviser.of(public, _objective(options, public))
        model = adviser.yardstick.look_at(judged)
        found = adviser.judge(model, others, guarantee)
        turning = break_even(adviser, model, others, guarantee)
    _show(_tell(found, turning, guarantee, own.records, others), as_json=as_json)


def _others(options: VerdictOptions) -> tuple[int, ...]:
    """The sizes of the others, if they are told."""
    if options.owners is not None and options.owners < 2:
        raise BadInput(
            f"--owners is {options.owners}", remedy="say how many there would be, two at least", value=options.owners
        )
    if options.others is None:
        return ()
    parts = [part.strip().replace("_", "") for part in options.others.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise BadInput(
            f"--others is {options.others!r}",
            remedy="give the number of records of each other owner, separated by commas: --others 5000,12000",
            value=options.others,
        )
    if options.owners not in {None, len(parts) + 1}:
        raise BadInput(
            f"--others names {len(parts)} owners besides you, and --owners is {options.owners}",
            remedy="leave --owners out, or name all the others",
            value=options.owners,
        )
    return tuple(int(part) for part in parts)


def _objective(options: VerdictOptions, public: Sample) -> Objective:
    """With the box that a study of these public rows has."""
    threshold = TrainingSpec(guarantees=(), seed=0).threshold
    loss = choose(options.loss, threshold if options.loss == "huber" else 0.0)
    limit = choose_limit(public_model(loss, options.regularization, public))
    return Objective(loss, options.regularization, limit)


def _tell(found: Advice, turning: BreakEven, guarantee: Guarantee, records: int, others: tuple[int, ...]) -> Told:
    owners = len(others) + 1
    return Told(
        verdict=found.advice,
        alone=found.alone.psi,
        alone_standard_error=found.alone.standard_error,
        joint=found.joint.relative_fitness,
        interval=found.interval,
        ratio_interval=found.ratio,
        public=found.alone.public,
        break_even_epsilon=turning.epsilon.expected,
        break_even_epsilon_interval=(turning.epsilon.perhaps, turning.epsilon.certain),
        break_even_owners=_whole(turning.owners.expected),
        break_even_owners_interval=(_whole(turning.owners.perhaps), _whole(turning.owners.certain)),
        owners=owners,
        records=records,
        others=others,
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        unit=UNIT,
        adjacency=ADJACENCY,
        words=explain(found, turning, guarantee, owners),
    )


def _whole(owners: float | None) -> int | None:
    return None if owners is None else int(owners)


def _read_public(options: VerdictOptions) -> tuple[Dictionary, Sample]:
    choice = TargetChoice(options.target, options.ordinal, options.positive_above, options.loss == "logistic")
    dictionary, rows, _ = take_public(open_public(options.public), choice, options.features)
    public = rows.usable()
    if public.records <= dictionary.parameters:
        raise BadTable(
            f"{public.records} public rows with a target for {dictionary.parameters} parameters",
            remedy="give more public rows, or fewer --features",
            value=public.records,
        )
    return dictionary, public


def _show(told: Told, *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(told).decode())
        return
    typer.echo(told.words)
    typer.echo(
        f"  your own model      ψ = {told.alone:.2e} ± {told.alone_standard_error:.1e} on all records, estimated"
    )
    typer.echo(f"  the joint model     ψ = {told.joint:.2e} foreseen, {told.interval[0]:.1e} to {told.interval[1]:.1e}")
    typer.echo(
        f"  joint over own      {told.ratio_interval[0]:.2g} to {told.ratio_interval[1]:.2g}: joining pays below 1"
    )
    typer.echo(f"  the public model    ψ = {told.public:.2e} expected")
    typer.echo(
        f"  unit: one {told.unit}; adjacency: {told.adjacency}. Your figures stay at home: they are not private."
    )
