"""Newton without public rows: owners tell their second moments first, and then gradients in four rounds.

A loss bends by at most c (`Loss.curvature_bound`). So cM + 2λI bounds the Hessian everywhere if M are the second
moments of all records, and a step −(cM + 2λI)⁻¹∇f never overshoots. M is asked for once. It has noise, and eigenvalues
below the level of the noise tell nothing, so they are raised to it. In the directions of M each step is as long as the
gradient stands out from its noise: z is taken for z(1 − v/z²), or for 0 if its variance v is larger than z².

Rounds begin when somebody comes who has answered the one before. A step is taken from the last round that owners of at
least half of the records have answered. Everything after the answers is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from copriv.losses.moments import off_diagonal_weight, unpack_second_moments
from copriv.losses.objective import Objective
from copriv.rules.adaptive_inference import pooling_weights
from copriv.rules.adaptive_state import AdaptiveState, Told, pack_state, unpack_state
from copriv.rules.rule import Ask
from copriv.rules.setting import NoiseModel
from copriv.vectors import FloatArray, read_only

# Shares of an owner's budget: second moments, and then gradients.
ROUNDS = (30, 10, 10, 20, 30)
_HALF = 0.5
# No owner's numbers are beyond the bound of its answers and so many deviations of its noise.
_FURTHEST = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class LearnedCurvature:
    """Public Newton where there are no public rows, for owners with their own sizes and noise.

    Args:
        parameters: length of a model.
        objective: the loss, the regularizer and the box.
        records: n_i of each owner.
        noise: of the owners; with a menu.
    """

    parameters: int
    objective: Objective
    records: tuple[int, ...]
    noise: NoiseModel
    name = "newton"

    def begin(self) -> AdaptiveState:
        """No answers."""
        return AdaptiveState((), ())

    def ask(self, state: AdaptiveState, owner: int) -> Ask | None:
        """The owner's next round; None after the last."""
        place = sum(told.owner == owner for told in state.told)
        if place >= len(ROUNDS):
            return None
        if place == 0:
            return Ask(np.zeros(self.parameters), "second_moments", ROUNDS[0])
        begun = _of_round(state, place)
        return Ask(begun[0].ask.theta if begun else read_only(self.model(state)), "gradient", ROUNDS[place])

    def learn(self, state: AdaptiveState, owner: int, answer: FloatArray, ask: Ask) -> AdaptiveState:
        """Keep the answer; what no owner could tell counts as the most that one could."""
        bound = 1.0 if ask.kind == "second_moments" else self.noise.clip
        most = bound * math.sqrt(2) + _FURTHEST * self.noise.std_of(owner, ask)
        told = Told(owner, ask, read_only(np.clip(np.nan_to_num(answer), -most, most)))
        return AdaptiveState((), (*state.told, told))

    def model(self, state: AdaptiveState) -> FloatArray:
        """After a step from the last round that enough have answered; 0 before the first."""
        rounds = [found for place in range(1, len(ROUNDS)) if (found := _of_round(state, place))]
        enough = [found for found in rounds if self._part(found) >= _HALF] or rounds[:1]
        if not enough:
            return np.zeros(self.parameters)
        theta = enough[-1][0].ask.theta
        told, variance = self._pooled(enough[-1])
        gradient = told + 2 * self.objective.regularization * theta
        values, basis = self._curvature(_of_round(state, 0))
        along = basis.T @ gradient
        clear = along * np.maximum(1 - variance / np.maximum(along**2, np.finfo(float).tiny), 0.0)
        return self.objective.project(theta - basis @ (clear / values))

    def pack(self, state: AdaptiveState) -> bytes:
        """The answers as bytes."""
        return pack_state(state)

    def unpack(self, data: bytes) -> AdaptiveState:
        """The state again, to the last bit; fails if these bytes are none of this study."""
        return unpack_state(data, owners=len(self.records), parameters=self.parameters)

    def _part(self, told: list[Told]) -> float:
        """Which part of all records those who answered hold."""
        return sum(self.records[one.owner] for one in told) / sum(self.records)

    def _pooled(self, told: list[Told]) -> tuple[FloatArray, float]:
        """The answers of a round as one, and the variance of the noise in each of its numbers."""
        sizes = np.asarray([self.records[one.owner] for one in told], dtype=np.float64)
        noise = np.asarray([self.noise.std_of(one.owner, one.ask) for one in told]) ** 2
        bound = 1.0 if told[0].ask.kind == "second_moments" else self.noise.clip
        own = bound**2 / told[0].values.size / sizes
        weights = pooling_weights(sizes, own, noise)
        return np.asarray(weights @ np.stack([one.values for one in told])), float(weights**2 @ noise)

    def _curvature(self, told: list[Told]) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues and eigenvectors of the bound on the Hessian."""
        packed, variance = self._pooled(told)
        values, basis = np.linalg.eigh(unpack_second_moments(packed, self.parameters, self.noise.norm))
        level = 2 * math.sqrt(self.parameters * variance) / off_diagonal_weight(self.noise.norm)
        least = max(level, np.finfo(float).eps * max(float(values[-1]), np.finfo(float).tiny))
        bent = self.objective.loss.curvature_bound * np.maximum(values, least)
        return bent + 2 * self.objective.regularization, basis


def _of_round(state: AdaptiveState, place: int) -> list[Told]:
    """Every owner's answer in a round, in the order in which they came; the first is that of second moments."""
    counts: dict[int, int] = {}
    found = []
    for told in state.told:
        if counts.get(told.owner, 0) == place:
            found.append(told)
        counts[told.owner] = counts.get(told.owner, 0) + 1
    return found
