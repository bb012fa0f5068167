"""A forecast as it is told: one object, and a small table of it and of what would be if."""

from __future__ import annotations

import html
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from copriv.planning.expected_quality import ExpectedQuality
from copriv.privacy.guarantee import ADJACENCY, UNIT
from copriv.protocol.text import quoted
from copriv.report.quality_lines import baseline, cells, headings
from copriv.report.sentence import many
from copriv.report.warning import note

AXES = {"epsilon": "ε of every owner", "owners": "owners N", "records": "records of every owner"}
_MARKS = {"join": "●", "stay": "·", "use the public model": "○", "too close to call": "?"}
_VERDICTS = {
    "join": "Join: the joint model should beat what an owner reaches alone, and the public model.",
    "stay": "Stay: an owner's own model should beat the joint one. Spend nothing.",
    "use the public model": "Use the public model, spend nothing: the joint one should not beat it.",
    "too close to call": "Too close to call: what needs nobody lies within the interval. In doubt, spend nothing.",
}
_PSI = "ψ: distance from the best model in these features"


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
    quality: ExpectedQuality | None = None


def show(told: ForecastTold, console: Console) -> None:
    """Print the forecast, what it rests on, and the table of what was varied."""
    table = Table(title=Text(f"forecast for {quoted(told.target)}; {_PSI}"), title_justify="left")
    for place, heading in enumerate(_headings(told)):
        table.add_column(heading, justify="right" if 0 < place <= len(_headings(told)) - 2 else "left")
    for row in _rows(told):
        table.add_row(*row)
    console.print(table)
    if told.quality is not None and told.quality.warning is not None:
        console.print(f"note: {told.quality.warning}", style="bold", highlight=False)
    step = "" if told.step is None else f", step {told.step:.3g}"
    console.print(
        f"rule {told.rule}: at most {many(told.answers_per_owner, 'answer')} an owner{step}, clip {told.clip:.3g}, "
        f"{told.mechanism} noise; ε = {_range(told.epsilon)}, δ = {told.delta:g} for one {told.unit} ({told.adjacency})"
    )
    console.print(how_far(told), highlight=False)
    for caveat in told.caveats:
        note(caveat, console)
    if told.varied is not None:
        console.print(_where_joining_pays(told) if told.varied == "join" else _varied(told))
    console.print(what_to_do(told), style="bold")
    for file in told.files:
        console.print(file, style="dim", highlight=False, markup=False)


def what_to_do(told: ForecastTold) -> str:
    """The verdict in a sentence."""
    return sentence_of(told.verdict, told.owners)


def sentence_of(verdict: str, owners: int) -> str:
    """The same for so many owners. The own model of a single one is the best there is: it has nothing to join."""
    if owners == 1:
        return "With a single owner there is nobody to learn from: ψ is what privacy costs it against its own model."
    return _VERDICTS[verdict]


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
    shown = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in _rows(told))
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading in _headings(told))
    about = f"rule {told.rule}, {told.mechanism} noise, ε = {_range(told.epsilon)}, δ = {told.delta:g}"
    warned = "" if told.quality is None or told.quality.warning is None else f" Note: {told.quality.warning}."
    words = f"{_PSI}. {about} for one {told.unit} ({told.adjacency}). {how_far(told)}.{warned} {what_to_do(told)}"
    return f"<table><tr>{head}</tr>{shown}</table><p>{html.escape(words)}</p>"


def _headings(told: ForecastTold) -> tuple[str, ...]:
    figures = () if told.quality is None else headings(told.quality.public)
    return ("model", *figures, "expected ψ", "")


def _rows(told: ForecastTold) -> list[tuple[str, ...]]:
    """One row a model: figures people know, ψ, and what it rests on."""
    (low, high), own = told.interval, f"predicted; {told.records // told.owners:,} records on average"
    rows: list[tuple[str, str, str]] = [
        ("joint, private", _number(told.relative_fitness), f"predicted; ψ 95 %: {_number(low)} to {_number(high)}"),
        ("alone, median owner", _number(told.alone), own),
        ("public rows only", _number(told.public.relative_fitness), f"cross-validated; {told.public.rows:,} rows"),
    ]
    quality, figures = told.quality, list[tuple[str, ...]]([()] * 3)
    if quality is not None:
        figures = [cells(each) for each in (quality.joint, quality.alone, quality.public)]
    found = [(name, *here, psi, said) for (name, psi, said), here in zip(rows, figures, strict=True)]
    if told.elsewhere is not None:
        blank = tuple("" for _ in figures[0])
        shifted = f"ψ 95 %: up to {_number(told.elsewhere[1])}"
        found.insert(1, ("if public rows come from elsewhere", *blank, "", shifted))
    if quality is not None:
        name, same = baseline(quality.public)
        found.append((name, *same, "", ""))
    return found


def _range(epsilon: float | tuple[float, float]) -> str:
    return f"{epsilon[0]:g} to {epsilon[1]:g}" if isinstance(epsilon, tuple) else f"{epsilon:g}"


def _times(ratio: float) -> str:
    """Two digits after the point, from 100 on none, and of millions the size."""
    digits = ".2f" if ratio < 100 else ",.0f" if ratio < 1e6 else ".1e"
    return f"{ratio:{digits}} times"


def _number(value: float) -> str:
    return "0" if value == 0 else f"{value:.2e}" if value < 0.001 else f"{value:.4f}"
