"""Averaged steps: one central model, a step for each answer, and the mean of the second half of the path.

    θ ← Π[ θ − s(∇g(θ) + N (n_i/n) Q̄) ],    model = mean of θ after the answers T/2 … T,

with s the step and Q̄ the answer at θ. Owners answer equally often, so N(n_i/n)Q̄ is on average the gradient of all
records. It needs no public rows. Averaging removes most of what noise and the order of owners add to the last θ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.protocol.terms import Terms
from copriv.rules.entry import RuleEntry
from copriv.rules.setting import NoiseModel, Owners
from copriv.vectors import FloatArray, compiled, read_only


@dataclass(frozen=True, slots=True, eq=False)
class AveragedState:
    """The present θ, the sum of the θ that count, and how many answers there were."""

    central: FloatArray
    total: FloatArray
    answers: int


@dataclass(frozen=True, slots=True)
class AveragedRule:
    """Averaged steps for owners with their own sizes.

    Args:
        parameters: length of a model.
        records: n_i of each owner.
        step: s.
        horizon: T, how many answers are expected of all owners together.
        regularization: λ of g(θ) = λ‖θ‖².
        limit: θ_max of the box.
    """

    parameters: int
    records: tuple[int, ...]
    step: float
    horizon: int
    regularization: float
    limit: float
    name = "averaged"
    asks: ClassVar[Literal["gradient"]] = "gradient"

    def __post_init__(self) -> None:
        if not self.records or min(self.records) < 1:
            raise BadInput(f"owners with {self.records} records", remedy="leave empty owners out", value=self.records)
        if self.horizon < 1:
            raise BadInput(f"the horizon is {self.horizon}", remedy="expect at least 1 answer", value=self.horizon)
        if not (math.isfinite(self.step) and self.step > 0):
            raise BadInput(f"the step is {self.step}", remedy="give a finite number greater than 0", value=self.step)

    @property
    def answer_size(self) -> int:
        """A gradient's."""
        return self.parameters

    def begin(self) -> AveragedState:
        """At 0."""
        zero = read_only(np.zeros(self.parameters))
        return AveragedState(zero, zero, 0)

    def question(self, state: AveragedState, owner: int) -> FloatArray:  # noqa: ARG002
        """The present θ, whoever is asked."""
        return state.central

    def absorb(
        self,
        state: AveragedState,
        owner: int,
        answer: FloatArray,
        asked: FloatArray | None = None,  # noqa: ARG002
    ) -> AveragedState:
        """One step, and one more θ to average over if the first half is past."""
        weight = len(self.records) * self.records[owner] / sum(self.records)
        central = state.central.copy()
        descend(central, answer, self.step, weight, self.regularization, self.limit)
        central.flags.writeable = False
        total = state.total + central if state.answers >= self.horizon // 2 else state.total
        return AveragedState(central, read_only(total), state.answers + 1)

    def model(self, state: AveragedState) -> FloatArray:
        """The mean of the θ that count; before there are any, the present one."""
        counted = state.answers - self.horizon // 2
        return state.total / counted if counted > 0 else state.central

    def pack(self, state: AveragedState) -> bytes:
        """The count, θ and the sum, as bytes."""
        return state.answers.to_bytes(8, "little") + state.central.tobytes() + state.total.tobytes()

    def unpack(self, data: bytes) -> AveragedState:
        """The state again, to the last bit."""
        if len(data) != 8 * (1 + 2 * self.parameters):
            raise BadInput(
                f"{len(data)} bytes are not a state of this rule",
                remedy="use the checkpoint of this study",
                value=len(data),
            )
        central, total = np.frombuffer(data, dtype="<f8", offset=8).reshape(2, self.parameters)
        return AveragedState(read_only(central), read_only(total), int.from_bytes(data[:8], "little"))


@compiled
def descend(
    central: FloatArray, answer: FloatArray, step: float, weight: float, regularization: float, limit: float
) -> None:
    """One step, in place on θ: the one function that the learner and every simulation run."""
    for j in range(central.size):
        moved = central[j] - step * (2 * regularization * central[j] + weight * answer[j])
        central[j] = min(max(moved, -limit), limit)


def _build(terms: Terms, owners: Owners, _noise: NoiseModel | None, _public: Sample | None) -> AveragedRule:
    shape = (terms.step, sum(owners.answers), terms.regularization, terms.limit)
    return AveragedRule(terms.parameters, owners.records, *shape)


ENTRY = RuleEntry("averaged", _build, needs=frozenset({"step"}), any_noise=True, answers=30)
