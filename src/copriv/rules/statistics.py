"""One-shot statistics: every owner tells noisy second moments of its records once, and the learner solves.

With M ≈ Σ xxᵀ and c ≈ Σ xy of the owners heard from and their number of records n, the model minimises
θᵀMθ/n − 2cᵀθ/n + λ‖θ‖². Noise may leave M with eigenvalues that no records could have: they are raised to the level of
the noise, below which an eigenvalue tells nothing. One contact with each owner, no public rows, squared loss only.

The question is a request for moments (`losses.moments`), which do not depend on a model, so `question` is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from copriv.errors import BadInput
from copriv.losses.moments import moment_count, off_diagonal_weight, unpack_moments
from copriv.losses.sample import Sample
from copriv.protocol.terms import Terms
from copriv.rules.entry import RuleEntry
from copriv.rules.setting import NoiseModel, Owners
from copriv.vectors import FloatArray, IntArray, Norm, read_only


@dataclass(frozen=True, slots=True, eq=False)
class StatisticsState:
    """The sum of all moments told, and how often each owner told its own."""

    total: FloatArray
    told: IntArray


@dataclass(frozen=True, slots=True)
class StatisticsRule:
    """One-shot statistics for owners with their own sizes and noise.

    Args:
        parameters: length of a model.
        records: n_i of each owner.
        noise_std: standard deviation of each owner's noise on every number.
        norm: of the owners' mechanism, in which the moments are packed.
        regularization: λ of g(θ) = λ‖θ‖².
        limit: θ_max of the box.
    """

    parameters: int
    records: tuple[int, ...]
    noise_std: tuple[float, ...]
    norm: Norm
    regularization: float
    limit: float
    name = "statistics"
    asks: ClassVar[Literal["moments"]] = "moments"

    def __post_init__(self) -> None:
        if not self.records or len(self.records) != len(self.noise_std) or min(self.records) < 1:
            raise BadInput(
                f"{len(self.records)} sizes and {len(self.noise_std)} standard deviations of noise",
                remedy="give one of each for every owner, and leave empty owners out",
                value=(len(self.records), len(self.noise_std)),
            )

    @property
    def answer_size(self) -> int:
        """As many numbers as there are moments."""
        return moment_count(self.parameters)

    def begin(self) -> StatisticsState:
        """Nothing told yet."""
        told = np.zeros(len(self.records), dtype=np.int64)
        return StatisticsState(read_only(np.zeros(moment_count(self.parameters))), told)

    def question(self, state: StatisticsState, owner: int) -> FloatArray:  # noqa: ARG002
        """Any model will do: moments do not depend on it."""
        return np.zeros(self.parameters)

    def absorb(
        self,
        state: StatisticsState,
        owner: int,
        answer: FloatArray,
        asked: FloatArray | None = None,  # noqa: ARG002
    ) -> StatisticsState:
        """Add up; an owner that tells twice counts twice, with twice its records."""
        told = state.told.copy()
        told[owner] += 1
        return StatisticsState(read_only(state.total + answer), told)

    def model(self, state: StatisticsState) -> FloatArray:
        """The regularised solution, clipped to the box; 0 before anything was told."""
        records = float(state.told @ np.asarray(self.records))
        if records == 0:
            return np.zeros(self.parameters)
        lowest = self.noise_level(state) / records
        matrix, vector = unpack_moments(state.total / records, self.parameters, self.norm)
        values, basis = np.linalg.eigh(matrix)
        raised = np.maximum(values, lowest) + self.regularization
        solution = basis @ ((basis.T @ vector) / raised)
        return np.asarray(np.clip(solution, -self.limit, self.limit), dtype=np.float64)

    def pack(self, state: StatisticsState) -> bytes:
        """The counts and the sum, as bytes."""
        return state.told.astype("<i8").tobytes() + state.total.tobytes()

    def unpack(self, data: bytes) -> StatisticsState:
        """The state again, to the last bit."""
        owners = len(self.records)
        if len(data) != 8 * (owners + moment_count(self.parameters)):
            raise BadInput(
                f"{len(data)} bytes are not a state of this rule",
                remedy="use the checkpoint of this study",
                value=len(data),
            )
        told = np.frombuffer(data, dtype="<i8", count=owners).astype(np.int64)
        return StatisticsState(read_only(np.frombuffer(data, dtype="<f8", offset=8 * owners)), told)

    def noise_level(self, state: StatisticsState) -> float:
        """About the largest eigenvalue of the noise in M: 2√p times the deviation off the diagonal (Wigner)."""
        variance = float(state.told @ np.asarray(self.noise_std) ** 2)
        return 2 * math.sqrt(self.parameters * variance) / off_diagonal_weight(self.norm)


def _build(terms: Terms, owners: Owners, noise: NoiseModel | None, _public: Sample | None) -> StatisticsRule:
    if noise is None:
        raise BadInput("one-shot statistics without the owners' noise", remedy="say what owners promise")
    shape = (noise.noise_std, noise.norm, terms.regularization, terms.limit)
    return StatisticsRule(terms.parameters, owners.records, *shape)


ENTRY = RuleEntry("statistics", _build, asks="moments", needs=frozenset({"noise"}), losses=("squared",))
