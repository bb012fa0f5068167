"""A forecast as it is told: one object, and a small table of it and of what would be if."""

from __future__ import annotations

import html
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from copriv.privacy.guarantee import ADJACENCY, UNIT
from copriv.report.sentence import many

AXES = {"epsilon": "ε of every owner", "owners": "owners N", "records": "records of every owner"}
_MARKS = {"join": "●", "stay": "·", "too close to call": "?"}
_VERDICTS = {
    "join": "Join: the joint model should beat what an owner reaches alone.",
    "stay": "Stay: an owner's own model should beat the joint one.",
    "too close to call": "Too close to call: what an owner reaches alone lies within the interval.",
}


class PublicTold(msgspec.Struct):
    """The public rows, and the ψ to be expected of their own model."""

    rows: int
    relative_fitness: float


class LimitsTold(msgspec.Struct):
    """How far from the limit: ψ of each limit, and how many times the first two the forecast is.

    `information` is over the population, and so on new records; `binding` says for how many owners it is their promise
    and not the size of their table that sets it.
    """

    best_noise: float
    times_best_noise: float
    one_noise: float
    times_one_noise: float
    information: float
    binding: int
    noise: str
    body: str
    clip: float


class Varying(msgspec.Struct):
    """The forecast for one value of what is varied (with `join`, of ε).

    Owners that differ keep their pattern: `value` is then the largest ε, or the records of the median owner.
    """

    value: float
    owners: int
    records: int
    epsilon: float | tuple[float, float]
    relative_fitness: float
    interval: tuple[float, float]
    alone: float
    public: float
    verdict: str
    rule: str


class ForecastTold(msgspec.Struct):
    """Everything that `copriv forecast` says."""

    relative_fitness: float
    interval: tuple[float, float]
    standard_error: float
    alone: float
    verdict: str
    rule: str
    answers_per_owner: int
    step: float | None
    mechanism: str
    clip: float
    horizon: int
    box: float
    owners: int
    records: int
    epsilon: float | tuple[float, float]
    delta: float
    loss: str
    public: PublicTold
    limits: LimitsTold
    heterogeneity: float
    target: str
    seed: int
    caveats: list[str]
    notices: list[str]
    unit: str = UNIT
    adjacency: str = ADJACENCY
    varied: str | None = None
    table: list[Varying] = []
    files: list[str] = []
    elsewhere: tuple[float, float] | None = None


def show(told: ForecastTold, console: Console) -> None:
    """Print the forecast, what it rests on, and the table of what was varied."""
    table = Table(title=f"forecast for {told.target!r}: how far from the best possible model", title_justify="left")
    table.add_column("model")
    table.add_column("expected ψ", justify="right")
    table.add_column("")
    low, high = told.interval
    table.add_row("joint, private", _number(told.relative_fitness), f"95 %: {_number(low)} to {_number(high)}")
    if told.elsewhere is not None:
        table.add_row("if public rows come from elsewhere", "", f"95 %: up to {_number(told.elsewhere[1])}")
    table.add_row("alone, median owner", _number(told.alone), f"{told.records // told.owners:,} records on average")
    table.add_row("public rows only", _number(told.public.relative_fitness), f"{told.public.rows:,} rows")
    console.print(table)
    step = "" if told.step is None else f", step {told.step:.3g}"
    console.print(
        f"rule {told.rule}: at most {many(told.answers_per_owner, 'answer')} an owner{step}, clip {told.clip:.3g}, "
        f"{told.mechanism} noise; ε = {_range(told.epsilon)}, δ = {told.delta:g} for one {told.unit} ({told.adjacency})"
    )
    console.print(how_far(told), highlight=False)
    for caveat in told.caveats:
        console.print(f"note: {caveat}", style="dim", highlight=False)
    if told.varied is not None:
        console.print(_where_joining_pays(told) if told.varied == "join" else _varied(told))
    console.print(what_to_do(told), style="bold")
    for file in told.files:
        console.print(file, style="dim", highlight=False)


def what_to_do(told: ForecastTold) -> str:
    """The verdict in a sentence. The own model of a single owner is the best one there is: it has nothing to join."""
    if told.owners == 1:
        return "With a single owner there is nobody to learn from: ψ is what privacy costs it against its own model."
    return _VERDICTS[told.verdict]


def how_far(told: ForecastTold) -> str:
    """How far the forecast is from the limits, in one sentence."""
    limits = told.limits
    ratios = f"{_times(limits.times_best_noise)} the best noise, {_times(limits.times_one_noise)} one noise for all"
    if limits.binding == 0:
        return f"{ratios}; the information limit does not bind"
    whose = "" if limits.binding == told.owners else f" for {limits.binding} of {told.owners} owners"
    method = "no method" if told.delta == 0 else "no method that keeps the same ρ"
    least = f"on new records {method} can be expected below ψ = {_number(limits.information)}"
    return f"{ratios}; the information limit binds{whose}: {least}"


def write(told: ForecastTold, folder: Path) -> None:
    """Draw what was varied into a folder, and note the files."""
    from copriv.report.what_if import draw

    folder.mkdir(parents=True, exist_ok=True)
    told.files = [str(path) for path in draw(told, folder)]


def _varied(told: ForecastTold) -> Table:
    table = Table(title=f"varying {AXES[told.varied or 'epsilon']}", title_justify="left")
    for heading in ("value", "expected ψ", "95 % interval", "alone", "rule", "verdict"):
        table.add_column(heading, justify="right")
    for row in told.table:
        interval = f"{_number(row.interval[0])} to {_number(row.interval[1])}"
        figures = (_number(row.relative_fitness), interval, _number(row.alone))
        table.add_row(f"{row.value:g}", *figures, row.rule, row.verdict)
    return table


def _where_joining_pays(told: ForecastTold) -> Table:
    """One row a number of owners, one column an ε."""
    key = ", ".join(f"{mark} {verdict}" for verdict, mark in _MARKS.items())
    title = f"N owners of {told.table[0].records:,} records, over ε: {key}"
    table = Table(title=title, title_justify="left")
    table.add_column("N", justify="right")
    for epsilon in sorted({row.value for row in told.table}):
        table.add_column(f"{epsilon:g}", justify="center")
    for owners in sorted({row.owners for row in told.table}):
        rows = sorted((row for row in told.table if row.owners == owners), key=lambda row: row.value)
        table.add_row(str(owners), *(_MARKS[row.verdict] for row in rows))
    return table


def as_html(told: ForecastTold) -> str:
    """The forecast in a notebook: one small table."""
    low, high = told.interval
    shifted = [] if told.elsewhere is None else [told.elsewhere]
    rows = (
        ("joint, private", _number(told.relative_fitness), f"95 %: {_number(low)} to {_number(high)}"),
        *(("if public rows come from elsewhere", "", f"95 %: up to {_number(most)}") for _, most in shifted),
        ("alone, median owner", _number(told.alone), ""),
        ("public rows only", _number(told.public.relative_fitness), f"{told.public.rows:,} rows"),
    )
    cells = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    about = f"rule {told.rule}, {told.mechanism} noise, ε = {_range(told.epsilon)}, δ = {told.delta:g}"
    words = f"{about} for one {told.unit} ({told.adjacency}). {how_far(told)}. {what_to_do(told)}"
    return f"<table><tr><th>model</th><th>expected ψ</th><th></th></tr>{cells}</table><p>{html.escape(words)}</p>"


def _range(epsilon: float | tuple[float, float]) -> str:
    return f"{epsilon[0]:g} to {epsilon[1]:g}" if isinstance(epsilon, tuple) else f"{epsilon:g}"


def _times(ratio: float) -> str:
    """Two digits after the point, from 100 on none, and of millions the size."""
    digits = ".2f" if ratio < 100 else ",.0f" if ratio < 1e6 else ".1e"
    return f"{ratio:{digits}} times"


def _number(value: float) -> str:
    return "0" if value == 0 else f"{value:.2e}" if value < 0.001 else f"{value:.4f}"
