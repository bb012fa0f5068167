"""E ψ over the size of the data sets and the budgets, with the fitted bound (Figs. a1 and a3), and over ε (Fig. b1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from copriv.reproduction.fits import BoundFit, SlopeFit, fit_bound, fit_slope, noise_dominates
from copriv.reproduction.study import COLOURS, Figure, Finding, Settings
from copriv.reproduction.world import World
from copriv.simulation.quadratic import SufficientStatistics

EPSILONS = tuple(float(f"{value:.3g}") for value in np.geomspace(0.1, 10, 9))
NO_NOISE = 1e12
_EXPECTED = (-2.2, -1.8)
_GOOD_FIT = 0.9
_FEWEST = 3
_SHARES = (1.0, 0.8, 0.63, 0.5, 0.4)


def surface(world: World, settings: Settings, owners: int, sizes: Sequence[int]) -> list[Figure]:
    """Figs. a1 and a3: a few owners of equal size."""
    step, epsilons = world.step([max(sizes)] * owners), settings.epsilons or EPSILONS
    grid = [(records, epsilon) for records in sizes for epsilon in (*epsilons, NO_NOISE)]
    blocks = {records: world.blocks(owners, records) for records in sizes}
    cells = [
        world.cell(blocks[records], epsilon, step, runs=settings.runs, seed=settings.seed) for records, epsilon in grid
    ]
    outcomes = settings.run_cells(cells)
    means = {point: outcome.mean for point, outcome in zip(grid, outcomes, strict=True)}
    table = _table(means, owners)
    bound = fit_bound(table["psi"].to_numpy(), _shape(table, owners))
    table = table.with_columns(pl.Series("bound", bound.constant * _shape(table, owners)))
    findings = _findings(table, bound)
    title = f"E ψ(θ$_{{L,T}}$) after T = {world.horizon:,}, N = {owners}, mean of {settings.runs} runs"
    return [
        Figure("a1", f"{title}, over n and ε", table, findings, draw_surface, (6.4, 4.6)),
        Figure("a3", f"{title}: slices", table, findings, draw_slices, (6.4, 5.6)),
    ]


def budgets(world: World, settings: Settings, owners: Sequence[SufficientStatistics]) -> list[Figure]:
    """Fig. b1: E ψ against ε for owners as they are."""
    step = world.step([part.records for part in owners])
    epsilons = settings.epsilons or EPSILONS
    outcomes = settings.run_cells(
        [world.cell(owners, epsilon, step, runs=settings.runs, seed=settings.seed) for epsilon in (*epsilons, NO_NOISE)]
    )
    floor = outcomes[-1].mean
    total = sum(part.records for part in owners)
    table = pl.DataFrame(
        {
            "records": [total] * len(epsilons),
            "epsilon": epsilons,
            "psi": [outcome.mean for outcome in outcomes[:-1]],
            "floor": [floor] * len(epsilons),
        }
    )
    shape = len(owners) / (total**2 * table["epsilon"].to_numpy() ** 2)
    bound = fit_bound(table["psi"].to_numpy() - floor * 0.999, shape)
    table = table.with_columns(pl.Series("bound", bound.constant * shape + floor))
    noisy = table.filter(pl.Series(noise_dominates(table["psi"].to_numpy(), floor)))
    findings = (
        _slope_finding("ε", noisy, "epsilon"),
        _slope_finding("n", _smaller_owners(world, settings, step), "records"),
        _fit_finding(bound, table.height),
    )
    title = f"E ψ(θ$_{{L,T}}$) against ε, {len(owners)} owners, mean of {settings.runs} runs"
    return [Figure("b1", title, table, findings, draw_budgets)]


def _smaller_owners(world: World, settings: Settings, step: float) -> pl.DataFrame:
    """E ψ where noise dominates (the smallest ε) if every owner had only a part of its records."""
    parts, smallest = [world.owners(share) for share in _SHARES], min(settings.epsilons or EPSILONS)
    outcomes = settings.run_cells(
        [world.cell(part, smallest, step, runs=settings.runs, seed=settings.seed) for part in parts]
    )
    return pl.DataFrame(
        {
            "records": [sum(owner.records for owner in part) for part in parts],
            "psi": [outcome.mean for outcome in outcomes],
        }
    )


def draw_surface(table: pl.DataFrame, canvas: Any) -> None:  # noqa: ANN401
    """Experiments as a surface of dots, the bound as a mesh."""
    panel = canvas.add_subplot(projection="3d")
    pivot = {name: table.pivot(on="epsilon", index="records", values=name).sort("records") for name in ("psi", "bound")}
    epsilons = np.asarray([float(name) for name in pivot["psi"].columns[1:]])
    records = pivot["psi"]["records"].to_numpy()
    across, along = np.meshgrid(np.log10(epsilons), np.log10(records))
    for name, colour, draw in (("bound", COLOURS[1], panel.plot_wireframe), ("psi", COLOURS[0], panel.scatter)):
        heights = np.log10(pivot[name].drop("records").to_numpy())
        draw(across, along, heights, color=colour, label={"bound": "fitted bound", "psi": "E ψ"}[name], alpha=0.8)
    panel.set_xlabel("log$_{10}$ ε")
    panel.set_ylabel("log$_{10}$ n$_i$")
    panel.set_zlabel("log$_{10}$ E ψ")
    panel.legend(frameon=False, loc="upper left")
    panel.view_init(elev=22, azim=45)


def draw_slices(table: pl.DataFrame, canvas: Any) -> None:  # noqa: ANN401
    """Against ε for the sizes, and against n for the budgets."""
    panels = canvas.subplots(2, 1)
    records, epsilons = table["records"].unique().sort(), table["epsilon"].unique().sort()
    for panel, axis, other, values, words in (
        (panels[0], "epsilon", "records", _three(records.to_list()), "n = {:,}"),
        (panels[1], "records", "epsilon", _three(epsilons.to_list()), "ε = {:g}"),
    ):
        for value, colour in zip(values, COLOURS, strict=False):
            rows = table.filter(pl.col(other) == value).sort(axis)
            panel.loglog(rows[axis], rows["psi"], "s", color=colour, label=words.format(value), markersize=4)
            panel.loglog(rows[axis], rows["bound"], "-", color=colour, alpha=0.7)
        panel.set_xlabel("ε of every owner" if axis == "epsilon" else "records of every owner, n$_i$")
        panel.set_ylabel("E ψ(θ$_{L,T}$)")
        panel.grid(visible=True, alpha=0.25)
        panel.legend(frameon=False, title="■ runs, — fitted bound", title_fontsize=8)


def draw_budgets(table: pl.DataFrame, canvas: Any) -> None:  # noqa: ANN401
    """E ψ against ε with the bound."""
    panel = canvas.subplots()
    panel.loglog(table["epsilon"], table["psi"], "s", color=COLOURS[0], label="E ψ", markersize=4)
    panel.loglog(table["epsilon"], table["bound"], "-", color=COLOURS[1], label="fitted bound")
    panel.axhline(table["floor"][0], color=COLOURS[2], linestyle=":", label="without noise")
    panel.set_xlabel("ε of every owner")
    panel.set_ylabel("E ψ(θ$_{L,T}$)")
    panel.grid(visible=True, alpha=0.25)
    panel.legend(frameon=False)


def _table(means: dict[tuple[int, float], float], owners: int) -> pl.DataFrame:
    rows = [
        {"owners": owners, "records": n, "epsilon": e, "psi": psi, "floor": means[n, NO_NOISE]}
        for (n, e), psi in means.items()
        if e != NO_NOISE
    ]
    return pl.DataFrame(rows)


def _shape(table: pl.DataFrame, owners: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(1/n²) Σ 1/ε², with n the records of all owners."""
    total = owners * table["records"].to_numpy()
    return np.asarray(owners / (total**2 * table["epsilon"].to_numpy() ** 2), dtype=np.float64)


def _findings(table: pl.DataFrame, bound: BoundFit) -> tuple[Finding, ...]:
    noisy = table.filter(pl.col("psi") > 10 * pl.col("floor"))
    return (
        _slope_finding("ε", noisy.filter(pl.col("records") == pl.col("records").min()), "epsilon"),
        _slope_finding("n", noisy.filter(pl.col("epsilon") == pl.col("epsilon").min()), "records"),
        _fit_finding(bound, table.height),
    )


def _slope_finding(symbol: str, rows: pl.DataFrame, column: str) -> Finding:
    claim = f"E ψ falls with the square of {symbol}."
    if rows.height < _FEWEST:
        told = f"noise dominates in {rows.height} points"
        return Finding(claim, told, None, f"a slope needs {_FEWEST} points in which noise dominates")
    fit: SlopeFit = fit_slope(rows[column].to_numpy(), rows["psi"].to_numpy())
    low, high = _EXPECTED
    off = max(low - fit.slope, fit.slope - high)
    return Finding(
        claim,
        f"log–log slope where noise dominates: {fit.words()}",
        fit.within(low, high),
        f"the slope is {off:.2g} outside of {low:g} to {high:g}",
    )


def _fit_finding(bound: BoundFit, points: int) -> Finding:
    claim = "The bound fits the experiments."
    if points < _FEWEST:
        return Finding(claim, f"{points} points", None, f"a fit needs {_FEWEST} points")
    words = f"c = {bound.constant:.3g}, fitted afterwards as in the paper (2.1·10⁹ there, on other features); "
    return Finding(
        claim,
        f"{words}R² of log ψ = {bound.r_squared:.3f}",
        bound.r_squared > _GOOD_FIT,
        f"R² is {_GOOD_FIT - bound.r_squared:.2g} below {_GOOD_FIT:g}",
    )


def _three(values: list[Any]) -> list[Any]:
    """The first, the middle and the last."""
    return sorted({values[0], values[len(values) // 2], values[-1]})
