"""What a rule costs: ψ over many simulated runs on records, with real clipping and the noise that a guarantee demands.

Runs that ask an owner at the same model share one reading of its records, as public Newton's do at their first
question; the others share a reading too, model by model. Only the noise differs between runs, and the order in which
owners are met: every owner once in random order, as many times as it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from copriv.entropy import seeded
from copriv.losses.objective import Objective, relative_fitness
from copriv.losses.optimum import minimise
from copriv.losses.passes import clipped_average_gradients
from copriv.losses.sample import Sample
from copriv.privacy.calibration import mechanism_norm
from copriv.privacy.exact import SimulatedVector
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.sensitivity import of_average_gradient
from copriv.protocol.commitment import calibrate_gradients
from copriv.rules.rule import Rule
from copriv.simulation.radial import Radial
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


class SimulatedNoise(Protocol):
    """Simulated noise of one owner."""

    @property
    def noise_std(self) -> float:
        """Standard deviation on each coordinate."""

    def simulate_noise(self, exact: SimulatedVector, generator: np.random.Generator) -> FloatArray:
        """The exact answer with noise."""


@dataclass(frozen=True, slots=True)
class Protection:
    """How owners protect answers: the norm of their clip, and the noise for so many records, such a clip, K answers."""

    norm: Norm
    noise: Callable[[int, float, int], SimulatedNoise]

    def of(self, records: Sequence[int], clip: float, answers: int) -> list[SimulatedNoise]:
        """The noise of each owner."""
        made = {size: self.noise(size, clip, answers) for size in set(records)}
        return [made[size] for size in records]


def promised(guarantee: Guarantee, parameters: int) -> Protection:
    """The very noise that `make_commitment` gives under a guarantee: Laplace if it is pure, else Gaussian."""

    def noise(records: int, clip: float, answers: int) -> SimulatedNoise:
        size = {"records": records, "parameters": parameters}
        return calibrate_gradients(guarantee, clip=clip, answers=answers, **size).mechanism

    return Protection(mechanism_norm(guarantee), noise)


def radial(epsilon: float, parameters: int) -> Protection:
    """The K-norm mechanism under a pure ε."""

    def noise(records: int, clip: float, answers: int) -> SimulatedNoise:
        sensitivity = of_average_gradient(clip=clip, records=records, parameters=parameters, norm=Norm.L2)
        return Radial(sensitivity.value * answers / epsilon, parameters)

    return Protection(Norm.L2, noise)


def simulate_rule(
    rule: Rule[State], scene: Scene, protection: Protection, *, clip: float, answers: int, runs: int, seed: int
) -> list[State]:
    """The final state of every run, after so many answers of each owner."""
    orders, stream = seeded(seed, "orders"), seeded(seed, "noise")
    noise = protection.of(scene.records, clip, answers)
    met = np.stack([_order(len(scene.samples), answers, orders) for _ in range(runs)])
    states = [rule.begin() for _ in range(runs)]
    for k in range(met.shape[1]):
        for owner in np.unique(met[:, k]).tolist():
            asking = np.flatnonzero(met[:, k] == owner).tolist()
            questions = np.stack([rule.question(states[r], owner) for r in asking])
            for r, exact in zip(asking, _answers(scene, owner, questions, clip, protection.norm), strict=True):
                answer = noise[owner].simulate_noise(SimulatedVector(exact), stream)
                states[r] = rule.absorb(states[r], owner, answer)
    return states


def _order(owners: int, answers: int, stream: np.random.Generator) -> IntArray:
    return np.concatenate([stream.permutation(owners) for _ in range(answers)])


def _answers(scene: Scene, owner: int, questions: FloatArray, clip: float, norm: Norm) -> FloatArray:
    """Exact answers, one reading for all models and one computation for those that are the same."""
    different, place = np.unique(questions, axis=0, return_inverse=True)
    return clipped_average_gradients(scene.objective.loss, scene.samples[owner], different, clip, norm)[place.ravel()]
