"""The prototype of public Newton, measured again: one correction, one weighing, and settings told by private records.

An answer at θ_q, plus what the same clip takes from the public rows there, is a linear model of the owner's gradient,
ĝ_i + A(θ − θ_q) with A the public Hessian. The θ at which their weighted sum and ∇g vanish is drawn back towards the
public model θ_0: in every eigendirection of A by the share that the public variance f/(n_pub H_j) has of that and the
noise's, σ_w²/(4H_j²), with 2H_j the eigenvalue. Clip, K and where to ask are those of the least ψ on the very records:
what no learner could know.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.passes import average_gradient, clipped_average_gradient, gradient_norms
from copriv.losses.sample import Sample
from copriv.simulation.cost import Protection, Scene, simulate_rule
from copriv.vectors import FloatArray, Norm

QUANTILES = (0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
ANSWERS = (1, 2)
SEARCH_RUNS = 3


@dataclass(frozen=True, eq=False)
class PrototypeState:
    """The model, and a row for each answer: whose, and where its linear model of the gradient vanishes, times A."""

    central: FloatArray
    owners: tuple[int, ...]
    pulls: FloatArray


@dataclass(frozen=True, eq=False)
class PrototypeRule:
    """The rule for the squared loss; `roaming` asks at the present model, otherwise everyone is asked at θ_0."""

    public: Sample
    objective: Objective
    start: FloatArray
    records: tuple[int, ...]
    deviations: tuple[float, ...]
    clip: float
    norm: Norm
    roaming: bool
    name: ClassVar[str] = "prototype"
    asks: ClassVar[Literal["gradient"]] = "gradient"

    @property
    def answer_size(self) -> int:
        """A gradient's."""
        return self.start.size

    @cached_property
    def curvature(self) -> FloatArray:
        """A, of the loss alone."""
        return self.objective.curvature(self.public, self.start) - self._ridge

    @cached_property
    def directions(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues and eigenvectors of A with ∇²g."""
        values, basis = np.linalg.eigh(self.curvature + self._ridge)
        return values, basis

    @property
    def _ridge(self) -> FloatArray:
        return np.asarray(2 * self.objective.regularization * np.eye(self.start.size))

    def begin(self) -> PrototypeState:
        """The public model."""
        return PrototypeState(self.start, (), np.empty((0, self.start.size)))

    def question(self, state: PrototypeState, owner: int) -> FloatArray:  # noqa: ARG002
        """The present model, or the public one."""
        return state.central if self.roaming else self.start

    def absorb(
        self, state: PrototypeState, owner: int, answer: FloatArray, asked: FloatArray | None = None
    ) -> PrototypeState:
        """Add back what the clip took, note the linear model, and move to where their sum vanishes."""
        asked = self.question(state, owner) if asked is None else asked
        loss = self.objective.loss
        taken = average_gradient(loss, self.public, asked) - clipped_average_gradient(
            loss, self.public, asked, self.clip, self.norm
        )
        pulls = np.vstack([state.pulls, self.curvature @ asked - (answer + taken)])
        owners = (*state.owners, owner)
        return PrototypeState(self._weigh(owners, pulls), owners, pulls)

    def _weigh(self, owners: tuple[int, ...], pulls: FloatArray) -> FloatArray:
        """The owners' common optimum, drawn back towards the public model direction by direction."""
        told = np.bincount(owners, minlength=len(self.records))[list(owners)]
        weights = np.asarray(self.records, dtype=np.float64)[list(owners)] / told
        weights /= weights.sum()
        noise = float(weights**2 @ np.asarray(self.deviations)[list(owners)] ** 2)
        values, basis = self.directions
        public = 2 * self.objective.fitness(self.public, self.start) / (self.public.records * values)
        share = public / (public + noise / values**2)
        move = basis.T @ (weights @ pulls) / values - basis.T @ self.start
        return self.objective.project(self.start + basis @ (share * move))

    def model(self, state: PrototypeState) -> FloatArray:
        """The model after the last answer."""
        return state.central


def prototype_cost(scene: Scene, protection: Protection, *, runs: int, seed: int) -> float:
    """ψ at the clip, K and place to ask that do best on the private records."""
    start = minimise(scene.objective, scene.public)
    lengths = gradient_norms(scene.objective.loss, scene.public, start, protection.norm)
    settings = list(itertools.product(np.quantile(lengths, QUANTILES).tolist(), ANSWERS, (False, True)))
    found = [_cost(scene, protection, start, *setting, SEARCH_RUNS, seed) for setting in settings]
    return _cost(scene, protection, start, *settings[int(np.argmin(found))], runs, seed)


def _cost(
    scene: Scene,
    protection: Protection,
    start: FloatArray,
    clip: float,
    answers: int,
    roaming: bool,
    runs: int,
    seed: int,
) -> float:
    deviations = tuple(noise.noise_std for noise in protection.of(scene.records, clip, answers))
    rule = PrototypeRule(
        scene.public, scene.objective, start, scene.records, deviations, clip, protection.norm, roaming
    )
    states = simulate_rule(rule, scene, protection, clip=clip, answers=answers, runs=runs, seed=seed)
    return float(np.mean([scene.psi(rule.model(state)) for state in states]))
