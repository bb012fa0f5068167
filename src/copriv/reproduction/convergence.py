"""ψ against k with its quartiles, for three budgets, and who answers when (Figs. a0, a00, b0, b00)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
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
    step, epsilons = world.step([part.records for part in owners]), settings.epsilons or EPSILONS
    cells = [world.cell(owners, epsilon, step, runs=settings.runs, seed=settings.seed) for epsilon in epsilons]
    outcomes = dict(zip(epsilons, settings.run_cells(cells), strict=True))
    met = outcomes[epsilons[0]].met
    return [
        Figure(
            f"{prefix}0",
            f"ψ against k, median and quartiles of {settings.runs} runs, {len(owners)} owners",
            _paths(outcomes),
            _findings(outcomes),
            draw_paths,
            (6.4, 1.0 + 1.8 * len(epsilons)),
        ),
        Figure(
            f"{prefix}00",
            f"which of {len(owners)} owners answers at meeting k",
            pl.DataFrame({"k": np.arange(1, len(met) + 1), "owner": [i + 1 for i in met]}),
            (_meetings(met, len(owners)),),
            draw_meetings,
            (6.4, 2.2),
        ),
    ]


def draw_paths(table: pl.DataFrame, canvas: Any) -> None:  # noqa: ANN401
    """One panel for each budget."""
    epsilons = table["epsilon"].unique().sort().to_list()
    panels = canvas.subplots(len(epsilons), 1, sharex=True, squeeze=False)[:, 0]
    for panel, epsilon in zip(panels, epsilons, strict=True):
        rows = table.filter(pl.col("epsilon") == epsilon)
        panel.fill_between(rows["k"], rows["low"], rows["high"], color=COLOURS[4], alpha=0.5, label="25–75 %")
        panel.semilogy(rows["k"], rows["median"], color=COLOURS[0], label="median")
        panel.set_ylabel("ψ(θ$_{L,k}$)")
        panel.set_title(f"ε = {epsilon:g} for every owner", fontsize=9, loc="right")
        panel.grid(visible=True, alpha=0.25)
    panels[0].legend(frameon=False, loc="lower left")
    panels[-1].set_xlabel("meeting k")
    panels[-1].xaxis.get_major_locator().set_params(integer=True)


def draw_meetings(table: pl.DataFrame, canvas: Any) -> None:  # noqa: ANN401
    """A dot for each meeting."""
    panel = canvas.subplots()
    panel.scatter(table["k"], table["owner"], s=3, color=COLOURS[0], linewidths=0)
    panel.set_xlabel("meeting k")
    panel.set_ylabel("owner i$_k$")
    for axis in (panel.xaxis, panel.yaxis):
        axis.get_major_locator().set_params(integer=True)


def _paths(outcomes: Mapping[float, Outcome]) -> pl.DataFrame:
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
        for epsilon, outcome in outcomes.items()
    )


def _findings(outcomes: Mapping[float, Outcome]) -> tuple[Finding, ...]:
    ends = {epsilon: outcome.median[-1] for epsilon, outcome in outcomes.items()}
    widths = {epsilon: outcome.high[-1] - outcome.low[-1] for epsilon, outcome in outcomes.items()}
    band = "width of the quartile band at the end: "
    return (
        _falling(outcomes),
        _ordered("A larger ε ends at a better model.", "", ends),
        _ordered("A smaller ε makes the results vary more.", band, widths),
    )


def _falling(outcomes: Mapping[float, Outcome]) -> Finding:
    """Whether the median ends below where it began."""
    told = ", ".join(f"ε = {e:g}: {o.median[0]:.2g} → {o.median[-1]:.2g}" for e, o in outcomes.items())
    rising = {epsilon: o.median[-1] / o.median[0] for epsilon, o in outcomes.items() if o.median[-1] >= o.median[0]}
    return Finding(
        "The median falls with k until it is near the solution (for hospitals: for large ε).",
        told,
        not rising,
        ", ".join(f"at ε = {epsilon:g} it rises {factor:.3g}-fold" for epsilon, factor in rising.items()),
    )


def _ordered(claim: str, about: str, values: Mapping[float, float]) -> Finding:
    """Whether what was measured falls from each ε to the next."""
    if len(values) < 2:
        return Finding(claim, about + "one ε", None, "give at least two ε")
    broken = [
        f"{values[after] / values[before]:.3g} times as much at ε = {after:g} as at ε = {before:g}"
        for before, after in pairwise(values)
        if values[after] > values[before]
    ]
    told = ", ".join(f"{value:.2g} at ε = {epsilon:g}" for epsilon, value in values.items())
    return Finding(claim, about + told, not broken, "; ".join(broken))


def _meetings(met: Sequence[int], owners: int) -> Finding:
    counts = np.bincount(met, minlength=owners)
    expected = len(met) / owners
    furthest, allowed = float(np.max(np.abs(counts - expected))), 5 * np.sqrt(expected) + 5
    return Finding(
        "One owner at a time, each as likely as any other.",
        f"each owner answers {counts.min()} to {counts.max()} times, {expected:.1f} expected",
        bool(furthest < allowed),
        f"one owner is {furthest:.0f} meetings away from what is expected; chance explains {allowed:.0f}",
    )
