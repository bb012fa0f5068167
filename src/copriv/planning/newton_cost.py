"""What public Newton costs at the setting that the public rows recommend: ψ over many simulated runs on records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from copriv.forecast.newton import ANSWERS, NewtonPrediction, best_prediction
from copriv.losses.optimum import minimise
from copriv.rules.newton import NewtonRule
from copriv.simulation.cost import Protection, Scene, simulate_rule
from copriv.vectors import FloatArray


def newton_prediction(
    scene: Scene, protection: Protection, start: FloatArray, choices: Sequence[int] = ANSWERS
) -> NewtonPrediction:
    """The clip and number of answers that the public rows recommend."""
    return best_prediction(
        scene.public,
        scene.objective,
        records=scene.records,
        deviations={k: [noise.noise_std for noise in protection.of(scene.records, 1.0, k)] for k in choices},
        norm=protection.norm,
        start=start,
    )


def newton_costs(scene: Scene, protection: Protection, *, runs: int, seed: int) -> tuple[FloatArray, NewtonPrediction]:
    """ψ of public Newton in every run, and the clip, number of answers and ψ that were predicted."""
    start = minimise(scene.objective, scene.public)
    plan = newton_prediction(scene, protection, start)
    rule = NewtonRule.of(
        scene.public,
        scene.objective,
        records=scene.records,
        noise_std=[noise.noise_std for noise in protection.of(scene.records, plan.clip, plan.answers)],
        clip=plan.clip,
        norm=protection.norm,
        start=start,
    )
    states = simulate_rule(rule, scene, protection, clip=plan.clip, answers=plan.answers, runs=runs, seed=seed)
    return np.asarray([scene.psi(rule.model(state)) for state in states]), plan
