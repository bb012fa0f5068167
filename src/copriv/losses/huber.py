"""Huber loss: squared near the target, linear far from it, so that one record's gradient is bounded by itself.

ℓ(z, y) = r² for |r| ≤ d and 2d|r| − d² beyond, with r = z − y; it equals the squared loss for d → ∞.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from copriv.errors import BadInput
from copriv.vectors import compiled

CODE = 1


@dataclass(frozen=True, slots=True)
class HuberLoss:
    """Squared up to a residual of `threshold`, linear beyond.

    >>> HuberLoss(threshold=0.5).slope_bound(margin=100.0, target=1.0)
    1.0
    """

    threshold: float
    name = "huber"
    code = CODE
    curvature_bound = 2.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.threshold) and self.threshold > 0):
            raise BadInput(
                f"the Huber threshold is {self.threshold}",
                remedy="give a finite number greater than 0",
                value=self.threshold,
            )

    def slope_bound(self, margin: float, target: float) -> float:
        """2d, whatever the margin; less if no residual can reach d."""
        return 2 * min(self.threshold, margin + target)

    def value_bound(self, margin: float, target: float) -> float:
        """The loss of the largest residual."""
        return float(value(margin + target, 0.0, self.threshold))


@compiled
def value(margin: float, target: float, threshold: float) -> float:
    """r² or 2d|r| − d²."""
    residual = abs(margin - target)
    if residual <= threshold:
        return residual * residual
    return threshold * (2 * residual - threshold)


@compiled
def slope(margin: float, target: float, threshold: float) -> float:
    """∂ℓ/∂z = 2r, held within ±2d."""
    return 2 * min(max(margin - target, -threshold), threshold)


@compiled
def curvature(margin: float, target: float, threshold: float) -> float:
    """∂²ℓ/∂z² = 2 near the target, 0 beyond."""
    return 2.0 if abs(margin - target) <= threshold else 0.0
