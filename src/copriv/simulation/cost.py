"""What a rule costs: ψ over many simulated runs on records, with real clipping and the noise that a guarantee demands.

Runs that ask an owner at the same model share one reading of its records, as public Newton's do at their first
question; the others share a reading too, model by model. Only the noise differs between runs, and the order in which
owners are met: every owner once in random order, as many times as it answers. A rule that chooses from a menu is run
one training after the other, and exact answers are kept for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.losses.moments import pack_second_moments, positive_share, second_moment_count
from copriv.losses.objective import Objective, relative_fitness
from copriv.losses.optimum import minimise
from copriv.losses.passes import clipped_average_gradients
from copriv.losses.sample import Sample
from copriv.losses.turned import turn, turned_model
from copriv.privacy.calibration import calibrate, mechanism_norm
from copriv.privacy.exact import SimulatedVector
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.levels import simulate_levels
from copriv.privacy.sensitivity import of_average_gradient, of_positives, of_second_moments
from copriv.protocol.commitment import calibrate_gradients, told_gradient
from copriv.rules.rule import AnyRule, Ask, ChoosingRule, axes_of, fill_of
from copriv.simulation.radial import Radial
from copriv.vectors import Axes, FloatArray, IntArray, Norm

State = TypeVar("State")
# So many exact answers are kept for the next training of a rule that chooses.
_KEPT = 4096
_WHOLE = 100


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
    """How owners protect answers.

    Args:
        norm: of their clip.
        noise: for so many records, such a clip, K answers.
        second_moments: for so many records, of second moments for a whole budget; None if there is no menu.
        positives: likewise of the share of positive targets.
    """

    norm: Norm
    noise: Callable[[int, float, int], SimulatedNoise]
    second_moments: Callable[[int], SimulatedNoise] | None = None
    positives: Callable[[int], SimulatedNoise] | None = None

    def of(self, records: Sequence[int], clip: float, answers: int) -> list[SimulatedNoise]:
        """The noise of each owner."""
        made = {size: self.noise(size, clip, answers) for size in set(records)}
        return [made[size] for size in records]


def promised(guarantee: Guarantee, parameters: int) -> Protection:
    """The very noise that `make_commitment` gives under a guarantee: Laplace if it is pure, else Gaussian."""

    def noise(records: int, clip: float, answers: int) -> SimulatedNoise:
        size = {"records": records, "parameters": parameters}
        return calibrate_gradients(guarantee, clip=clip, answers=answers, **size).mechanism

    def second_moments(records: int) -> SimulatedNoise:
        sensitivity = of_second_moments(row_norm=1.0, records=records, parameters=parameters, norm=norm)
        numbers = second_moment_count(parameters)
        return calibrate(guarantee, answers=1, sensitivity=sensitivity, parameters=numbers).mechanism

    def positives(records: int) -> SimulatedNoise:
        sensitivity = of_positives(records=records, norm=norm)
        return calibrate(guarantee, answers=1, sensitivity=sensitivity, parameters=1).mechanism

    norm = mechanism_norm(guarantee)
    return Protection(norm, noise, second_moments, positives)


def radial(epsilon: float, parameters: int) -> Protection:
    """The K-norm mechanism under a pure ε."""

    def noise(records: int, clip: float, answers: int) -> SimulatedNoise:
        sensitivity = of_average_gradient(clip=clip, records=records, parameters=parameters, norm=Norm.L2)
        return Radial(sensitivity.value * answers / epsilon, parameters)

    return Protection(Norm.L2, noise)


def simulate_rule(
    rule: AnyRule[State], scene: Scene, protection: Protection, *, clip: float, answers: int, runs: int, seed: int
) -> list[State]:
    """The final state of every run, after so many answers of each owner; of a rule that chooses, at most so many."""
    orders, stream = seeded(seed, "orders"), seeded(seed, "noise")
    met = np.stack([_order(len(scene.samples), answers, orders) for _ in range(runs)])
    if isinstance(rule, ChoosingRule):
        reader = _MenuReader.of(scene, protection, clip, fill_of(rule), axes_of(rule))
        return [_choose(rule, reader, order, stream) for order in met]
    noise = protection.of(scene.records, clip, answers)
    states = [rule.begin() for _ in range(runs)]
    for k in range(met.shape[1]):
        for owner in np.unique(met[:, k]).tolist():
            asking = np.flatnonzero(met[:, k] == owner).tolist()
            questions = np.stack([rule.question(states[r], owner) for r in asking])
            for r, exact in zip(asking, _answers(scene, owner, questions, clip, protection.norm), strict=True):
                answer = noise[owner].simulate_noise(SimulatedVector(exact), stream)
                states[r] = rule.absorb(states[r], owner, answer)
    return states


def _choose(rule: ChoosingRule[State], reader: _MenuReader, met: IntArray, stream: np.random.Generator) -> State:
    """One training of a rule that chooses from a menu; a meeting at which nothing is asked passes."""
    state, told = rule.begin(), _Levels(reader, {})
    for owner in met.tolist():
        ask = rule.ask(state, owner)
        if ask is not None:
            state = rule.learn(state, owner, told.answer(owner, ask, stream), ask)
    return state


@dataclass(frozen=True, slots=True, eq=False)
class _MenuReader:
    """Owners that answer what a menu allows; exact answers are kept, as trainings begin alike."""

    scene: Scene
    clip: float
    norm: Norm
    noises: dict[str, list[SimulatedNoise]]
    kept: dict[tuple[int, str, bytes], FloatArray]
    fill: float
    axes: Axes
    turned: tuple[Sample, ...]

    @classmethod
    def of(cls, scene: Scene, protection: Protection, clip: float, fill: float, axes: Axes) -> _MenuReader:
        """With the noise of whole budgets."""
        further = {"second_moments": protection.second_moments, "positives": protection.positives}
        if protection.second_moments is None:
            raise BadInput(
                "a rule that chooses from a menu, and noise for none", remedy="use the noise of a promise: promised()"
            )
        noises = {"gradient": protection.of(scene.records, clip, 1)}
        for kind, of_size in further.items():
            made = {} if of_size is None else {size: of_size(size) for size in set(scene.records)}
            noises[kind] = [made[size] for size in scene.records] if made else []
        turned = tuple(turn(sample, axes) for sample in scene.samples)
        return cls(scene, clip, protection.norm, noises, {}, fill, axes, turned)

    def answer(self, owner: int, ask: Ask, stream: np.random.Generator) -> FloatArray:
        """What an owner says that was not asked this before: noise grows as the share falls."""
        part = 100 / ask.share
        factor = part if self.norm is Norm.L1 else part**0.5
        if not self.noises[ask.kind]:
            raise BadInput(
                f"a question for {ask.kind}, and noise for none", remedy="use the noise of a promise: promised()"
            )
        noise = self.noises[ask.kind][owner]
        return factor * noise.simulate_noise(SimulatedVector(self.exact(owner, ask) / factor), stream)

    def exact(self, owner: int, ask: Ask) -> FloatArray:
        """What an owner's records say."""
        asked = owner, ask.kind, ask.theta.tobytes()
        if asked not in self.kept:
            if len(self.kept) >= _KEPT:
                self.kept.clear()
            self.kept[asked] = self._read(owner, ask)
        return self.kept[asked]

    def _read(self, owner: int, ask: Ask) -> FloatArray:
        sample, turned = self.scene.samples[owner], self.turned[owner]
        if ask.kind == "second_moments":
            return pack_second_moments(sample, self.norm)
        if ask.kind == "positives":
            return positive_share(sample)
        # Rows are turned once, not for every question.
        place, bounds = turned_model(ask.theta, self.axes), (self.clip, self.fill, ())
        return told_gradient(self.scene.objective.loss, turned, place, bounds, self.norm)


@dataclass(frozen=True, slots=True, eq=False)
class _Levels:
    """Owners in one training: under pure ε their gradients are drawn at every level that may still be asked for."""

    reader: _MenuReader
    drawn: dict[tuple[int, bytes], FloatArray]

    def answer(self, owner: int, ask: Ask, stream: np.random.Generator) -> FloatArray:
        """What an owner says; asked for more of the same, the answer with the noise of both shares together."""
        if ask.kind != "gradient" or self.reader.norm is not Norm.L1:
            return self.reader.answer(owner, ask, stream)
        question = owner, ask.theta.tobytes()
        if ask.before == 0:
            scale = self.reader.noises["gradient"][owner].noise_std / np.sqrt(2)
            scales = [scale * _WHOLE / level for level in range(_WHOLE, ask.share - 1, -1)]
            self.drawn[question] = simulate_levels(self.reader.exact(owner, ask), scales, stream)
        return np.asarray(self.drawn[question][_WHOLE - ask.level])


def _order(owners: int, answers: int, stream: np.random.Generator) -> IntArray:
    return np.concatenate([stream.permutation(owners) for _ in range(answers)])


def _answers(scene: Scene, owner: int, questions: FloatArray, clip: float, norm: Norm) -> FloatArray:
    """Exact answers, one reading for all models and one computation for those that are the same."""
    different, place = np.unique(questions, axis=0, return_inverse=True)
    return clipped_average_gradients(scene.objective.loss, scene.samples[owner], different, clip, norm)[place.ravel()]
