"""What else the same ε could buy when the public rows differ: every other way, tuned on the records themselves.

Clip, step and number of answers of each are the best of a grid by the mean ψ of a few runs on the private records,
which no learner could look at: that favours them. The search reads every k-th record of each owner, with the noise of
them all; the runs that count read all records and have other seeds. Algorithm 1, with its 1,000 answers, reads every
k-th record in both.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks import peers
from copriv.entropy import seeded
from copriv.losses.optimum import minimise
from copriv.losses.passes import average_curvature, gradient_norms
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.planning.tuning import Pilot, candidate_clips, candidate_steps, judge_clips_and_steps
from copriv.privacy.guarantee import Guarantee
from copriv.rules.newton import NewtonRule
from copriv.rules.paper import PaperRule
from copriv.simulation.cost import Protection, Scene, promised, simulate_rule
from copriv.vectors import FloatArray, Norm

ANSWERS = (1, 2, 3)
# In the search; half as many where many owners average the noise out.
SEARCH_RUNS, MANY = 4, 20
SEARCH_RECORDS = 40_000
# A singular matrix now and then makes their mean uncertain, and they are cheap.
STATISTICS_RUNS = 50
# Its 1,000 answers take long, and it hardly ever wins.
ALGORITHM_RUNS = 10
CLIPS = 6
AVERAGED_CLIPS = (0.8, 0.99)
AVERAGED_STEPS = 6
NAMES = ("public", *(f"newton {k}" for k in ANSWERS), "statistics", "averaged", "Alg. 1")


@dataclass(frozen=True)
class Field:
    """A scene, the same with every k-th record for the search, and what does not depend on ε."""

    scene: Scene
    thin: Scene
    every: int
    start: FloatArray

    @classmethod
    def of(cls, scene: Scene) -> "Field":
        """With the public model and thinned records."""
        every = max(1, sum(scene.records) // SEARCH_RECORDS)
        samples = [Sample(np.ascontiguousarray(s.columns[:, ::every]), s.targets[::every]) for s in scene.samples]
        thin = scene if every == 1 else Scene.of(scene.objective, samples, scene.public)
        return cls(scene, thin, every, minimise(scene.objective, scene.public))

    def lengths(self, theta: FloatArray) -> FloatArray:
        """How long private gradients are at a model (L1)."""
        return gradient_norms(self.scene.objective.loss, self.thin.joint, theta, Norm.L1)

    def thinned(self, protection: Protection) -> Protection:
        """The noise of all records for whoever holds every k-th."""
        return Protection(protection.norm, lambda n, clip, answers: protection.noise(n * self.every, clip, answers))

    @property
    def steepest(self) -> float:
        """The largest curvature of all records, at 0."""
        zero = np.zeros_like(self.start)
        return float(np.linalg.eigvalsh(average_curvature(self.scene.objective.loss, self.thin.joint, zero))[-1])


Contest = Callable[[Scene, Protection, int, int], float]


def rivals(field: Field, epsilon: float, *, runs: int, seed: int) -> dict[str, float]:
    """Mean ψ of every rival at a pure ε; those that the loss does not allow are missing."""
    scene = field.scene
    protection = promised(Guarantee.of(epsilon), scene.public.parameters)
    found = {"public": scene.psi(field.start)}
    for answers in ANSWERS:
        found[f"newton {answers}"] = _best(field, protection, _newtons(field, answers), runs, seed)
    if isinstance(scene.objective.loss, SquaredLoss):
        table = peers.Table.of(scene)
        stream = seeded(seed, f"statistics {epsilon}")
        found["statistics"] = peers.moments(table, epsilon, 0.0, runs=STATISTICS_RUNS, generator=stream)
    found["Alg. 1"] = _algorithm_1(field, protection, ALGORITHM_RUNS, seed)
    found["averaged"] = _best(field, protection, _averages(field), runs, seed)
    return {name: found[name] for name in NAMES if name in found}


def _best(field: Field, protection: Protection, contests: Sequence[Contest], runs: int, seed: int) -> float:
    """The ψ of the setting that was best in the search."""
    thinned = field.thinned(protection)
    few = SEARCH_RUNS // 2 if len(field.scene.records) >= MANY else SEARCH_RUNS
    costs = [contest(field.thin, thinned, few, seed) for contest in contests]
    return contests[int(np.nanargmin(costs))](field.scene, protection, runs, seed + 1)


def _newtons(field: Field, answers: int) -> list[Contest]:
    """Public Newton at clips from the median private gradient at the public model to the longest."""
    low, high = np.quantile(field.lengths(field.start), (0.5, 1.0))
    return [_newton(field, float(clip), answers) for clip in np.geomspace(max(low, high / 100), high, CLIPS)]


def _newton(field: Field, clip: float, answers: int) -> Contest:
    def cost(scene: Scene, protection: Protection, runs: int, seed: int) -> float:
        noise = [each.noise_std for each in protection.of(scene.records, clip, answers)]
        rule = NewtonRule.of(
            scene.public, scene.objective, records=field.scene.records, noise_std=noise, clip=clip,
            norm=protection.norm, start=field.start,
        )  # fmt: skip
        states = simulate_rule(rule, scene, protection, clip=clip, answers=answers, runs=runs, seed=seed)
        return float(np.mean([scene.psi(rule.model(state)) for state in states]))

    return cost


def _averages(field: Field) -> list[Contest]:
    """Averaged steps from 0, by clip, step and number of answers."""
    owners, steepest = len(field.scene.records), field.steepest
    clips = np.quantile(field.lengths(np.zeros_like(field.start)), AVERAGED_CLIPS)
    rounds = sorted({max(1, total // owners) for total in peers.AVERAGED_ANSWERS})
    return [
        _average(float(clip), 2 / steepest * 0.5**k, answers)
        for clip in clips
        for k in range(AVERAGED_STEPS)
        for answers in rounds
    ]


def _average(clip: float, step: float, answers: int) -> Contest:
    def cost(scene: Scene, protection: Protection, runs: int, seed: int) -> float:
        return peers.averaged_cost(scene, protection, clip, step, answers, runs, seed)

    return cost


def _algorithm_1(field: Field, protection: Protection, runs: int, seed: int) -> float:
    """Algorithm 1 with real clipping, clip and step judged where every owner holds some of all private records."""
    scene, owners = field.thin, len(field.scene.records)
    answers, p = math.ceil(peers.HORIZON / owners), field.start.size
    noise = np.asarray([each.noise_std for each in protection.of(field.scene.records, 1.0, answers)])
    caps = (answers,) * owners
    pilot = Pilot(
        scene.objective, scene.joint, field.start, protection.norm, noise, caps, peers.HORIZON, gaussian=False
    )
    equal = (1 / owners,) * owners
    rule = PaperRule(p, field.scene.records, equal, 1.0, scene.objective.regularization, scene.objective.limit)
    clips, steps = candidate_clips(pilot)[::2], candidate_steps(rule, pilot)[::2]
    clip, step = judge_clips_and_steps(rule, pilot, clips, steps, seeded(seed, "Algorithm 1"))
    rule = replace(rule, step=step)
    states = simulate_rule(rule, scene, field.thinned(protection), clip=clip, answers=answers, runs=runs, seed=seed + 1)
    return float(np.mean([scene.psi(rule.model(state)) for state in states]))
