"""The fitness f(θ) = g(θ) + average loss, with g(θ) = λ‖θ‖² on the box |θ|∞ ≤ θ_max (eq. 2 of the paper)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from copriv.errors import BadInput
from copriv.losses.loss import Loss
from copriv.losses.passes import average_curvature, average_gradient, average_value
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray, Norm


@dataclass(frozen=True, slots=True)
class Objective:
    """A loss, the weight λ of the regularizer, and the limit θ_max of the box.

    >>> from copriv.losses.squared import SquaredLoss
    >>> Objective(SquaredLoss(), regularization=0.5, limit=2.0).strong_convexity
    1.0
    """

    loss: Loss
    regularization: float
    limit: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.regularization) and self.regularization > 0):
            raise BadInput(
                f"the regularization is {self.regularization}",
                remedy="give a number greater than 0, such as 1e-5: the theory needs strong convexity",
                value=self.regularization,
            )
        if not (math.isfinite(self.limit) and self.limit > 0):
            raise BadInput(
                f"the box limit is {self.limit}",
                remedy="give a finite number greater than 0",
                value=self.limit,
            )

    @property
    def strong_convexity(self) -> float:
        """σ = 2λ."""
        return 2 * self.regularization

    def fitness(self, sample: Sample, theta: FloatArray) -> float:
        """f(θ) on a sample."""
        return self.regularization * float(theta @ theta) + average_value(self.loss, sample, theta)

    def gradient(self, sample: Sample, theta: FloatArray) -> FloatArray:
        """∇f(θ) on a sample, unclipped."""
        return 2 * self.regularization * theta + average_gradient(self.loss, sample, theta)

    def curvature(self, sample: Sample, theta: FloatArray) -> FloatArray:
        """∇²f(θ) on a sample."""
        ridge = 2 * self.regularization * np.eye(theta.size)
        return average_curvature(self.loss, sample, theta) + ridge

    def project(self, theta: FloatArray) -> FloatArray:
        """The nearest model in the box."""
        return np.clip(theta, -self.limit, self.limit)

    def gradient_bound(self, *, row_norm: float, target: float, parameters: int, norm: Norm) -> float:
        """A bound on every record's ‖∇ℓ‖ for ‖x‖₂ ≤ row_norm, |y| ≤ target and any θ in the box.

        |θᵀx| ≤ ‖θ‖₂‖x‖₂ ≤ θ_max √p ‖x‖₂, and ‖x‖₁ ≤ √p ‖x‖₂.
        """
        margin = self.limit * math.sqrt(parameters) * row_norm
        length = row_norm * (math.sqrt(parameters) if norm is Norm.L1 else 1.0)
        return self.loss.slope_bound(margin, target) * length


def relative_fitness(fitness: float, best: float) -> float:
    """ψ = f(θ)/f(θ*) − 1, the paper's measure: 0 is the model that sees every record.

    >>> relative_fitness(1.5, 1.0)
    0.5
    """
    return fitness / best - 1
