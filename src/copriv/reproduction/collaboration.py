"""When joining beats staying alone: over the number of owners and ε (Fig. a4), and hospital by hospital (Fig. b2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from copriv.reproduction.study import COLOURS, Figure, Finding, Settings
from copriv.reproduction.world import World, alone
from copriv.simulation.quadratic import SufficientStatistics

EPSILONS = tuple(float(f"{value:.3g}") for value in np.geomspace(0.1, 100, 13))
SHOWN = (0.1, 1.0, 10.0)


def many_banks(world: World, settings: Settings, counts: Sequence[int], records: int) -> list[Figure]:
    """Fig. a4: banks of one size, more and more of them."""
    blocks = world.blocks(max(counts), records)
    grid = [(count, epsilon) for count in counts for epsilon in EPSILONS]
    steps = {count: world.step([records] * count) for count in counts}
    cells = [
        world.cell(blocks[:count], epsilon, steps[count], runs=settings.runs, seed=settings.seed)
        for count, epsilon in grid
    ]
    outcomes = settings.run_cells(cells)
    first = {count: alone(blocks[:count])[0] for count in counts}
    table = pl.DataFrame(
        [
            {"owners": count, "epsilon": epsilon, "psi": outcome.mean, "alone": first[count]}
            for (count, epsilon), outcome in zip(grid, outcomes, strict=True)
        ]
    ).with_columns((pl.col("psi") < pl.col("alone")).alias("joining_pays"))
    title = f"E ψ(θ$_{{L,T}}$) for N owners of {records:,} records, mean of {settings.runs} runs"
    return [Figure("a4", title, table, _pays(table), draw_region, (6.4, 4.2))]


def hospitals(world: World, settings: Settings, owners: Sequence[SufficientStatistics]) -> list[Figure]:
    """Fig. b2: every hospital's own model against the joint one."""
    step = world.step([part.records for part in owners])
    outcomes = settings.run_cells(
        [world.cell(owners, epsilon, step, runs=settings.runs, seed=settings.seed) for epsilon in SHOWN]
    )
    table = pl.DataFrame(
        {"hospital": world.names, "records": [part.records for part in owners], "alone": alone(owners)}
    ).with_columns(
        pl.lit(outcome.mean).alias(f"joint_{epsilon:g}") for epsilon, outcome in zip(SHOWN, outcomes, strict=True)
    )
    gaining = table.filter(pl.col("alone") > pl.col("joint_10"))
    names = ", ".join(gaining.sort("alone", descending=True)["hospital"].to_list()) or "none"
    finding = Finding(
        "At ε = 10 eight of 86 hospitals gain by joining.",
        f"{gaining.height} of {table.height} gain: {names}",
        gaining.height > 0,
    )
    title = f"each hospital alone against all {len(owners)} together"
    return [Figure("b2", title, table, (finding,), draw_hospitals)]


def draw_region(table: pl.DataFrame, canvas: Any) -> None:  # noqa: ANN401
    """Colours for log ψ, dots where joining beats the first owner's own model."""
    panel = canvas.subplots()
    pivot = table.pivot(on="epsilon", index="owners", values="psi").sort("owners")
    epsilons = [float(name) for name in pivot.columns[1:]]
    image = panel.pcolormesh(
        np.arange(len(epsilons) + 1),
        np.arange(pivot.height + 1),
        np.log10(pivot.drop("owners").to_numpy()),
        cmap="cividis",
    )
    canvas.colorbar(image, ax=panel, label="log$_{10}$ E ψ")
    counts = pivot["owners"].to_list()
    pays = table.filter(pl.col("joining_pays"))
    panel.plot(
        [epsilons.index(e) + 0.5 for e in pays["epsilon"]],
        [counts.index(n) + 0.5 for n in pays["owners"]],
        "o",
        color="white",
        markeredgecolor="black",
        markersize=6,
        label="joining beats θ$_1^*$ alone",
    )
    panel.set_xticks(np.arange(len(epsilons)) + 0.5, [f"{e:.2g}" if e < 100 else f"{e:.0f}" for e in epsilons])
    panel.set_yticks(np.arange(len(counts)) + 0.5, counts)
    panel.set_xlabel("ε of every owner")
    panel.set_ylabel("owners N")
    if pays.height:
        panel.legend(loc="upper left", fontsize=8)


def draw_hospitals(table: pl.DataFrame, canvas: Any) -> None:  # noqa: ANN401
    """A marker for each hospital, a line for each budget."""
    panel = canvas.subplots()
    panel.loglog(table["records"], table["alone"], "s", color=COLOURS[0], markersize=4, label="alone, ψ(θ$_i^*$)")
    for epsilon, style, colour in zip(SHOWN, ("-", "--", "-."), COLOURS[1:], strict=False):
        panel.axhline(table[f"joint_{epsilon:g}"][0], linestyle=style, color=colour, label=f"together, ε = {epsilon:g}")
    panel.set_xlabel("records of the hospital, n$_i$")
    panel.set_ylabel("ψ")
    panel.grid(visible=True, alpha=0.25)
    canvas.legend(frameon=False, fontsize=8, ncols=4, loc="outside lower center")


def _pays(table: pl.DataFrame) -> tuple[Finding, ...]:
    findings = []
    for epsilon, claimed in ((10.0, "more than 5"), (2.5, "more than 100")):
        nearest = min(table["epsilon"].unique().to_list(), key=lambda value: abs(np.log(value / epsilon)))
        pays = table.filter((pl.col("epsilon") == nearest) & pl.col("joining_pays"))["owners"]
        counts = sorted(pays.to_list())
        most = max(table["owners"].to_list())
        fewest = f"from {counts[0]} owners" if counts else f"not with up to {most} owners"
        findings.append(
            Finding(f"At ε = {epsilon:g} joining pays with {claimed} owners.", f"at ε = {nearest:g}: {fewest}", None)
        )
    return tuple(findings)
