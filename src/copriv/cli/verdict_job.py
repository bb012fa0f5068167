"""What `copriv verdict` does: read both tables, judge, tell. Nothing is written, sent or spent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import typer
from rich.console import Console

from copriv.cli.progress import bar
from copriv.errors import BadInput, BadTable
from copriv.losses.sample import Sample
from copriv.privacy.guarantee import ADJACENCY, UNIT, Guarantee
from copriv.records.dictionary import Dictionary
from copriv.records.intake import take_public
from copriv.records.own import take_own
from copriv.records.table import open_table
from copriv.records.target import TargetChoice
from copriv.simulation.verdict import break_even, explain, judge
from copriv.simulation.wishes import Wishes


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictOptions:
    """The options of `copriv verdict`, as given."""

    data: Path
    public: Path
    target: str
    owners: int
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
    break_even_epsilon: float | None
    break_even_owners: int | None
    owners: int
    records: int
    epsilon: float
    delta: float
    unit: str
    adjacency: str
    words: str


def run_verdict(options: VerdictOptions, *, as_json: bool) -> None:
    """Judge at home, before joining."""
    guarantee, console = Guarantee.of(options.epsilon, options.delta), Console(stderr=True)
    if options.owners < 2:
        raise BadInput(
            f"--owners is {options.owners}", remedy="say how many there would be, two at least", value=options.owners
        )
    dictionary, public = _read_public(options)
    with bar(console, "reading your records") as tell:
        own = take_own(open_table(options.data), dictionary, tell=tell).sample
    wishes = Wishes(
        guarantees=(guarantee,) * options.owners, seed=0, loss=options.loss, regularization=options.regularization
    )
    with bar(console, "judging on the public rows") as tell:
        found = judge(dictionary, public, own, wishes)
        turning = break_even(dictionary, public, own, wishes, found.alone, tell=tell)
    told = Told(
        verdict=found.advice,
        alone=found.alone.psi,
        alone_standard_error=found.alone.standard_error,
        joint=found.joint,
        interval=found.interval,
        break_even_epsilon=turning.epsilon,
        break_even_owners=turning.owners,
        owners=options.owners,
        records=own.records,
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        unit=UNIT,
        adjacency=ADJACENCY,
        words=explain(found, turning, guarantee, options.owners),
    )
    _show(told, as_json=as_json)


def _read_public(options: VerdictOptions) -> tuple[Dictionary, Sample]:
    choice = TargetChoice(options.target, options.ordinal, options.positive_above, options.loss == "logistic")
    dictionary, public, _ = take_public(open_table(options.public), choice, options.features)
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
    typer.echo(f"  your own model      ψ = {told.alone:.2e} ± {told.alone_standard_error:.1e} on the public rows")
    typer.echo(f"  the joint model     ψ = {told.joint:.2e} foreseen, {told.interval[0]:.1e} to {told.interval[1]:.1e}")
    typer.echo(
        f"  unit: one {told.unit}; adjacency: {told.adjacency}. Your figures stay at home: they are not private."
    )
