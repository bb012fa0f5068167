"""Few public rows: ψ of the public model, of ours, of one-shot statistics and of owners alone, at a pure ε.

Everything that is worked out on public rows is worked out on so few: features, box, clip, geometry.
"""

from dataclasses import replace

import numpy as np

from benchmarks import peers
from benchmarks.datasets import BANKS, OTHERS, Source, scenes_of
from benchmarks.side_by_side import tell
from copriv.entropy import seeded
from copriv.losses.optimum import minimise
from copriv.planning.newton_cost import newton_costs
from copriv.privacy.guarantee import Guarantee
from copriv.simulation.cost import Scene, promised

SIZES = (20, 50, 200, 1000)
EPSILONS = (0.1, 1.0, 10.0)
RUNS, STATISTICS_RUNS, SEED = 5, 20, 14
# So many draws of public rows: how far one of few rows strays is a matter of luck.
DRAWS = 3
COLUMNS = ("public", "ours", "statistics", "alone")

Cell = dict[str, float]


def measure(scene: Scene, seed: int) -> dict[float, Cell]:
    """One draw of the public rows, at every ε."""
    table, p = peers.Table.of(scene), scene.public.parameters
    alone = float(np.median(peers.alone(table)))
    public = scene.psi(minimise(scene.objective, scene.public))
    found = {}
    for epsilon in EPSILONS:
        stream = seeded(seed, f"statistics {epsilon}")
        told = peers.moments(table, epsilon, 0.0, runs=STATISTICS_RUNS, generator=stream)
        ours, _ = newton_costs(scene, promised(Guarantee.of(epsilon), p), runs=RUNS, seed=seed)
        found[epsilon] = {"public": public, "ours": float(ours.mean()), "statistics": told, "alone": alone}
    return found


def compare(source: Source, rows: int) -> list[tuple[str, int, float, Cell]]:
    """Every scene of a source with so many public rows, averaged over draws."""
    draws: dict[tuple[str, float], list[Cell]] = {}
    for draw in range(DRAWS):
        for name, scene in scenes_of(replace(source, public_rows=rows), SEED + draw):
            for epsilon, cell in measure(scene, SEED + draw).items():
                draws.setdefault((name, epsilon), []).append(cell)
    return [
        (name, rows, epsilon, {column: float(np.mean([cell[column] for cell in cells])) for column in COLUMNS})
        for (name, epsilon), cells in draws.items()
    ]


def main() -> None:
    """Every source, with few public rows and a few more."""
    found = [cell for source in (BANKS, *OTHERS) for size in SIZES for cell in compare(source, size)]
    above = sum(cell["ours"] > cell["public"] for _, _, _, cell in found)
    tell(
        "few-rows",
        f"ψ at a pure ε, mean of {DRAWS} draws of the public rows and {RUNS} trainings each. Ours is above the public "
        f"model in {above} of {len(found)} cells. Alone: the median owner.",
        ("records", "public rows", "ε", *COLUMNS),
        [[name, size, epsilon, *(cell[column] for column in COLUMNS)] for name, size, epsilon, cell in found],
    )


if __name__ == "__main__":
    main()
