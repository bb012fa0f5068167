"""Public rows of the owners' own population: newton that looks first beside newton with one price an answer.

The look and what follows it cost something where there is nothing to find. Both rules run on the same draws of public
rows, each with the clip and the number of answers that the public rows recommend for it.
"""

import numpy as np

from benchmarks.datasets import BANKS, OTHERS, scenes_of
from benchmarks.side_by_side import tell
from copriv.losses.optimum import minimise
from copriv.planning.newton_cost import fixed_costs, newton_costs
from copriv.privacy.guarantee import Guarantee
from copriv.simulation.cost import Scene, promised

EPSILONS = (0.1, 1.0, 10.0)
RUNS, DRAWS, SEED = 8, 2, 14
# What looking may cost, at most.
MOST = 1.3


def measure(scene: Scene, epsilon: float, seed: int) -> tuple[float, float, float, int]:
    """Mean ψ of the public model, with answers of one price and with a menu; and how many answers of one price."""
    protection = promised(Guarantee.of(epsilon), scene.public.parameters)
    fixed, plan = fixed_costs(scene, protection, runs=RUNS, seed=seed)
    menu, _ = newton_costs(scene, protection, runs=RUNS, seed=seed)
    public = scene.psi(minimise(scene.objective, scene.public))
    return public, float(fixed.mean()), float(menu.mean()), plan.answers


def main() -> None:
    """All scenes of `bench-cost`, every ε, means over draws of the public rows."""
    cells: dict[tuple[str, float], list[tuple[float, float, float, int]]] = {}
    for source in (BANKS, *OTHERS):
        for draw in range(DRAWS):
            for name, scene in scenes_of(source, SEED + draw):
                for epsilon in EPSILONS:
                    cells.setdefault((name, epsilon), []).append(measure(scene, epsilon, SEED + draw))
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
