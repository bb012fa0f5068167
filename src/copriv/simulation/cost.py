"""What a rule costs: ψ over many simulated runs on records, with real clipping and the noise that a guarantee demands.

Runs that ask an owner at the same model share one reading of its records, as public Newton's do at their first
question; the others share a reading too, model by model. Only the noise differs between runs, and the order in which
owners are met: every owner once in random order, as many times as it answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from copriv.entropy import seeded
from copriv.losses.objective import Objective, relative_fitness
from copriv.losses.optimum import minimise
from copriv.losses.passes import clipped_average_gradients
from copriv.losses.sample import Sample
from copriv.privacy.calibration import Calibration, calibrate, mechanism_norm
from copriv.privacy.exact import SimulatedVector
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.sensitivity import of_average_gradient
from copriv.rules.newton import NewtonRule
from copriv.rules.prospect import Prospect, best_prospect
from copriv.rules.rule import Rule
from copriv.vectors import FloatArray, IntArray, Norm

State = TypeVar("State")


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Owners' records, public rows, the fitness, and the best that all records together allow."""

    objective: Objective
    samples: tuple[Sample, ...]
    public: Sample
    joint: Sample
    best: float

    @classmethod
    def of(cls, objective: Objective, samples: Sequence[Sample], public: Sample) -> Scene:
        """With θ* found on all records."""
        joint = Sample.join(samples)
        return cls(objective, tuple(samples), public, joint, objective.fitness(joint, minimise(objective, joint)))

    @property
    def records(self) -> tuple[int, ...]:
        """n_i of each owner."""
        return tuple(sample.records for sample in self.samples)

    def psi(self, theta: FloatArray) -> float:
        """ψ of a model, on all records."""
        return relative_fitness(self.objective.fitness(self.joint, theta), self.best)


def calibrations(
    guarantee: Guarantee, *, records: Sequence[int], parameters: int, clip: float, answers: int
) -> tuple[Calibration, ...]:
    """The noise of each owner, all under one guarantee: what `make_promise` gives for the same clip."""
    norm = mechanism_norm(guarantee)
    made = {
        size: calibrate(
            guarantee,
            answers=answers,
            sensitivity=of_average_gradient(clip=clip, records=size, parameters=parameters, norm=norm),
            parameters=parameters,
        )
        for size in set(records)
    }
    return tuple(made[size] for size in records)


def simulate_rule(
    rule: Rule[State],
    scene: Scene,
    noise: Sequence[Calibration],
    *,
    clip: float,
    norm: Norm,
    answers: int,
    runs: int,
    seed: int,
) -> list[State]:
    """The final state of every run, after so many answers of each owner."""
    orders, streams = seeded(seed, "orders"), seeded(seed, "noise")
    met = np.stack([_order(len(scene.samples), answers, orders) for _ in range(runs)])
    states = [rule.begin() for _ in range(runs)]
    for k in range(met.shape[1]):
        for owner in np.unique(met[:, k]).tolist():
            asking = np.flatnonzero(met[:, k] == owner).tolist()
            questions = np.stack([rule.question(states[r], owner) for r in asking])
            exact = _answers(scene, owner, questions, clip, norm)
            for r, answer in zip(asking, exact, strict=True):
                noisy = noise[owner].mechanism.imitate(SimulatedVector(answer), streams)
                states[r] = rule.absorb(states[r], owner, noisy)
    return states


def _order(owners: int, answers: int, stream: np.random.Generator) -> IntArray:
    return np.concatenate([stream.permutation(owners) for _ in range(answers)])


def _answers(scene: Scene, owner: int, questions: FloatArray, clip: float, norm: Norm) -> FloatArray:
    """Exact answers, one reading for all models and one computation for those that are the same."""
    different, place = np.unique(questions, axis=0, return_inverse=True)
    return clipped_average_gradients(scene.objective.loss, scene.samples[owner], different, clip, norm)[place.ravel()]


def newton_prospect(scene: Scene, guarantee: Guarantee, start: FloatArray, choices: Sequence[int] = (1, 2)) -> Prospect:
    """The clip and number of answers that the public rows recommend under a guarantee."""
    units = {
        answers: [
            calibration.mechanism.deviation
            for calibration in calibrations(
                guarantee, records=scene.records, parameters=scene.public.parameters, clip=1.0, answers=answers
            )
        ]
        for answers in choices
    }
    return best_prospect(
        scene.public,
        scene.objective,
        records=scene.records,
        deviations=units,
        norm=mechanism_norm(guarantee),
        start=start,
    )


def newton_costs(scene: Scene, guarantee: Guarantee, *, runs: int, seed: int) -> tuple[FloatArray, Prospect]:
    """ψ of public Newton in every run, and the clip, number of answers and ψ that were foreseen."""
    start, norm = minimise(scene.objective, scene.public), mechanism_norm(guarantee)
    plan = newton_prospect(scene, guarantee, start)
    noise = calibrations(guarantee, records=scene.records, parameters=start.size, clip=plan.clip, answers=plan.answers)
    rule = NewtonRule.of(
        scene.public,
        scene.objective,
        records=scene.records,
        deviations=[calibration.mechanism.deviation for calibration in noise],
        clip=plan.clip,
        norm=norm,
        start=start,
    )
    states = simulate_rule(rule, scene, noise, clip=plan.clip, norm=norm, answers=plan.answers, runs=runs, seed=seed)
    return np.asarray([scene.psi(rule.model(state)) for state in states]), plan
