"""Logistic loss for targets −1 and +1: ℓ(z, y) = log(1 + exp(−yz))."""

from __future__ import annotations

import math
from dataclasses import dataclass

from copriv.vectors import compiled

CODE = 2


@dataclass(frozen=True, slots=True)
class LogisticLoss:
    """log(1 + exp(−yz)) for y = ±1; its slope is below 1 for every margin.

    >>> LogisticLoss().slope_bound(margin=1e6, target=1.0)
    1.0
    """

    name = "logistic"
    code = CODE
    threshold = 0.0
    curvature_bound = 0.25

    def slope_bound(self, margin: float, target: float) -> float:
        """|y| / (1 + exp(−|y||z|)), at most |y|."""
        return target / (1 + math.exp(-target * margin)) if target * margin < 700 else target

    def value_bound(self, margin: float, target: float) -> float:
        """The loss of the most confident mistake."""
        return float(value(-margin, target))


@compiled
def value(margin: float, target: float) -> float:
    """log(1 + exp(−yz)), without overflow."""
    agreement = target * margin
    return max(-agreement, 0.0) + math.log1p(math.exp(-abs(agreement)))


@compiled
def slope(margin: float, target: float) -> float:
    """∂ℓ/∂z = −y / (1 + exp(yz))."""
    return -target / (1 + math.exp(target * margin))


@compiled
def curvature(margin: float, target: float) -> float:
    """∂²ℓ/∂z² = y² s(1 − s) with s = 1 / (1 + exp(−yz))."""
    decay = math.exp(-abs(target * margin))
    return target * target * decay / (1 + decay) ** 2
