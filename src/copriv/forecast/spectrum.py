"""The fitness of the squared loss in the directions in which it decouples: the eigenvectors of H.

With one H for all owners every direction is a problem of its own: f(θ) − f* = ½ Σ_j (h_j + 2λ)(θ_j − θ*_j)². Noise
that is equal on all coordinates stays so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copriv.losses.quadratic import SufficientStatistics
from copriv.vectors import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """One entry a direction.

    Args:
        basis: columns are the directions.
        curvatures: h_j, eigenvalues of the average loss's Hessian.
        optimum: θ*_j.
        spread: variance of one record's gradient at θ* in every direction; 0 where owners are taken to be alike.
        regularization: λ.
        best: f(θ*), what ψ is measured in.
    """

    basis: FloatArray
    curvatures: FloatArray
    optimum: FloatArray
    spread: FloatArray
    regularization: float
    best: float

    @classmethod
    def of(
        cls, statistics: SufficientStatistics, regularization: float, covariance: FloatArray | None = None
    ) -> Spectrum:
        """From the statistics of all records and, if owners differ by sampling, one record's gradient covariance."""
        curvatures, basis = np.linalg.eigh(statistics.curvature)
        theta = statistics.minimiser(regularization)
        spread = np.zeros(theta.size) if covariance is None else np.sum(basis * (covariance @ basis), axis=0)
        return cls(
            basis, curvatures, basis.T @ theta, spread, regularization, statistics.fitness(theta, regularization)
        )

    @property
    def stiffness(self) -> FloatArray:
        """h_j + 2λ."""
        return np.asarray(self.curvatures + 2 * self.regularization)
