"""A forecast as it is told: one object, a small table, and a picture of what would be if."""

from __future__ import annotations

import csv
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from copriv.privacy.guarantee import ADJACENCY, UNIT

_BLUE, _ORANGE = "#0072B2", "#D55E00"
_AXES = {"epsilon": "ε of every owner", "owners": "owners N", "records": "records of every owner"}
_VERDICTS = {
    "join": "Join: the joint model should beat what an owner reaches alone.",
    "stay": "Stay: an owner's own model should beat the joint one.",
    "too close to call": "Too close to call: what an owner reaches alone lies within the interval.",
}


class PublicTold(msgspec.Struct):
    """The public rows, and the ψ to be expected of their own model."""

    rows: int
    relative_fitness: float


class Varying(msgspec.Struct):
    """The forecast for one value of what is varied."""

    value: float
    relative_fitness: float
    interval: tuple[float, float]
    alone: float
    verdict: str
    rule: str


class ForecastTold(msgspec.Struct):
    """Everything that `copriv forecast` says."""

    relative_fitness: float
    interval: tuple[float, float]
    alone: float
    verdict: str
    rule: str
    answers_per_owner: int
    step: float | None
    mechanism: str
    clip: float
    horizon: int
    owners: int
    records: int
    epsilon: float
    delta: float
    public: PublicTold
    heterogeneity: float
    target: str
    caveats: list[str]
    notices: list[str]
    unit: str = UNIT
    adjacency: str = ADJACENCY
    varied: str | None = None
    table: list[Varying] = []
    files: list[str] = []
    seconds: float = 0.0


def show(told: ForecastTold, console: Console) -> None:
    """Print the forecast, what it rests on, and the table of what was varied."""
    table = Table(title=f"forecast for {told.target!r}: how far from the best possible model", title_justify="left")
    table.add_column("model")
    table.add_column("expected ψ", justify="right")
    table.add_column("")
    low, high = told.interval
    table.add_row("joint, private", _number(told.relative_fitness), f"95 %: {_number(low)} to {_number(high)}")
    table.add_row("alone, median owner", _number(told.alone), f"{told.records // told.owners:,} records on average")
    table.add_row("public rows only", _number(told.public.relative_fitness), f"{told.public.rows:,} rows")
    console.print(table)
    step = "" if told.step is None else f", step {told.step:.3g}"
    console.print(
        f"rule {told.rule}: at most {told.answers_per_owner} answers an owner{step}, clip {told.clip:.3g}, "
        f"{told.mechanism} noise; ε = {told.epsilon:g}, δ = {told.delta:g} for one {told.unit} ({told.adjacency})"
    )
    for caveat in told.caveats:
        console.print(f"note: {caveat}", style="dim", highlight=False)
    if told.varied is not None:
        console.print(_varied(told))
    console.print(_VERDICTS[told.verdict], style="bold")
    for file in told.files:
        console.print(file, style="dim", highlight=False)


def _varied(told: ForecastTold) -> Table:
    table = Table(title=f"varying {_AXES[told.varied or 'epsilon']}", title_justify="left")
    for heading in ("value", "expected ψ", "95 % interval", "alone", "rule", "verdict"):
        table.add_column(heading, justify="right")
    for row in told.table:
        interval = f"{_number(row.interval[0])} to {_number(row.interval[1])}"
        figures = (_number(row.relative_fitness), interval, _number(row.alone))
        table.add_row(f"{row.value:g}", *figures, row.rule, row.verdict)
    return table


def draw(told: ForecastTold, folder: Path) -> list[Path]:
    """Write forecast_NAME.csv, .png and .svg of what was varied."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    name = f"forecast_{told.varied}"
    values = [row.value for row in told.table]
    with plt.rc_context(
        {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "copriv"}
    ):
        figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
        low, high = ([row.interval[end] for row in told.table] for end in (0, 1))
        axes.fill_between(values, low, high, color=_BLUE, alpha=0.15, label="95 % of trainings")
        axes.loglog(values, [row.relative_fitness for row in told.table], color=_BLUE, label="together, expected")
        axes.loglog(values, [row.alone for row in told.table], "--", color=_ORANGE, label="alone, expected")
        axes.set_xlabel(_AXES[told.varied or "epsilon"])
        axes.set_ylabel("relative fitness ψ")
        axes.set_title(
            f"forecast from {told.public.rows:,} public rows, per {told.unit} ({told.adjacency})", fontsize=10
        )
        axes.grid(visible=True, alpha=0.25)
        axes.legend(frameon=False)
        paths = [folder / f"{name}.{kind}" for kind in ("png", "svg")]
        for path in paths:
            figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)
    return [_write(told, folder / f"{name}.csv"), *paths]


def _write(told: ForecastTold, path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([told.varied, "relative_fitness", "low", "high", "alone", "rule", "verdict"])
        for row in told.table:
            writer.writerow([row.value, row.relative_fitness, *row.interval, row.alone, row.rule, row.verdict])
    return path


def _number(value: float) -> str:
    return f"{value:.2e}" if value < 0.001 else f"{value:.4f}"
