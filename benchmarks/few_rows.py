"""Few public rows: ψ of the public model, of ours, of one-shot statistics and of owners alone, at a pure ε.

Everything that is worked out on public rows is worked out on so few: features, box, clip, geometry.
"""

import itertools
import sys
from dataclasses import replace

import numpy as np

from benchmarks import peers
from benchmarks.datasets import BANKS, OTHERS, Source, scenes_of
from benchmarks.side_by_side import tell
from copriv.entropy import seeded
from copriv.forecast.newton import NewtonForecast
from copriv.losses.moments import pack_second_moments
from copriv.losses.optimum import minimise
from copriv.losses.passes import clipped_average_gradient
from copriv.privacy.sensitivity import of_average_gradient, of_second_moments
from copriv.rules.adaptive_newton import KINDS, MOST_ANSWERS, SHARES, AdaptiveNewton
from copriv.rules.adaptive_state import AdaptiveState
from copriv.rules.difference import chances_of_shifts
from copriv.rules.rule import Ask
from copriv.rules.setting import NoiseModel
from copriv.simulation.cost import Scene
from copriv.vectors import FloatArray, Norm

SIZES = (20, 50, 200, 1000)
EPSILONS = (0.1, 1.0, 10.0)
RUNS, STATISTICS_RUNS, SEED = 5, 20, 14
# So many draws of public rows: how far one of few rows strays is a matter of luck.
DRAWS = 3
COLUMNS = ("public", "ours", "statistics", "alone")

Cell = dict[str, float]


class Records:
    """Owners' exact answers, each worked out once."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self._known = scene, {}

    def answer(self, owner: int, ask: Ask, clip: float) -> FloatArray:
        """What an owner would say without noise."""
        key = (owner, ask.kind, ask.theta.tobytes(), clip)
        if key not in self._known:
            self._known[key] = self._work_out(owner, ask, clip)
        return self._known[key]

    def _work_out(self, owner: int, ask: Ask, clip: float) -> FloatArray:
        sample = self.scene.samples[owner]
        if ask.kind == "second_moments":
            return pack_second_moments(sample, Norm.L1)
        return clipped_average_gradient(self.scene.objective.loss, sample, ask.theta, clip, Norm.L1)


def noise_model(scene: Scene, epsilon: float, clip: float) -> NoiseModel:
    """Laplace noise of every owner at a share of 100 %."""
    p, sizes = scene.public.parameters, scene.records
    steps = [of_average_gradient(clip=clip, records=n, parameters=p, norm=Norm.L1).value for n in sizes]
    squares = [of_second_moments(row_norm=1.0, records=n, parameters=p, norm=Norm.L1).value for n in sizes]
    deviations = [tuple(2**0.5 * value / epsilon for value in each) for each in (steps, squares)]
    return NoiseModel(deviations[0], clip, Norm.L1, scene.public, SHARES, KINDS, deviations[1])


def play(rule: AdaptiveNewton, records: Records, stream: np.random.Generator) -> AdaptiveState:
    """One training: every owner in random order, as many times as it answers."""
    state, noise = rule.begin(), rule.setting.noise
    for owner in itertools.chain(*(stream.permutation(len(noise.noise_std)).tolist() for _ in range(MOST_ANSWERS))):
        ask = rule.ask(state, owner)
        if ask is None:
            continue
        exact = records.answer(owner, ask, noise.clip)
        loud = stream.laplace(scale=noise.std_of(owner, ask) / 2**0.5, size=exact.size)
        state = rule.learn(state, owner, exact + loud, ask)
    return state


def ours(records: Records, epsilon: float, runs: int, seed: int) -> list[float]:
    """ψ of our default in every run, at a pure ε."""
    scene = records.scene
    start = minimise(scene.objective, scene.public)
    ahead = NewtonForecast.of(scene.public, scene.objective, Norm.L1, start)
    clip = ahead.best_clip(scene.records, noise_model(scene, epsilon, 1.0).noise_std, chances_of_shifts())
    noise = noise_model(scene, epsilon, clip)
    rule = AdaptiveNewton.of(scene.public, scene.objective, records=scene.records, noise=noise, start=start)
    stream = seeded(seed, f"ours {epsilon}")
    return [scene.psi(rule.model(play(rule, records, stream))) for _ in range(runs)]


def measure(scene: Scene, seed: int) -> dict[float, Cell]:
    """One draw of the public rows, at every ε."""
    table, records = peers.Table.of(scene), Records(scene)
    alone = float(np.median(peers.alone(table)))
    public = scene.psi(minimise(scene.objective, scene.public))
    found = {}
    for epsilon in EPSILONS:
        stream = seeded(seed, f"statistics {epsilon}")
        told = peers.moments(table, epsilon, 0.0, runs=STATISTICS_RUNS, generator=stream)
        mean = float(np.mean(ours(records, epsilon, RUNS, seed)))
        found[epsilon] = {"public": public, "ours": mean, "statistics": told, "alone": alone}
    return found


def compare(source: Source, rows: int) -> list[list[object]]:
    """Every scene of a source with so many public rows, averaged over draws."""
    draws: dict[tuple[str, float], list[Cell]] = {}
    for draw in range(DRAWS):
        for name, scene in scenes_of(replace(source, public_rows=rows), SEED + draw):
            for epsilon, cell in measure(scene, SEED + draw).items():
                draws.setdefault((name, epsilon), []).append(cell)
    return [
        [name, rows, epsilon, *(float(np.mean([cell[column] for cell in cells])) for column in COLUMNS)]
        for (name, epsilon), cells in draws.items()
    ]


def main() -> None:
    """Every source, with few public rows and a few more."""
    rows = [row for source in (BANKS, *OTHERS) for size in SIZES for row in compare(source, size)]
    above = [row for row in rows if row[4] > row[3]]
    tell(
        "few-rows",
        f"ψ at a pure ε, mean of {DRAWS} draws of the public rows and {RUNS} trainings each. Ours is above the public "
        f"model in {len(above)} of {len(rows)} cells. Alone: the median owner.",
        ("records", "public rows", "ε", *COLUMNS),
        rows,
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
