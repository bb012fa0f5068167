"""Owners whose statistics are known and differ: the same moments with a matrix in place of every number.

Nothing decouples here, so E u uᵀ is carried for every pair of models: (N + 1)²p² numbers. It is exact for any H_i and
c_i, it checks the fast paths, and it is for whoever may see all statistics. Centred at the optimum θ* of all records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copriv.losses.quadratic import SufficientStatistics
from copriv.rules.averaged import AveragedRule
from copriv.rules.paper import PaperRule
from copriv.vectors import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class CoupledPath:
    """E x (meetings × p) and E xxᵀ (meetings × p × p) of x = θ − θ*, the Hessian of the fitness, and f(θ*)."""

    mean: FloatArray
    second: FloatArray
    hessian: FloatArray
    best: float

    def expected(self) -> FloatArray:
        """E ψ after every meeting: ½ tr(∇²f E xxᵀ)/f*, exact."""
        return np.asarray(np.einsum("kab,ba->k", self.second, self.hessian) / (2 * self.best))

    def deviation(self) -> FloatArray:
        """Of ψ between trainings, for x Gaussian: √(½ tr (∇²f S)² + μᵀ∇²f S ∇²f μ)/f*."""
        spread = (self.second - self.mean[:, :, None] * self.mean[:, None, :]) @ self.hessian
        pulled = self.mean @ self.hessian
        around = np.einsum("kab,kba->k", spread, spread) / 2
        along = np.einsum("ka,kab,kb->k", self.mean @ self.hessian, spread, np.linalg.solve(self.hessian, pulled.T).T)
        return np.asarray(np.sqrt(np.maximum(around + along, 0.0)) / self.best)

    def distance(self) -> FloatArray:
        """E‖θ − θ*‖² after every meeting."""
        return np.asarray(np.einsum("kaa->k", self.second))


def follow_paper_apart(
    rule: PaperRule, statistics: Sequence[SufficientStatistics], deviations: Sequence[float], horizon: int
) -> CoupledPath:
    """Algorithm 1 for owners with statistics of their own."""
    gammas = np.asarray(rule.availability)
    theta, hessian, best = _centre(statistics, rule.regularization)
    pulls = np.asarray([step * weight for step, weight, _ in map(rule.coefficients, range(rule.owners))])
    central = 1 - 2 * rule.regularization * rule.step * rule.central.factor(rule.owners)
    maps, shifts = _maps(statistics, pulls, rule.step / gammas * rule.regularization / rule.owners, theta)
    noise = (pulls * np.asarray(deviations))[:, None, None] ** 2 * np.eye(theta.size)
    drift, start = (central - 1) * theta, np.outer(theta, theta)
    m_l, m, with_l = -theta, np.tile(-theta, (rule.owners, 1)), np.tile(start, (rule.owners, 1, 1))
    second_l, pairs = start, np.tile(start, (rule.owners, rule.owners, 1, 1))
    own, g = np.arange(rule.owners), gammas[:, None, None]
    mean, second = np.empty((horizon, theta.size)), np.empty((horizon, theta.size, theta.size))
    for k in range(horizon):
        half = (m_l + m) / 2
        middle = (second_l + with_l + _turn(with_l) + pairs[own, own]) / 4
        moved, carried = np.einsum("iab,ib->ia", maps, half) + shifts, middle @ _turn(maps) + _outer(half, shifts)
        answered = maps @ carried + _outer(shifts, moved) + noise
        joined = maps[:, None] @ (with_l[None] + pairs) / 2 + shifts[:, None, :, None] * m[None, :, None, :]
        unmet = np.einsum("i,ijab->jab", gammas, pairs) - g * pairs[own, own]
        with_l = g * (central * carried + drift[:, None] * moved[:, None, :]) + (
            central / 2 * ((1 - g) * with_l + unmet) + (1 - g) * _outer(np.broadcast_to(drift, m.shape), m)
        )
        stay = 1 - gammas[:, None] - gammas[None, :]
        kept = (1 - g) * pairs[own, own] + g * answered
        joined = gammas[:, None, None, None] * joined
        pairs = stay[:, :, None, None] * pairs + joined + joined.transpose(1, 0, 3, 2)
        pairs[own, own] = kept
        average = gammas @ half
        second_l = central**2 * np.einsum("i,iab->ab", gammas, middle) + np.outer(drift, drift)
        second_l += central * (np.outer(average, drift) + np.outer(drift, average))
        m_l = central * average + drift
        m = m + gammas[:, None] * (moved - m)
        mean[k], second[k] = m_l, second_l
    return CoupledPath(mean, second, hessian, best)


def follow_averaged_apart(
    rule: AveragedRule,
    statistics: Sequence[SufficientStatistics],
    deviations: Sequence[float],
    availability: Sequence[float] | None = None,
) -> CoupledPath:
    """Averaged steps for owners with statistics of their own; without availabilities, all are met equally often."""
    owners = len(statistics)
    gammas = np.full(owners, 1 / owners) if availability is None else np.asarray(availability)
    theta, hessian, best = _centre(statistics, rule.regularization)
    pulls = rule.step * owners * np.asarray(rule.records) / sum(rule.records)
    maps, shifts = _maps(statistics, pulls, np.full(owners, 2 * rule.regularization * rule.step), theta)
    noise = float(gammas @ (pulls * np.asarray(deviations)) ** 2) * np.eye(theta.size)
    mean_map, mean_shift = np.einsum("i,iab->ab", gammas, maps), gammas @ shifts
    m, q, total = -theta, np.outer(theta, theta), np.zeros(theta.size)
    square, cross = np.zeros_like(q), np.zeros_like(q)
    mean, second = np.empty((rule.horizon, theta.size)), np.empty((rule.horizon, theta.size, theta.size))
    for k in range(rule.horizon):
        cross = cross @ mean_map.T + np.outer(total, mean_shift)
        moved = maps @ m + shifts
        carried = q @ _turn(maps) + _outer(np.broadcast_to(m, shifts.shape), shifts)
        q = np.einsum("i,iab->ab", gammas, maps @ carried + _outer(shifts, moved)) + noise
        m = mean_map @ m + mean_shift
        mean[k], second[k] = m, q
        if k >= rule.horizon // 2:
            square = square + cross + cross.T + q
            cross, total = cross + q, total + m
            counted = k + 1 - rule.horizon // 2
            mean[k], second[k] = total / counted, square / counted**2
    return CoupledPath(mean, second, hessian, best)


def _centre(statistics: Sequence[SufficientStatistics], regularization: float) -> tuple[FloatArray, FloatArray, float]:
    """θ* of all records, the Hessian of the fitness, and f(θ*)."""
    joint = SufficientStatistics.joint(statistics)
    theta = joint.minimiser(regularization)
    hessian = joint.curvature + 2 * regularization * np.eye(theta.size)
    return theta, hessian, joint.fitness(theta, regularization)


def _maps(
    statistics: Sequence[SufficientStatistics], pulls: FloatArray, ridges: FloatArray, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What an answer does to u: u ← A_i u + r_i, with A_i = I − ridge − pull·H_i and r_i = (A_i − I)θ* + pull·c_i."""
    eye = np.eye(theta.size)
    maps = np.stack([(1 - r) * eye - b * s.curvature for b, r, s in zip(pulls, ridges, statistics, strict=True)])
    offsets = np.stack([b * s.offset for b, s in zip(pulls, statistics, strict=True)])
    return maps, (maps - eye) @ theta + offsets


def _turn(matrices: FloatArray) -> FloatArray:
    return np.swapaxes(matrices, -1, -2)


def _outer(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.asarray(left[:, :, None] * right[:, None, :])
