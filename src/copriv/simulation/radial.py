"""The K-norm mechanism with the L2 ball, in simulation only: density ∝ exp(−‖w‖₂/b) is (Δ₂/b)-DP, a pure ε in L2.

Hardt, Talwar: On the geometry of differential privacy, STOC 2010. The length of w is Gamma(p, b), its direction
uniform; every coordinate has standard deviation √(p + 1)·b.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from copriv.privacy.exact import SimulatedVector, unseal
from copriv.vectors import FloatArray, Norm


@dataclass(frozen=True, slots=True)
class Radial:
    """Noise of scale b in so many dimensions.

    >>> Radial(scale=2.0, parameters=8).noise_std
    6.0
    """

    scale: float
    parameters: int
    norm = Norm.L2

    @property
    def noise_std(self) -> float:
        """Standard deviation on each coordinate: √(p + 1)·b."""
        return math.sqrt(self.parameters + 1) * self.scale

    def simulate_noise(self, exact: SimulatedVector, generator: np.random.Generator) -> FloatArray:
        """Exact answer plus noise from a seeded stream."""
        direction = generator.normal(size=self.parameters)
        length = generator.gamma(self.parameters, self.scale)
        return unseal(exact) + length * direction / float(np.linalg.norm(direction))
