"""When joining beats staying alone: over the number of owners and ε (Fig. a4), and hospital by hospital (Fig. b2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
import polars as pl

from copriv.reproduction.study import COLOURS, Figure, Finding, Settings, nearest
from copriv.reproduction.world import World, alone
from copriv.simulation.quadratic import SufficientStatistics

EPSILONS = tuple(float(f"{value:.3g}") for value in np.geomspace(0.1, 100, 13))
SHOWN = (0.1, 1.0, 10.0)
# What the paper says: at ε = 10 eight of 86 hospitals gain, and banks do if there are more than 5; at 2.5, than 100.
_GAINING_AT, _GAINING, _HOSPITALS = 10.0, 8, 86
_PAYS = ((10.0, 5), (2.5, 100))


def many_banks(world: World, settings: Settings, counts: Sequence[int], records: int) -> list[Figure]:
    """Fig. a4: banks of one size, more and more of them."""
    blocks = world.blocks(max(counts), records)
    grid = [(count, epsilon) for count in counts for epsilon in settings.epsilons or EPSILONS]
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
    epsilons = settings.epsilons or SHOWN
    outcomes = settings.run_cells(
        [world.cell(owners, epsilon, step, runs=settings.runs, seed=settings.seed) for epsilon in epsilons]
    )
    table = pl.DataFrame(
        {"hospital": world.names, "records": [part.records for part in owners], "alone": alone(owners)}
    ).with_columns(
        pl.lit(outcome.mean).alias(f"joint_{epsilon:g}") for epsilon, outcome in zip(epsilons, outcomes, strict=True)
    )
    title = f"each hospital alone against all {len(owners)} together"
    return [Figure("b2", title, table, (_gaining(table, nearest(_GAINING_AT, epsilons)),), draw_hospitals)]


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
    budgets = [name.removeprefix("joint_") for name in table.columns if name.startswith("joint_")]
    for epsilon, style, colour in zip(budgets, cycle(("-", "--", "-.")), cycle(COLOURS[1:]), strict=False):
        panel.axhline(table[f"joint_{epsilon}"][0], linestyle=style, color=colour, label=f"together, ε = {epsilon}")
    panel.set_xlabel("records of the hospital, n$_i$")
    panel.set_ylabel("ψ")
    panel.grid(visible=True, alpha=0.25)
    canvas.legend(frameon=False, fontsize=8, ncols=4, loc="outside lower center")


def _gaining(table: pl.DataFrame, epsilon: float | None) -> Finding:
    """How many hospitals gain, against the paper's eight of 86."""
    claim = f"At ε = {_GAINING_AT:g} eight of {_HOSPITALS} hospitals gain by joining."
    if epsilon is None:
        return Finding(claim, "not computed", None, f"no ε near {_GAINING_AT:g} in the grid")
    gaining = table.filter(pl.col("alone") > pl.col(f"joint_{epsilon:g}"))
    names = ", ".join(gaining.sort("alone", descending=True)["hospital"].to_list()) or "none"
    share = gaining.height / table.height
    closest, joint = max(table["alone"].to_list()), table[f"joint_{epsilon:g}"].to_list()[0]
    return Finding(
        claim,
        f"{gaining.height} of {table.height} gain ({share:.0%}; the paper: {_GAINING / _HOSPITALS:.0%}): {names}",
        gaining.height > 0,
        f"none gains; the one nearest to it reaches ψ = {closest:.3g} alone and {joint:.3g} together",
    )


def _pays(table: pl.DataFrame) -> tuple[Finding, ...]:
    return tuple(_pays_with_more_than(table, epsilon, owners) for epsilon, owners in _PAYS)


def _pays_with_more_than(table: pl.DataFrame, epsilon: float, owners: int) -> Finding:
    """Whether joining pays for every number of banks above the paper's, and if not, what is missing."""
    claim = f"At ε = {epsilon:g} joining pays with more than {owners} owners."
    near = nearest(epsilon, table["epsilon"].unique().to_list())
    if near is None:
        return Finding(claim, "not computed", None, f"no ε near {epsilon:g} in the grid")
    rows = table.filter(pl.col("epsilon") == near).sort("owners")
    paying = rows.filter(pl.col("joining_pays"))["owners"].to_list()
    above = rows.filter(pl.col("owners") > owners)
    last = rows.row(-1, named=True)
    fewest = f"from {paying[0]} owners" if paying else f"not with up to {last['owners']} owners"
    told = f"at ε = {near:g}: {fewest}"
    if above.is_empty():
        return Finding(claim, told, None, f"no more than {owners} owners in the grid")
    if above["joining_pays"].all():
        return Finding(claim, told, agrees=True)
    worst = above.filter(~pl.col("joining_pays")).row(-1, named=True)
    ratio = worst["psi"] / worst["alone"]
    return Finding(claim, told, False, f"with {worst['owners']} owners ψ is still {ratio:.3g} times that of one alone")
