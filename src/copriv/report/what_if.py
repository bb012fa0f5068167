"""Pictures of what would be if: the paper's Figs. a1, a3 and a4, forecast instead of simulated.

ψ against ε (a1), against the number of owners or their records (a3), with what an owner reaches alone and what the
public rows give by themselves; and the region of N and ε in which joining pays (a4).
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from copriv.report.forecast_report import AXES, ForecastTold

# Okabe and Ito's palette, distinguishable with any colour vision.
_BLUE, _ORANGE, _GREEN = "#0072B2", "#D55E00", "#009E73"
# Advice, what it is called, and its mark: shapes that differ on any ground, the white one of the legend included.
_MARKS = (
    ("join", "joining pays", "o", "black", "white"),
    ("too close to call", "too close to call", "D", "white", "black"),
)


def draw(told: ForecastTold, folder: Path) -> list[Path]:
    """Write forecast_NAME.csv, .png and .svg of what was varied."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    name = f"forecast_{told.varied}"
    with plt.rc_context(
        {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "copriv"}
    ):
        figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
        if told.varied == "join":
            _draw_region(told, figure, axes)
        else:
            _draw_lines(told, axes)
        axes.set_title(
            f"forecast from {told.public.rows:,} public rows, per {told.unit} ({told.adjacency})", fontsize=10
        )
        paths = [folder / f"{name}.{kind}" for kind in ("png", "svg")]
        for path in paths:
            figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)
    return [_write(told, folder / f"{name}.csv"), *paths]


def _draw_lines(told: ForecastTold, axes: Any) -> None:  # noqa: ANN401
    """ψ of the joint model with its interval, alone and of the public rows."""
    values = [row.value for row in told.table]
    low, high = ([row.interval[end] for row in told.table] for end in (0, 1))
    axes.fill_between(values, low, high, color=_BLUE, alpha=0.15, label="95 % of trainings")
    axes.loglog(values, [row.relative_fitness for row in told.table], color=_BLUE, label="together, expected")
    # A single owner's own model is the best one: ψ = 0 has no place on a logarithmic axis.
    if all(row.alone > 0 for row in told.table):
        axes.loglog(values, [row.alone for row in told.table], "--", color=_ORANGE, label="alone, expected")
    axes.loglog(values, [row.public for row in told.table], ":", color=_GREEN, label="public rows only")
    axes.set_xlabel(AXES[told.varied or "epsilon"])
    axes.set_ylabel("relative fitness ψ")
    axes.grid(visible=True, alpha=0.25)
    axes.legend(frameon=False)


def _draw_region(told: ForecastTold, figure: Any, axes: Any) -> None:  # noqa: ANN401
    """Colours for log ψ, a dot where joining pays, a diamond where it is too close to call."""
    counts, epsilons = (sorted({getattr(row, name) for row in told.table}) for name in ("owners", "value"))
    psi = np.empty((len(counts), len(epsilons)))
    for row in told.table:
        psi[counts.index(row.owners), epsilons.index(row.value)] = row.relative_fitness
    image = axes.pcolormesh(np.arange(len(epsilons) + 1), np.arange(len(counts) + 1), np.log10(psi), cmap="cividis")
    figure.colorbar(image, ax=axes, label="log$_{10}$ E ψ")
    for verdict, words, marker, face, edge in _MARKS:
        chosen = [row for row in told.table if row.verdict == verdict]
        places = [(epsilons.index(row.value) + 0.5, counts.index(row.owners) + 0.5) for row in chosen]
        if places:
            axes.scatter(*zip(*places, strict=True), s=30, marker=marker, facecolors=face, edgecolors=edge, label=words)
    axes.set_xticks(np.arange(len(epsilons)) + 0.5, [f"{e:g}" for e in epsilons], fontsize=8)
    axes.set_yticks(np.arange(len(counts)) + 0.5, counts)
    axes.set_xlabel(AXES["epsilon"])
    axes.set_ylabel(f"{AXES['owners']}, of {told.table[0].records:,} records each")
    if axes.collections[1:]:
        figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)


def _write(told: ForecastTold, path: Path) -> Path:
    names = ("owners", "records", "epsilon", "relative_fitness", "low", "high", "alone", "public", "rule", "verdict")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in told.table:
            low, high = row.interval
            largest = max(row.epsilon) if isinstance(row.epsilon, tuple) else row.epsilon
            sizes = (row.owners, row.records, largest)
            writer.writerow([*sizes, row.relative_fitness, low, high, row.alone, row.public, row.rule, row.verdict])
    return path
