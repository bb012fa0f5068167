"""Public rows of the owners' own population: newton that looks first beside newton with one price an answer.

The look and what follows it cost something where there is nothing to find. Both rules run on the same draws of public
rows, each with the clip and the number of answers that the public rows recommend for it.
"""

from functools import partial

import numpy as np

from benchmarks.datasets import BANKS, OTHERS, Source, scenes_of
from benchmarks.many_hands import share_out
from benchmarks.side_by_side import tell
from copriv.losses.optimum import minimise
from copriv.planning.newton_cost import fixed_costs, newton_costs
from copriv.privacy.guarantee import Guarantee
from copriv.simulation.cost import Scene, promised

EPSILONS = (0.1, 1.0, 10.0)
# ψ of one run strays by half of itself: 16 runs in all told a ratio to a fifth.
RUNS, DRAWS, SEED = 24, 2, 14
# What looking may cost, at most.
MOST = 1.3


def measure(scene: Scene, epsilon: float, seed: int) -> tuple[float, float, float, int]:
    """Mean ψ of the public model, with answers of one price and with a menu; and how many answers of one price."""
    protection = promised(Guarantee.of(epsilon), scene.public.parameters)
    fixed, plan = fixed_costs(scene, protection, runs=RUNS, seed=seed)
    menu, _ = newton_costs(scene, protection, runs=RUNS, seed=seed)
    public = scene.psi(minimise(scene.objective, scene.public))
    return public, float(fixed.mean()), float(menu.mean()), plan.answers


def measure_all(source: Source, seed: int) -> dict[tuple[str, float], tuple[float, float, float, int]]:
    """All scenes of one draw at every ε."""
    return {
        (name, epsilon): measure(scene, epsilon, seed)
        for name, scene in scenes_of(source, seed)
        for epsilon in EPSILONS
    }


def main() -> None:
    """All scenes of `bench-cost`, every ε, means over draws of the public rows."""
    tasks = [partial(measure_all, source, SEED + draw) for source in (BANKS, *OTHERS) for draw in range(DRAWS)]
    cells: dict[tuple[str, float], list[tuple[float, float, float, int]]] = {}
    for found in share_out(tasks, "draws"):
        for cell, figures in found.items():
            cells.setdefault(cell, []).append(figures)
    rows: list[list[object]] = []
    for (name, epsilon), draws in cells.items():
        public, fixed, menu, _ = np.mean(draws, axis=0)
        answers = "/".join(str(draw[3]) for draw in draws)
        held = "yes" if menu <= MOST * fixed else "no"
        rows.append([name, f"{epsilon:g}", public, fixed, answers, menu, menu / fixed, held])
    tell(
        "unshifted",
        f"ψ without a shift, pure ε; unit: one record, adjacency: replace-one; means of {DRAWS} draws of the public "
        f"rows and {RUNS} runs each; held: at most {MOST} times one price",
        ["table", "ε", "public", "one price", "answers", "looks first", "ratio", "held"],
        rows,
    )
    kept = sum(row[-1] == "yes" for row in rows)
    print(f"{kept} of {len(rows)} cells are at most {MOST} × one price")
