"""Algorithm 1 of the paper: owner copies and a central model with inertia.

At each meeting with owner i the learner asks at θ̄ = (θ_L + θ_i)/2 and updates (eqs. 5 to 7)

    θ_i ← Π[ θ̄ − α_i ( ∇g(θ̄)/(2N) + (n_i/n) Q̄ ) ],    θ_L ← Π[ θ̄ − α_L c_N ∇g(θ̄) ],

with α_L = ρ/(T²σ), here called the step, and α_i = α_L/γ_i, where γ_i is the probability of meeting owner i: for equal
rates α_i = Nρ/(T²σ) as printed, and for unequal ones every owner still pulls with the same expected strength. The text
prints c_N = (N − 1)/N; the proof's balance gives c_N = 1/2, with which the owners' and the learner's parts add up to ∇f
exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Literal

import numpy as np

from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.protocol.terms import Terms
from copriv.rules.entry import RuleEntry
from copriv.rules.setting import NoiseModel, Owners
from copriv.vectors import FloatArray, compiled, read_only


class CentralStep(Enum):
    """How strongly the learner itself follows the regularizer."""

    PROOF = "proof"
    PRINTED = "printed"

    def factor(self, owners: int) -> float:
        """c_N.

        >>> CentralStep.PROOF.factor(2) == CentralStep.PRINTED.factor(2)
        True
        """
        return 0.5 if self is CentralStep.PROOF else (owners - 1) / owners


@dataclass(frozen=True, slots=True, eq=False)
class PaperState:
    """θ_L and θ_1 … θ_N after `meetings` absorbed answers."""

    central: FloatArray
    copies: FloatArray
    meetings: int


@dataclass(frozen=True, slots=True)
class PaperRule:
    """Algorithm 1 for owners with their own sizes and availabilities.

    Args:
        parameters: length of a model.
        records: n_i of each owner.
        availability: γ_i of each owner.
        step: α_L.
        regularization: λ of g(θ) = λ‖θ‖².
        limit: θ_max of the box.
        central: the printed or the proof's central step.
    """

    parameters: int
    records: tuple[int, ...]
    availability: tuple[float, ...]
    step: float
    regularization: float
    limit: float
    central: CentralStep = CentralStep.PROOF
    name = "paper"
    asks: ClassVar[Literal["gradient"]] = "gradient"

    def __post_init__(self) -> None:
        _require_owners(self.records, self.availability)
        if not (math.isfinite(self.step) and self.step > 0):
            raise BadInput(f"the step is {self.step}", remedy="give a finite number greater than 0", value=self.step)

    @property
    def answer_size(self) -> int:
        """A gradient's."""
        return self.parameters

    @property
    def owners(self) -> int:
        """N."""
        return len(self.records)

    def begin(self) -> PaperState:
        """Every model starts at 0."""
        zero = np.zeros((self.owners + 1, self.parameters))
        return PaperState(read_only(zero[0]), read_only(zero[1:]), 0)

    def question(self, state: PaperState, owner: int) -> FloatArray:
        """θ̄, eq. (6)."""
        return midpoint(state.central, state.copies[owner])

    def absorb(
        self,
        state: PaperState,
        owner: int,
        answer: FloatArray,
        asked: FloatArray | None = None,  # noqa: ARG002
    ) -> PaperState:
        """Eqs. (5) and (7); an answer that comes late counts as if it were asked for now."""
        central, copies = state.central.copy(), state.copies.copy()
        meet(central, copies[owner], answer, self.coefficients(owner), self.shape)
        central.flags.writeable = copies.flags.writeable = False
        return PaperState(central, copies, state.meetings + 1)

    def model(self, state: PaperState) -> FloatArray:
        """θ_L."""
        return state.central

    def pack(self, state: PaperState) -> bytes:
        """θ_L, the copies and the count, as bytes."""
        return state.meetings.to_bytes(8, "little") + state.central.tobytes() + state.copies.tobytes()

    def unpack(self, data: bytes) -> PaperState:
        """The state again, to the last bit."""
        if len(data) != 8 * (1 + (self.owners + 1) * self.parameters):
            raise BadInput(
                f"{len(data)} bytes are not a state of this rule",
                remedy="use the checkpoint of this study",
                value=len(data),
            )
        models = read_only(np.frombuffer(data, dtype="<f8", offset=8).reshape(self.owners + 1, self.parameters))
        return PaperState(models[0], models[1:], int.from_bytes(data[:8], "little"))

    def coefficients(self, owner: int) -> tuple[float, float, float]:
        """α_i, n_i/n and α_L c_N: what `meet` needs to know of one owner."""
        weight = self.records[owner] / sum(self.records)
        return self.step / self.availability[owner], weight, self.step * self.central.factor(self.owners)

    @property
    def shape(self) -> tuple[float, float, float]:
        """1/(2N), λ and θ_max: what `meet` needs to know of the study."""
        return 1 / (2 * self.owners), self.regularization, self.limit


def step_from_rho(rho: float, *, horizon: int, strong_convexity: float) -> float:
    """α_L = ρ/(T²σ): the paper's ρ as a step.

    >>> step_from_rho(3.0, horizon=1000, strong_convexity=2e-5)
    0.15
    """
    return rho / (horizon**2 * strong_convexity)


def rho_from_step(step: float, *, horizon: int, strong_convexity: float) -> float:
    """ρ = α_L T²σ: a step in the paper's terms.

    >>> round(rho_from_step(0.15, horizon=1000, strong_convexity=2e-5), 12)
    3.0
    """
    return step * horizon**2 * strong_convexity


@compiled
def midpoint(central: FloatArray, copy: FloatArray) -> FloatArray:
    """θ̄ = (θ_L + θ_i)/2."""
    return 0.5 * (central + copy)


@compiled
def meet(
    central: FloatArray,
    copy: FloatArray,
    answer: FloatArray,
    coefficients: tuple[float, float, float],
    shape: tuple[float, float, float],
) -> None:
    """One meeting, in place on θ_L and θ_i: the one function that the learner and every simulation run.

    The last two are `PaperRule.coefficients` of the owner and `PaperRule.shape`.
    """
    owner_step, weight, central_step = coefficients
    owner_share, regularization, limit = shape
    for j in range(central.size):
        middle = 0.5 * (central[j] + copy[j])
        pull = 2 * regularization * middle
        moved = middle - owner_step * (owner_share * pull + weight * answer[j])
        copy[j] = min(max(moved, -limit), limit)
        central[j] = min(max(middle - central_step * pull, -limit), limit)


def _require_owners(records: Sequence[int], availability: Sequence[float]) -> None:
    if not records or len(records) != len(availability):
        raise BadInput(
            f"{len(records)} sizes and {len(availability)} availabilities",
            remedy="give one of each for every owner, and at least one owner",
            value=(len(records), len(availability)),
        )
    for size in records:
        if size < 1:
            raise BadInput(f"an owner with {size} records", remedy="leave empty owners out", value=size)
    for probability in availability:
        if not 0 < probability <= 1:
            raise BadInput(f"an availability of {probability}", remedy="give probabilities above 0", value=probability)


def _build(terms: Terms, owners: Owners, _noise: NoiseModel | None, _public: Sample | None) -> PaperRule:
    return PaperRule(
        parameters=terms.parameters,
        records=owners.records,
        availability=owners.availability,
        step=terms.step,
        regularization=terms.regularization,
        limit=terms.limit,
        central=CentralStep(terms.central),
    )


ENTRY = RuleEntry("paper", _build, needs=frozenset({"step"}), any_noise=True, counts="meetings")
