"""ψ of an owner's own model on everybody's records, estimated at home from its records and the public rows.

A model of n records strays from the population's best by e ~ N(0, V/n), V = A⁻¹ΣA⁻¹, with Σ the covariance of one
record's gradient. The owner sees how far its model lies from the public one, Δ = e_i − e_pub, and what that costs on
the public rows, ½ΔᵀAΔ. Given Δ,

    e_i ~ N(wΔ, (1 − w)qV),    q = 1/n_i + κ,    w = q/(q + 1/n_pub):

of the distance, the larger part is due to the model with fewer records. The best model on all records strays by the
owners' shares s_j of their e_j, so ψ is that of (1 − s_i)e_i − Σ s_j e_j over the others. Where Δ is longer than two
standard errors allow, the owner truly differs from the public rows: κ is what makes up for it. Or it is the public rows
that differ from all owners: then its own model is better than it looks from there (`Alone.least`), and the joint one
worse (`Yardstick.shifts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copriv.forecast.shifts import given_distance
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.passes import record_slopes
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray

_STANDARD_ERRORS = 2


@dataclass(frozen=True, slots=True)
class Alone:
    """ψ of an owner's own model, its standard error, and ψ to be expected of the model that the public rows give.

    `least` is ψ of the own model if it is the public rows that differ, and not the owner; None if nothing differs.
    """

    psi: float
    standard_error: float
    public: float
    least: float | None = None


@dataclass(frozen=True, slots=True)
class OwnModel:
    """What the public rows say about an owner's own model.

    Args:
        records: n_i.
        cost: ½ΔᵀAΔ, how much worse it is on the public rows than their own model.
        roughness: ΔᵀΣΔ.
    """

    records: int
    cost: float
    roughness: float


@dataclass(frozen=True, slots=True, eq=False)
class Yardstick:
    """What own models are measured with: the public rows.

    Args:
        public: the public rows.
        objective: the fitness.
        model: the public model.
        covariance: Σ, of one public record's gradient at the public model.
        strain: s = tr(A⁻¹Σ)/2, what a model of n records costs, times n.
        wobble: tr((A⁻¹Σ)²)/2, the variance of that, times n².
        fitness: of the public model on the public rows.
    """

    public: Sample
    objective: Objective
    model: FloatArray
    covariance: FloatArray
    excess_risk_rate: float
    wobble: float
    fitness: float

    @classmethod
    def of(cls, public: Sample, objective: Objective) -> Yardstick:
        """From public rows, for any loss."""
        model = minimise(objective, public)
        gradients = public.by_record(public.columns * record_slopes(objective.loss, public, model))
        gradients -= gradients.mean(axis=1, keepdims=True)
        covariance = gradients @ gradients.T / max(public.records - public.parameters, 1)
        ratio = np.linalg.solve(objective.curvature(public, model), covariance)
        excess_risk_rate, wobble = float(np.trace(ratio)) / 2, float(np.trace(ratio @ ratio)) / 2
        return cls(public, objective, model, covariance, excess_risk_rate, wobble, objective.fitness(public, model))

    def look_at(self, own: Sample) -> OwnModel:
        """Train at home, and compare with the public model."""
        theta = minimise(self.objective, own)
        shift = theta - self.model
        cost = max(self.objective.fitness(self.public, theta) - self.fitness, 0.0)
        return OwnModel(own.records, cost, float(shift @ self.covariance @ shift))

    def judge(self, own: OwnModel, others: Sequence[int]) -> Alone:
        """ψ on the records of this owner and of others with so many records each."""
        total, public = own.records + sum(others), 1 / self.public.records
        # The inverse of a Hessian of few records is larger than A⁻¹ by about this.
        few = own.records / max(own.records - self.model.size - 1, 1)
        apart = self._difference(own, few / own.records + public)
        spread = few / own.records + apart
        blame = spread / (spread + public)
        rest = (1 - own.records / total) ** 2
        strayed = sum((size / total) ** 2 * (1 / size + apart) for size in others)
        unseen = rest * (1 - blame) * spread + strayed
        cost = rest * blame**2 * own.cost + self.excess_risk_rate * unseen
        variance = self.wobble * unseen**2 + unseen * rest * blame**2 * own.roughness
        best = self.fitness + self.excess_risk_rate * (public - 1 / total)
        by_chance = rest * few / own.records + sum(size / total**2 for size in others)
        least = self.excess_risk_rate * by_chance / best if apart else None
        return Alone(cost / best, variance**0.5 / best, self.excess_risk_rate * (public + 1 / total) / best, least)

    def shifts(self, own: OwnModel) -> FloatArray:
        """Chances of every size of a shift (`forecast.shifts`), after a look at the own model."""
        few = own.records / max(own.records - self.model.size - 1, 1)
        sampling, wobble = few / own.records + 1 / self.public.records, self.wobble**0.5 / self.excess_risk_rate
        return given_distance(own.cost / self.excess_risk_rate, sampling, wobble)

    def _difference(self, own: OwnModel, sampling: float) -> float:
        """κ of this owner: 0, unless samples of one population would hardly be that far apart."""
        expected, error = self.excess_risk_rate * sampling, self.wobble**0.5 * sampling
        return (own.cost - expected) / self.excess_risk_rate if own.cost > expected + _STANDARD_ERRORS * error else 0.0
