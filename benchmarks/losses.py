"""Public Newton on losses that are not quadratic: ten banks of 10,000 loans, logistic and Huber."""

import numpy as np

from benchmarks.datasets import BANKS, cut, read
from benchmarks.side_by_side import tell
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise, minimise_freely
from copriv.losses.sample import Sample
from copriv.planning.newton_cost import newton_costs
from copriv.planning.tuning import choose_limit
from copriv.privacy.guarantee import Guarantee
from copriv.simulation.cost import Scene, promised

OWNERS, RECORDS, DRAWS, RUNS = 10, 10_000, 2, 25
# Of the libraries that `cost` puts beside it.
LIBRARY_RUNS = 2
EPSILONS = (0.1, 1.0, 10.0)
REGULARIZATION = 1e-5


def make_scene(name: str, public: Sample, samples: list[Sample]) -> Scene:
    """Targets as they are, or their sign for the logistic loss."""
    loss = choose(name, 0.25 if name == "huber" else 0.0)
    if name == "logistic":
        public, *samples = (Sample(s.columns, np.where(s.targets > 0, 1.0, -1.0)) for s in (public, *samples))
    limit = choose_limit(minimise_freely(loss, REGULARIZATION, public))
    return Scene.of(Objective(loss, REGULARIZATION, limit), samples, public)


def measure(scene: Scene, epsilon: float, seed: int) -> list[float]:
    """ψ of ours, pure and with δ, foreseen, of the median bank alone and of the public model."""
    p = scene.public.parameters
    pure, plan = newton_costs(scene, promised(Guarantee.of(epsilon), p), runs=RUNS, seed=seed)
    gaussian, _ = newton_costs(scene, promised(Guarantee.of(epsilon, 1e-6), p), runs=RUNS, seed=seed)
    alone = np.median([scene.psi(minimise(scene.objective, sample)) for sample in scene.samples])
    public = scene.psi(minimise(scene.objective, scene.public))
    return [float(pure.mean()), float(gaussian.mean()), plan.cost, float(alone), public]


def main() -> None:
    """Print the table."""
    rows: dict[tuple[str, float], list[list[float]]] = {}
    for draw in range(DRAWS):
        intake = read(BANKS, draw)
        if intake is None:
            print("losses: no data; set COPRIV_DATA")
            return
        for name in ("logistic", "huber"):
            scene = make_scene(name, intake.public, cut(intake.owners[0].sample, OWNERS, RECORDS))
            for epsilon in EPSILONS:
                rows.setdefault((name, epsilon), []).append(measure(scene, epsilon, draw))
    tell(
        "losses",
        f"ψ of public Newton, {OWNERS} banks of {RECORDS:,} loans, mean of {DRAWS} draws of public rows × {RUNS} runs; "
        "logistic: whether the grade is above the public mean",
        ["loss", "ε", "ours", "ours δ", "foreseen", "alone", "public"],
        [[name, f"{epsilon:g}", *np.mean(found, axis=0).tolist()] for (name, epsilon), found in rows.items()],
    )
