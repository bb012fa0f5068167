"""Many runs of Algorithm 1 on the squared loss, from sufficient statistics: one iteration costs p² operations.

Given an owner's H, c and m (`losses.quadratic`), neither the number of records nor the number of owners matters any
more: a meeting touches θ_L and one copy. Clipping is not part of it. Every run has its own seeded streams, so the
result is the same on any number of cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from numba import prange, set_num_threads

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.losses.quadratic import SufficientStatistics as SufficientStatistics  # noqa: PLC0414 - whoever simulates needs them
from copriv.rules.paper import PaperRule, meet, midpoint
from copriv.vectors import CORES, FloatArray, IntArray, compiled, compiled_parallel

NoiseKind = Literal["laplace", "gaussian", "none"]
# Meetings are drawn and run in pieces of about this many numbers, however long the horizon.
_NUMBERS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Noise:
    """The owners' noise: its kind; for each owner its standard deviation on a coordinate, and the most answers."""

    kind: NoiseKind
    noise_std: FloatArray
    caps: IntArray

    @classmethod
    def none(cls, owners: int, horizon: int) -> Noise:
        """No noise and no caps."""
        return cls("none", np.zeros(owners), np.full(owners, horizon, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Paths:
    """What came of some runs: ψ after every meeting, who was met, and how often each owner answered."""

    psi: FloatArray
    met: npt.NDArray[np.int32]
    answers: IntArray
    models: FloatArray


def simulate(
    rule: PaperRule,
    statistics: Sequence[SufficientStatistics],
    noise: Noise,
    *,
    horizon: int,
    runs: int,
    seed: int,
    statistic_of: IntArray | None = None,
) -> Paths:
    """Run Algorithm 1 many times.

    Args:
        rule: the rule, with the owners' sizes and availabilities.
        statistics: of each owner, or of a few kinds of owners.
        noise: of each owner.
        horizon: T.
        runs: how many.
        seed: of schedules and noise.
        statistic_of: which statistics each owner has; by default owner i has the i-th.
    """
    kinds = np.arange(rule.owners) if statistic_of is None else statistic_of
    _require(rule, statistics, noise, kinds)
    counts = np.bincount(kinds, minlength=len(statistics)).tolist()
    joint = SufficientStatistics.joint(statistics, counts)
    best = joint.fitness(joint.minimiser(rule.regularization), rule.regularization)
    state, packed = _State.begin(rule, noise, runs), _pack(rule, noise, kinds)
    streams = [(seeded(seed, f"schedule {r}"), seeded(seed, f"noise {r}")) for r in range(runs)]
    met, gammas = np.empty((runs, horizon), dtype=np.int32), unequal_availability(rule)
    psi = np.empty((runs, horizon))
    piece = max(1, _NUMBERS_AT_ONCE // (runs * rule.parameters))
    for first in range(0, horizon, piece):
        span = slice(first, min(first + piece, horizon))
        size = span.stop - span.start
        for r, (schedule, _) in enumerate(streams):
            met[r, span] = draw_meetings(rule.owners, gammas, size, schedule)
        unit = np.stack([draw_unit_noise(noise.kind, (size, rule.parameters), stream) for _, stream in streams])
        psi[:, span] = _advance(rule, statistics, packed, joint, best, met[:, span], unit, state)
    return Paths(psi, met, noise.caps - state.left, state.central)


@dataclass(slots=True)
class _State:
    """θ_L, the copies and the answers left, for every run; advanced in place."""

    central: FloatArray
    copies: FloatArray
    left: IntArray

    @classmethod
    def begin(cls, rule: PaperRule, noise: Noise, runs: int) -> _State:
        return cls(
            np.zeros((runs, rule.parameters)),
            np.zeros((runs, rule.owners, rule.parameters)),
            np.tile(noise.caps, (runs, 1)),
        )


def _require(rule: PaperRule, statistics: Sequence[SufficientStatistics], noise: Noise, kinds: IntArray) -> None:
    if noise.noise_std.size != rule.owners or noise.caps.size != rule.owners or kinds.size != rule.owners:
        raise BadInput(
            f"noise for {noise.noise_std.size} and statistics for {kinds.size} of {rule.owners} owners",
            remedy="give one of each for every owner",
            value=rule.owners,
        )
    for part in statistics:
        if part.offset.size != rule.parameters:
            raise BadInput(
                f"statistics of {part.offset.size} features for a rule of {rule.parameters}",
                remedy="use one dictionary",
                value=part.offset.size,
            )


def unequal_availability(rule: PaperRule) -> FloatArray | None:
    """γ_i of every owner, or None if all are equal: a million equal probabilities need no table."""
    gammas = np.asarray(rule.availability)
    return None if np.all(gammas == gammas[0]) else gammas


def draw_meetings(owners: int, gammas: FloatArray | None, size: int, stream: np.random.Generator) -> IntArray:
    """The owners of the next meetings."""
    if gammas is None:
        return stream.integers(owners, size=size)
    return np.asarray(stream.choice(owners, size=size, p=gammas), dtype=np.int64)


def draw_unit_noise(kind: NoiseKind, size: tuple[int, int], stream: np.random.Generator) -> FloatArray:
    """Noise of standard deviation 1, or none."""
    if kind == "laplace":
        return stream.laplace(scale=np.sqrt(0.5), size=size)
    return stream.normal(size=size) if kind == "gaussian" else np.zeros(size)


def _advance(
    rule: PaperRule,
    statistics: Sequence[SufficientStatistics],
    packed: FloatArray,
    joint: SufficientStatistics,
    best: float,
    met: npt.NDArray[np.int32],
    unit: FloatArray,
    state: _State,
) -> FloatArray:
    # A piece of its own is laid out like every other, so that one compiled function runs them all, bit for bit.
    psi = np.empty(met.shape)
    set_num_threads(CORES)
    _run(
        (np.stack([part.curvature for part in statistics]), np.stack([part.offset for part in statistics])),
        packed,
        (rule.step * rule.central.factor(rule.owners), *rule.shape),
        (joint.curvature, joint.offset, joint.power, best),
        (np.ascontiguousarray(met), unit),
        (state.central, state.copies, state.left),
        psi,
    )
    return psi


def _pack(rule: PaperRule, noise: Noise, kinds: IntArray) -> FloatArray:
    """One row for each owner (noise_std, step, weight, kind), so that a meeting reads them from one place in memory."""
    records = np.asarray(rule.records, dtype=np.float64)
    steps = rule.step / np.asarray(rule.availability)
    return np.column_stack([noise.noise_std, steps, records / records.sum(), kinds])


@compiled_parallel
def _run(
    statistics: tuple[FloatArray, FloatArray],
    owners: FloatArray,
    steps: tuple[float, float, float, float],
    joint: tuple[FloatArray, FloatArray, float, float],
    draws: tuple[npt.NDArray[np.int32], FloatArray],
    state: tuple[FloatArray, FloatArray, IntArray],
    psi: FloatArray,
) -> None:
    """Advance every run by the drawn meetings, in place on the state (θ_L, copies, answers left) and on ψ."""
    curvatures, offsets = statistics
    central_step, owner_share, regularization, limit = steps
    joint_curvature, joint_offset, joint_power, best = joint
    met, unit = draws
    central, copies, left = state
    shape = (owner_share, regularization, limit)
    for r in prange(met.shape[0]):
        for k in range(met.shape[1]):
            owner = met[r, k]
            if left[r, owner] > 0:
                left[r, owner] -= 1
                question = midpoint(central[r], copies[r, owner])
                kind = int(owners[owner, 3])
                answer = gradient(curvatures[kind], offsets[kind], question)
                for j in range(answer.size):
                    answer[j] += owners[owner, 0] * unit[r, k, j]
                coefficients = (owners[owner, 1], owners[owner, 2], central_step)
                meet(central[r], copies[r, owner], answer, coefficients, shape)
            psi[r, k] = value(joint_curvature, joint_offset, joint_power, regularization, central[r]) / best - 1


@compiled
def gradient(curvature: FloatArray, offset: FloatArray, theta: FloatArray) -> FloatArray:
    """Hθ − c."""
    found = np.empty(theta.size)
    for i in range(theta.size):
        total = -offset[i]
        for j in range(theta.size):
            total += curvature[i, j] * theta[j]
        found[i] = total
    return found


@compiled
def value(curvature: FloatArray, offset: FloatArray, power: float, regularization: float, theta: FloatArray) -> float:
    """λ‖θ‖² + ½θᵀHθ − cᵀθ + m."""
    total = power
    for i in range(theta.size):
        pull = (regularization * theta[i]) - offset[i]
        for j in range(theta.size):
            pull += 0.5 * curvature[i, j] * theta[j]
        total += theta[i] * pull
    return total
