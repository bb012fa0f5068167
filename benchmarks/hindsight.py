"""What ours lacks under a shift: how much of it is the clip, and how much more ε would make up for it.

The rivals of `benchmarks.shift` are tuned on the records, their clips too; ours has a clip that the public rows
recommend. If no clip in hindsight brings ours near them, a menu of clips would not either. And what rivals know
beforehand is worth as much as the ε that ours would need besides to be where they are. The rivals' figures are those
that `benchmarks.shift` kept (benchmarks/results/shift.json); tables with hundreds of thousands of records are left out.
"""

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from benchmarks.datasets import data_folder
from benchmarks.many_hands import share_out
from benchmarks.shift import CLOSE, EPSILONS, SEED
from benchmarks.shift_pairs import load, specs
from benchmarks.side_by_side import RESULTS, tell
from copriv.losses.optimum import minimise
from copriv.planning.newton_cost import menu_prediction, menu_rule
from copriv.privacy.guarantee import Guarantee
from copriv.simulation.cost import Scene, promised, simulate_rule
from copriv.vectors import FloatArray

RUNS = 5
# Times the clip that the public rows recommend.
CLIPS = (0.35, 0.6, 1.0, 1.6)
# Times the ε that rivals have.
RICHER = (1.0, 1.3, 1.6, 2.0, 2.5)
LARGE = ("lending order", "flights month", "carrier")


@dataclass(frozen=True)
class Hindsight:
    """One pair at one ε: mean ψ at every clip, and with more ε."""

    pair: str
    epsilon: float
    costs: tuple[float, ...]
    richer: tuple[float, ...]


def measure(name: str) -> list[Hindsight]:
    """Every ε of one pair."""
    scene = load(name).scene
    return [
        Hindsight(
            name,
            epsilon,
            tuple(_cost(scene, epsilon, clip) for clip in CLIPS),
            tuple(_cost(scene, times * epsilon, 1.0) for times in RICHER),
        )
        for epsilon in EPSILONS
    ]


def _cost(scene: Scene, epsilon: float, times: float) -> float:
    """Mean ψ of ours at so many times its clip."""
    protection = promised(Guarantee.of(epsilon), scene.public.parameters)
    start = minimise(scene.objective, scene.public)
    plan = menu_prediction(scene, protection, start)
    plan = replace(plan, clip=times * plan.clip)
    rule = menu_rule(scene, protection, start, plan)
    states = simulate_rule(rule, scene, protection, clip=plan.clip, answers=plan.answers, runs=RUNS, seed=SEED)
    return float(np.mean([scene.psi(rule.model(state)) for state in states]))


def tell_richer(ratios: FloatArray) -> None:
    """The share of cells near the best rival, if ours has more ε than the rivals."""
    near = np.mean(ratios <= CLOSE, axis=0)
    tell(
        "hindsight-richer",
        f"ours with so many times the ε of rivals that are tuned on the records; {len(ratios)} cells, {RUNS} runs",
        ["times the ε", f"cells at or below {CLOSE} × the best rival", "geometric mean of the ratio"],
        [
            [f"{times:g}", f"{share:.0%}", float(np.exp(np.mean(np.log(column))))]
            for times, share, column in zip(RICHER, near, ratios.T, strict=True)
        ],
    )


def main() -> None:
    """Print the table, and the share of cells near the best rival by the plan's clip and by the best in hindsight."""
    kept = RESULTS / "shift.json"
    if data_folder() is None or not kept.exists():
        print("hindsight: no data, or no figures of rivals; set COPRIV_DATA, run make bench-shift")
        return
    rivals: dict[tuple[str, str], float] = defaultdict(lambda: float("nan"))
    for row in json.loads(kept.read_text(encoding="utf-8"))["rows"]:
        rivals[f"{row['family']}: {row['pair']}", row["ε"]] = row["its ψ"]
    names = [name for name, *_ in specs() if not name.startswith(LARGE)]
    found = [cell for cells in share_out([partial(measure, name) for name in names], "pairs") for cell in cells]
    best_rivals = np.asarray([rivals[cell.pair, f"{cell.epsilon:g}"] for cell in found])[:, None]
    ratios = np.asarray([cell.costs for cell in found]) / best_rivals
    tell_richer(np.asarray([cell.richer for cell in found]) / best_rivals)
    rows = [
        [cell.pair, f"{cell.epsilon:g}", *map(float, ratio), float(ratio.min())]
        for cell, ratio in zip(found, ratios, strict=True)
    ]
    tell(
        "hindsight",
        f"ψ of ours over that of the best rival, at so many times the clip of the plan; means of {RUNS} runs, pure ε",
        ["pair", "ε", *(f"× {clip:g}" for clip in CLIPS), "best"],
        rows,
        width=150,
    )
    planned, best = ratios[:, CLIPS.index(1.0)], ratios.min(axis=1)
    for words, some in (("at the clip of the plan", planned), ("at the best clip in hindsight", best)):
        print(f"{words}: {np.mean(some <= CLOSE):.0%} of {len(some)} cells at or below {CLOSE} × the best rival")
