"""Squared loss, the paper's: ℓ(z, y) = (z − y)²."""

from __future__ import annotations

from dataclasses import dataclass

from copriv.vectors import compiled

CODE = 0


@dataclass(frozen=True, slots=True)
class SquaredLoss:
    """(z − y)²; its slope grows with the margin, so only clipping or a small box bounds it.

    >>> SquaredLoss().slope_bound(margin=2.0, target=1.0)
    6.0
    """

    name = "squared"
    code = CODE
    threshold = 0.0
    curvature_bound = 2.0

    def slope_bound(self, margin: float, target: float) -> float:
        """2(|z| + |y|)."""
        return 2 * (margin + target)

    def value_bound(self, margin: float, target: float) -> float:
        """(|z| + |y|)²."""
        return (margin + target) ** 2


@compiled
def value(margin: float, target: float) -> float:
    """(z − y)²."""
    return (margin - target) ** 2


@compiled
def slope(margin: float, target: float) -> float:
    """∂ℓ/∂z = 2(z − y)."""
    return 2 * (margin - target)
