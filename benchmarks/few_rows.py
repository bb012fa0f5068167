"""Few public rows, or none: ψ of the public model, of ours, of one-shot statistics and of owners alone, at a pure ε.

Everything that is worked out on public rows is worked out on so few: features, box, clip, geometry. Where there are
none, only the features are known, as if they had been agreed on.
"""

import itertools
from dataclasses import replace

import numpy as np

from benchmarks import peers
from benchmarks.datasets import BANKS, OTHERS, REGULARIZATION, Source, scenes_of
from benchmarks.side_by_side import tell
from copriv.entropy import seeded
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.planning.newton_cost import newton_costs
from copriv.planning.outline import Outline
from copriv.planning.settle import settle_newton
from copriv.planning.training_spec import TrainingSpec
from copriv.privacy.guarantee import Guarantee
from copriv.rules.adaptive_newton import KINDS, SHARES
from copriv.rules.adaptive_questions import MOST_ANSWERS
from copriv.rules.learned_curvature import LearnedCurvature
from copriv.rules.setting import NoiseModel
from copriv.simulation.cost import Scene, promised, simulate_rule
from copriv.vectors import FloatArray

SIZES = (20, 50, 200, 1000)
EPSILONS = (0.1, 1.0, 10.0)
RUNS, STATISTICS_RUNS, SEED = 5, 20, 14
# So many draws of public rows: how far one of few rows strays is a matter of luck.
DRAWS = 3
LOSSES = ("squared", "huber", "logistic")
# The box of studies without public rows, Huber's threshold, and λ of labels, which may be separable.
BOX, THRESHOLD, LABELLED = 10.0, 0.2, 1e-3
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


def without(scene: Scene, epsilon: float, seed: int) -> FloatArray:
    """ψ of every run without public rows, at the clip that the plan has."""
    p, protection = scene.joint.parameters, promised(Guarantee.of(epsilon), scene.joint.parameters)
    spec = TrainingSpec(
        guarantees=(Guarantee.of(epsilon),) * len(scene.records),
        rule="newton",
        loss=scene.objective.loss.name,
        threshold=scene.objective.loss.threshold,
        regularization=scene.objective.regularization,
        answers=None,
    )
    clip = settle_newton(Outline(spec, scene.records, p, None)).clip
    if protection.second_moments is None:
        raise ValueError("noise of second moments")
    second = {size: protection.second_moments(size).noise_std for size in set(scene.records)}
    deviations = tuple(noise.noise_std for noise in protection.of(scene.records, clip, 1))
    squares = tuple(second[size] for size in scene.records)
    noise = NoiseModel(deviations, clip, protection.norm, None, SHARES, KINDS, squares)
    rule = LearnedCurvature(p, scene.objective, scene.records, noise)
    states = simulate_rule(rule, scene, protection, clip=clip, answers=MOST_ANSWERS, runs=RUNS, seed=seed)
    return np.asarray([scene.psi(rule.model(state)) for state in states])


def in_terms_of(loss: str, scene: Scene) -> Scene:
    """The same records under another loss, in the widest box; labels are whether a target is above the median."""
    samples = scene.samples
    if loss == "logistic":
        middle = float(np.median(scene.joint.targets))
        samples = tuple(Sample(each.columns, np.where(each.targets > middle, 1.0, -1.0)) for each in samples)
    regularization = LABELLED if loss == "logistic" else REGULARIZATION
    return Scene.of(
        Objective(choose(loss, THRESHOLD if loss == "huber" else 0.0), regularization, BOX), samples, samples[0]
    )


def compare_without(source: Source) -> list[list[object]]:
    """Every scene of a source and every loss, without public rows."""
    rows: list[list[object]] = []
    for (name, scene), loss in itertools.product(list(scenes_of(source, SEED)), LOSSES):
        there = in_terms_of(loss, scene)
        alone = float(np.median([there.psi(minimise(there.objective, sample)) for sample in there.samples]))
        nothing = there.psi(np.zeros(there.joint.parameters))
        for epsilon in EPSILONS:
            told: float | None = None
            if loss == "squared":
                stream = seeded(SEED, f"statistics {epsilon}")
                told = peers.moments(peers.Table.of(there), epsilon, 0.0, runs=STATISTICS_RUNS, generator=stream)
            rows.append([name, loss, epsilon, nothing, float(without(there, epsilon, SEED).mean()), told, alone])
    return rows


def main() -> None:
    """Every source, with few public rows and a few more, and with none."""
    tell(
        "no-public-rows",
        f"ψ at a pure ε without public rows, mean of {RUNS} trainings; the features are those of a study of "
        "the same table. Zero: the model that is 0. Alone: the median owner.",
        ("records", "loss", "ε", "zero", "ours", "statistics", "alone"),
        [row for source in (BANKS, *OTHERS) for row in compare_without(source)],
    )
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
