"""Many runs of averaged steps on the squared loss, from sufficient statistics; the step is the learner's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import prange, set_num_threads

from copriv.entropy import seeded
from copriv.losses.quadratic import SufficientStatistics
from copriv.rules.averaged import AveragedRule, descend
from copriv.simulation.quadratic import Noise, draw_meetings, draw_unit_noise, gradient
from copriv.vectors import CORES, FloatArray, IntArray, compiled_parallel


@dataclass(frozen=True, slots=True, eq=False)
class AveragedRuns:
    """What came of some runs: the model at the end of each, its ψ, who was met, and how often each owner answered."""

    models: FloatArray
    psi: FloatArray
    met: npt.NDArray[np.int32]
    answers: IntArray


def simulate_averaged(
    rule: AveragedRule,
    statistics: Sequence[SufficientStatistics],
    noise: Noise,
    *,
    runs: int,
    seed: int,
    availability: Sequence[float] | None = None,
) -> AveragedRuns:
    """Run averaged steps many times over the rule's horizon; an owner that reached its cap says nothing."""
    owners, joint = len(rule.records), SufficientStatistics.joint(statistics)
    gammas = None if availability is None else np.asarray(availability)
    streams = [(seeded(seed, f"schedule {r}"), seeded(seed, f"noise {r}")) for r in range(runs)]
    met = np.stack([draw_meetings(owners, gammas, rule.horizon, schedule) for schedule, _ in streams]).astype(np.int32)
    unit = np.stack([draw_unit_noise(noise.kind, (rule.horizon, rule.parameters), stream) for _, stream in streams])
    left, models = np.tile(noise.caps, (runs, 1)), np.zeros((runs, rule.parameters))
    set_num_threads(CORES)
    _run(
        (np.stack([part.curvature for part in statistics]), np.stack([part.offset for part in statistics])),
        (np.asarray(noise.noise_std), owners * np.asarray(rule.records) / sum(rule.records)),
        (rule.step, rule.regularization, rule.limit),
        (met, unit),
        left,
        models,
    )
    best = joint.fitness(joint.minimiser(rule.regularization), rule.regularization)
    psi = np.asarray([joint.fitness(theta, rule.regularization) / best - 1 for theta in models])
    return AveragedRuns(models, psi, met, noise.caps - left)


@compiled_parallel
def _run(
    statistics: tuple[FloatArray, FloatArray],
    owners: tuple[FloatArray, FloatArray],
    shape: tuple[float, float, float],
    draws: tuple[npt.NDArray[np.int32], FloatArray],
    left: IntArray,
    models: FloatArray,
) -> None:
    """Advance every run to its end, in place on `left` and `models`; the first half of the meetings is not averaged."""
    curvatures, offsets = statistics
    noise_std, weights = owners
    step, regularization, limit = shape
    met, unit = draws
    skipped = met.shape[1] // 2
    for r in prange(met.shape[0]):
        central, answers = np.zeros(models.shape[1]), 0
        for k in range(met.shape[1]):
            owner = met[r, k]
            if left[r, owner] > 0:
                left[r, owner] -= 1
                answer = gradient(curvatures[owner], offsets[owner], central)
                for j in range(answer.size):
                    answer[j] += noise_std[owner] * unit[r, k, j]
                descend(central, answer, step, weights[owner], regularization, limit)
                if answers >= skipped:
                    models[r] += central
                answers += 1
        if answers > skipped:
            models[r] /= answers - skipped
        else:
            models[r] = central
