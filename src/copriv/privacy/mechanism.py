"""What a mechanism is: noise of one scale, measured in one norm, at a known cost."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from copriv.errors import BadInput
from copriv.privacy.exact import PrivateVector, SimulatedVector
from copriv.privacy.guarantee import Amount
from copriv.privacy.sensitivity import Sensitivity
from copriv.vectors import FloatArray, Norm

# Noise is drawn exactly on a grid this many powers of two finer than its scale.
_GRID_BITS = 40


class Mechanism(Protocol):
    """Additive noise; `release` for records, `simulate_noise` for simulations."""

    @property
    def name(self) -> str:
        """What the noise is called."""

    @property
    def norm(self) -> Norm:
        """The norm in which sensitivities count."""

    @property
    def scale(self) -> float:
        """The parameter of the noise."""

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise on each coordinate."""

    def cost(self, sensitivity: Sensitivity, parameters: int) -> Amount:
        """What one release of `parameters` numbers costs, rounded up."""

    def release(self, exact: PrivateVector) -> FloatArray:
        """Exact sampling on a grid from the operating system's randomness: safe for records."""

    def simulate_noise(self, exact: SimulatedVector, generator: np.random.Generator) -> FloatArray:
        """The same distribution in floating point from a seeded stream: never for records."""


def grid_exponent(scale: float) -> int:
    """The power of two of the grid on which noise of this scale is drawn.

    >>> grid_exponent(1.0)
    -40
    """
    return max(math.floor(math.log2(scale)) - _GRID_BITS, -1074)


def require_scale(scale: float) -> None:
    """Refuse a scale that is no noise at all, before a library accepts it silently."""
    if not (math.isfinite(scale) and scale > 0):
        raise BadInput(f"a noise scale of {scale}", remedy="give a finite number greater than 0", value=scale)


def require_norm(sensitivity: Sensitivity, norm: Norm, name: str) -> None:
    """Refuse a sensitivity measured in another norm: that is how Theorem 1 of the paper goes wrong."""
    if sensitivity.norm is not norm:
        raise BadInput(
            f"{name} noise with a sensitivity in {sensitivity.norm.name}",
            remedy=f"clip each record's gradient in {norm.name}",
            value=sensitivity.norm.name,
        )
