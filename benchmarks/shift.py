"""Public rows that differ from the owners' rows: ours against every other use of the same ε, pair by pair.

The pairs are those of `benchmarks.shift_pairs`; half of them are held out of every choice of constants. The rivals are
tuned on the records (`benchmarks.shift_rivals`). If $COPRIV_SHIFT_RIVALS names a file, their figures are read from it,
or written to it if it is not there yet: they do not depend on our rule.
"""

import itertools
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.datasets import data_folder
from benchmarks.many_hands import share_out
from benchmarks.shift_pairs import Pair, load, specs
from benchmarks.shift_rivals import ALGORITHM_RUNS, NAMES, Field, rivals
from benchmarks.side_by_side import tell
from copriv.losses.optimum import minimise
from copriv.losses.passes import average_curvature, gradient_norms
from copriv.planning.newton_cost import menu_prediction, menu_rule, newton_costs
from copriv.privacy.guarantee import Guarantee
from copriv.simulation.cost import Scene, promised, simulate_rule
from copriv.vectors import FloatArray, Norm

EPSILONS = (0.1, 1.0, 10.0)
# Means of 10 runs stray by a tenth or two, and the least of several strays downwards.
RUNS, RIVAL_RUNS, SEED = 20, 40, 14
# At or below so many times the best rival, and the share of cells where that is wanted.
CLOSE, WANTED = 1.1, 0.85
# So many times the public model is too much; the share of runs in which it may happen.
TOO_MUCH = 1.5
MOST_RUNS = {0.1: 0.05, 1.0: 0.01, 10.0: 0.01}
# ψ of a prototype on loans in the order of the file at each ε, where it was good, and the room given to ours.
LENDING: dict[str, tuple[float | None, ...]] = {
    "lending order: 3 × 250,000": (4.4e-5, 7.9e-7, 3.7e-8),
    "lending order: 10 × 10,000": (None, 4.1e-4, 7.1e-5),
    "lending order: 85 × 10,000": (None, 1.3e-5, 3.5e-7),
}
ROOM = 1.2
# To tell noise and clip from the rest: so many times the ε, so few runs; they are to blame if less than this is left.
LOUDER, FEW_RUNS, NOISY = 1000.0, 3, 0.5
# Families with many records or owners are begun first.
LONG = ("lending order", "school grade", "region", "lending year", "carrier", "flights month")

Rivals = dict[str, dict[str, float]]
Rows = list[list[object]]


@dataclass(frozen=True)
class Cell:
    """One pair at one ε: ψ of ours in every run, the mean of each rival, and why ours is worse, if it is."""

    pair: str
    family: str
    held_out: bool
    epsilon: float
    ours: tuple[float, ...]
    rivals: dict[str, float]
    why: str = ""

    @property
    def mean(self) -> float:
        """Of ours."""
        return float(np.mean(self.ours))

    @property
    def best(self) -> str:
        """The rival with the least ψ."""
        return min(self.rivals, key=lambda name: self.rivals[name])

    @property
    def ratio(self) -> float:
        """Ours over the best rival."""
        return self.mean / self.rivals[self.best]

    @property
    def error(self) -> float:
        """Standard error of the ratio, as far as it comes from our runs."""
        return float(np.std(self.ours, ddof=1)) / len(self.ours) ** 0.5 / self.rivals[self.best]


@dataclass(frozen=True)
class Misfit:
    """How records differ from public rows: eigenvalues of A⁻¹H, rows and gradients too long, θ* at the box's edge."""

    flattest: float
    steepest: float
    shortened: float
    beyond: float
    edges: int

    @classmethod
    def of(cls, scene: Scene) -> "Misfit":
        """At the public model."""
        start, loss = minimise(scene.objective, scene.public), scene.objective.loss
        ridge = 2 * scene.objective.regularization * np.eye(start.size)
        public, private = (average_curvature(loss, rows, start) + ridge for rows in (scene.public, scene.joint))
        values = np.linalg.eigvals(np.linalg.solve(public, private)).real
        shown, lengths = (gradient_norms(loss, rows, start, Norm.L1) for rows in (scene.public, scene.joint))
        shortened = np.linalg.norm(scene.joint.columns, axis=0) > 1 - 1e-6
        beyond = float(np.mean(lengths > np.max(shown)))
        edges = np.abs(minimise(scene.objective, scene.joint)) > scene.objective.limit * (1 - 1e-6)
        return cls(float(values.min()), float(values.max()), float(np.mean(shortened)), beyond, int(np.sum(edges)))

    def __str__(self) -> str:
        return (
            f"Hessian {self.flattest:.2g} to {self.steepest:.2g} times the public one, {self.shortened:.0%} of rows "
            f"shortened, {self.beyond:.1%} of gradients beyond the longest public one"
            + (f", the best model at the edge of the box in {self.edges}" if self.edges else "")
        )


def ours(scene: Scene, epsilon: float, *, runs: int, seed: int) -> FloatArray:
    """ψ of our default in every run, at a pure ε."""
    return newton_costs(scene, promised(Guarantee.of(epsilon), scene.public.parameters), runs=runs, seed=seed)[0]


def compare(name: str, known: Rivals | None) -> list[Cell]:
    """All cells of one pair; rivals are run unless they are known."""
    pair = load(name)
    if known is None:
        field = Field.of(pair.scene)
        known = {f"{epsilon:g}": rivals(field, epsilon, runs=RIVAL_RUNS, seed=SEED) for epsilon in EPSILONS}
    return [judge(pair, epsilon, known[f"{epsilon:g}"]) for epsilon in EPSILONS]


def judge(pair: Pair, epsilon: float, known: dict[str, float]) -> Cell:
    """Ours beside its rivals, and why it is worse, if it is."""
    costs = ours(pair.scene, epsilon, runs=RUNS, seed=SEED)
    cell = Cell(pair.name, pair.family, pair.held_out, epsilon, tuple(costs.tolist()), known)
    return cell if cell.ratio <= CLOSE else replace(cell, why=explain(pair.scene, cell))


def explain(scene: Scene, cell: Cell) -> str:
    """Chance, noise, the clip, or how rows differ: what is left of ψ at a much larger ε, at the same clip or another.

    A clip is chosen for the noise. Where hardly less is left without noise at the same clip, but at a longer one, then
    noise costs by the clip that it asks for, not by itself.
    """
    if cell.ratio - 2 * cell.error <= CLOSE:
        return "chance: within two standard errors of our runs"
    known = f"is left at {LOUDER:,.0f} times the ε"
    left = float(np.mean(at_same_clip(scene, cell.epsilon)))
    if left < NOISY * cell.mean:
        return f"noise: {left:.1e} {known} and the same clip"
    freely = float(np.mean(ours(scene, LOUDER * cell.epsilon, runs=FEW_RUNS, seed=SEED)))
    if freely < NOISY * cell.mean:
        return f"clip: {left:.1e} {known} and the same clip, {freely:.1e} at a clip of its own"
    return f"rows: {freely:.1e} {known}; {Misfit.of(scene)}"


def at_same_clip(scene: Scene, epsilon: float) -> list[float]:
    """ψ of ours at a much larger ε, but at the clip that it has at this one."""
    noisy, quiet = (promised(Guarantee.of(e), scene.public.parameters) for e in (epsilon, LOUDER * epsilon))
    start = minimise(scene.objective, scene.public)
    plan = menu_prediction(scene, noisy, start)
    rule = menu_rule(scene, quiet, start, plan)
    states = simulate_rule(rule, scene, quiet, clip=plan.clip, answers=plan.answers, runs=FEW_RUNS, seed=SEED)
    return [scene.psi(rule.model(state)) for state in states]


def tell_cells(cells: Sequence[Cell]) -> None:
    """Every pair at every ε, and every rival."""
    rows: Rows = [
        [
            cell.family,
            cell.pair.partition(": ")[2],
            "yes" if cell.held_out else "no",
            f"{cell.epsilon:g}",
            cell.mean,
            cell.best,
            cell.rivals[cell.best],
            cell.ratio,
            cell.mean / cell.rivals["public"],
            *(cell.rivals.get(name, "–") for name in NAMES),
        ]
        for cell in cells
    ]
    tell(
        "shift",
        f"ψ where public rows are of another population than the owners', pure ε; unit: one record, adjacency: "
        f"replace-one; means of {RUNS} runs, {RIVAL_RUNS} for rivals ({ALGORITHM_RUNS} for Algorithm 1); every rival "
        "at the clip, step and number of answers best on the records; held out: of every choice of constants",
        ["family", "pair", "held out", "ε", "ours", "best rival", "its ψ", "ratio", "ours/public", *NAMES],
        rows,
        width=230,
    )


def tell_worse(cells: Sequence[Cell]) -> None:
    """The cells in which a rival is better by more than a little: by how much, and why."""
    worse = sorted((cell for cell in cells if cell.ratio > CLOSE), key=lambda cell: -cell.ratio)
    tell(
        "shift-worse",
        f"cells above {CLOSE} times the best rival",
        ["pair", "held out", "ε", "ratio", "± error", "best rival", "why"],
        [
            [c.pair, "yes" if c.held_out else "no", f"{c.epsilon:g}", c.ratio, c.error, c.best, c.why]
            for c in worse
        ],
        width=200,
    )  # fmt: skip


def tell_lending(cells: Sequence[Cell]) -> None:
    """Loans in the order of the file beside the prototype."""
    found = {(cell.pair, cell.epsilon): cell.mean for cell in cells}
    rows: Rows = [
        [pair, f"{epsilon:g}", found[pair, epsilon], ROOM * figure, _verdict(found[pair, epsilon] <= ROOM * figure)]
        for pair, figures in LENDING.items()
        for epsilon, figure in zip(EPSILONS, figures, strict=True)
        if figure is not None and (pair, epsilon) in found
    ]
    tell(
        "shift-lending",
        f"loans in the order of the file, the last rows public: ours against a prototype's ψ times {ROOM}",
        ["pair", "ε", "ours", "at most", "held"],
        rows,
    )


def summary(cells: Sequence[Cell]) -> Rows:
    """What is wanted, what was measured, and whether it holds."""
    rows: Rows = []
    for name, chosen in (("all", cells), ("held out", [cell for cell in cells if cell.held_out])):
        close = float(np.mean([cell.ratio <= CLOSE for cell in chosen]))
        known = f"cells at or below {CLOSE} × the best rival, {name} ({len(chosen)})"
        rows.append([known, f"{close:.0%}", f"≥ {WANTED:.0%}", _verdict(close >= WANTED)])
    for epsilon, most in MOST_RUNS.items():
        there = [cell for cell in cells if cell.epsilon == epsilon]
        bad = [psi > TOO_MUCH * cell.rivals["public"] for cell in there for psi in cell.ours]
        known = f"runs above {TOO_MUCH} × public-only at ε = {epsilon:g} ({len(bad)})"
        share = sum(bad) / max(1, len(bad))
        rows.append([known, f"{share:.1%}", f"≤ {most:.0%}", _verdict(share <= most)])
    growing = grows(cells)
    rows.append(["cells in which ψ is above that at the ε before", str(len(growing)), "0", _verdict(not growing)])
    return [*rows, *([f"  {name}", text, "", ""] for name, text in growing)]


def grows(cells: Sequence[Cell]) -> list[tuple[str, str]]:
    """Pairs in which the mean at one ε is above that at the ε before, and both."""
    means: dict[str, list[float]] = {}
    for cell in sorted(cells, key=lambda cell: cell.epsilon):
        means.setdefault(cell.pair, []).append(cell.mean)
    return [
        (pair, f"{before:.3g} at {EPSILONS[k]:g}, {after:.3g} at {EPSILONS[k + 1]:g}")
        for pair, found in means.items()
        for k, (before, after) in enumerate(itertools.pairwise(found))
        if after > before
    ]


def _verdict(holds: bool) -> str:
    return "yes" if holds else "no"


def known_rivals() -> tuple[Path | None, dict[str, Rivals]]:
    """The file that keeps the rivals' figures, if one is wanted, and what is in it."""
    named = os.environ.get("COPRIV_SHIFT_RIVALS")
    path = Path(named) if named else None
    return path, json.loads(path.read_text(encoding="utf-8")) if path is not None and path.exists() else {}


def main() -> None:
    """Print the tables."""
    if data_folder() is None:
        print("shift: no data; set COPRIV_DATA")
        return
    names = [name for name, *_ in specs()]
    begun = sorted(names, key=lambda name: next((k for k, part in enumerate(LONG) if name.startswith(part)), len(LONG)))
    path, known = known_rivals()
    found = share_out([partial(compare, name, known.get(name)) for name in begun], "pairs")
    cells = [cell for name in names for cell in found[begun.index(name)]]
    if path is not None:
        for cell in cells:
            known.setdefault(cell.pair, {})[f"{cell.epsilon:g}"] = cell.rivals
        path.write_text(json.dumps(known, indent=1, ensure_ascii=False), encoding="utf-8")
    tell_cells(cells)
    tell_worse(cells)
    tell_lending(cells)
    tell(
        "shift-summary",
        f"public rows that differ: {len(names)} pairs, {len(EPSILONS)} ε, {RUNS} runs",
        ["wanted", "measured", "bound", "held"],
        summary(cells),
    )
