"""ψ against k with its quartiles, for three budgets, and who answers when (Figs. a0, a00, b0, b00)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from copriv.reproduction.cell import Outcome
from copriv.reproduction.study import COLOURS, Figure, Finding, Settings
from copriv.reproduction.world import World
from copriv.simulation.quadratic import SufficientStatistics

EPSILONS = (0.1, 1.0, 10.0)


def convergence(world: World, settings: Settings, owners: Sequence[SufficientStatistics], prefix: str) -> list[Figure]:
    """Fig. a0 and a00 for loans, b0 and b00 for hospitals."""
    step = world.step([part.records for part in owners])
    cells = [world.cell(owners, epsilon, step, runs=settings.runs, seed=settings.seed) for epsilon in EPSILONS]
    outcomes = settings.run_cells(cells)
    return [
        Figure(
            f"{prefix}0",
            f"ψ against k, median and quartiles of {settings.runs} runs, {len(owners)} owners",
            _paths(outcomes),
            _findings(outcomes),
            draw_paths,
            (6.4, 6.4),
        ),
        Figure(
            f"{prefix}00",
            f"which of {len(owners)} owners answers at meeting k",
            pl.DataFrame({"k": np.arange(1, len(outcomes[0].met) + 1), "owner": [i + 1 for i in outcomes[1].met]}),
            (_meetings(outcomes[1].met, len(owners)),),
            draw_meetings,
            (6.4, 2.2),
        ),
    ]


def draw_paths(table: pl.DataFrame, canvas: Any) -> None:  # noqa: ANN401
    """One panel for each budget."""
    panels = canvas.subplots(len(EPSILONS), 1, sharex=True)
    for panel, epsilon in zip(panels, EPSILONS, strict=True):
        rows = table.filter(pl.col("epsilon") == epsilon)
        panel.fill_between(rows["k"], rows["low"], rows["high"], color=COLOURS[4], alpha=0.5, label="25–75 %")
        panel.semilogy(rows["k"], rows["median"], color=COLOURS[0], label="median")
        panel.set_ylabel("ψ(θ$_{L,k}$)")
        panel.set_title(f"ε = {epsilon:g} for every owner", fontsize=9, loc="right")
        panel.grid(visible=True, alpha=0.25)
    panels[0].legend(frameon=False, loc="lower left")
    panels[-1].set_xlabel("meeting k")


def draw_meetings(table: pl.DataFrame, canvas: Any) -> None:  # noqa: ANN401
    """A dot for each meeting."""
    panel = canvas.subplots()
    panel.scatter(table["k"], table["owner"], s=3, color=COLOURS[0], linewidths=0)
    panel.set_xlabel("meeting k")
    panel.set_ylabel("owner i$_k$")
    panel.yaxis.get_major_locator().set_params(integer=True)


def _paths(outcomes: Sequence[Outcome]) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame(
            {
                "epsilon": [epsilon] * len(outcome.median),
                "k": np.arange(1, len(outcome.median) + 1),
                "low": outcome.low,
                "median": outcome.median,
                "high": outcome.high,
            }
        )
        for epsilon, outcome in zip(EPSILONS, outcomes, strict=True)
    )


def _findings(outcomes: Sequence[Outcome]) -> tuple[Finding, ...]:
    falls = [outcome.median[-1] < outcome.median[0] for outcome in outcomes]
    ends = [outcome.median[-1] for outcome in outcomes]
    widths = [outcome.high[-1] - outcome.low[-1] for outcome in outcomes]
    told = ", ".join(
        f"ε = {e:g}: {o.median[0]:.2g} → {o.median[-1]:.2g}" for e, o in zip(EPSILONS, outcomes, strict=True)
    )
    return (
        Finding(
            "The median falls with k until it is near the solution (for hospitals: for large ε).", told, all(falls)
        ),
        Finding(
            "A larger ε ends at a better model.", " > ".join(f"{end:.2g}" for end in ends), ends == sorted(ends)[::-1]
        ),
        Finding(
            "A smaller ε makes the results vary more.",
            "width of the quartile band at the end: " + " > ".join(f"{width:.2g}" for width in widths),
            widths == sorted(widths)[::-1],
        ),
    )


def _meetings(met: Sequence[int], owners: int) -> Finding:
    counts = np.bincount(met, minlength=owners)
    return Finding(
        "One owner at a time, each as likely as any other.",
        f"each owner answers {counts.min()} to {counts.max()} times, {len(met) / owners:.1f} expected",
        bool(np.all(np.abs(counts - len(met) / owners) < 5 * np.sqrt(len(met) / owners) + 5)),
    )
