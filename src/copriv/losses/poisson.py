"""Poisson loss with log link, for counts: half the deviance of a count y with expectation exp(z).

ℓ(z, y) = exp(z) − y − y(z − log y) for z ≤ m; beyond m the exponential goes on as its parabola there, so that the loss
bends by at most exp(m) anywhere. Targets are from 0 to 1, in units of the largest count that counts, so no expectation
is beyond exp(m): with m = 1 that would be 2.7 times the largest count.

The margin z contains the record's offset, the logarithm of its exposure (`losses.sample`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from copriv.losses.sample import LARGEST_OFFSET
from copriv.vectors import compiled

CODE = 3
STEEPEST = 1.0
_MOST = math.exp(STEEPEST)


@dataclass(frozen=True, slots=True)
class PoissonLoss:
    """Half the Poisson deviance of counts with expectation exp(z).

    >>> PoissonLoss().curvature_bound
    2.718281828459045
    """

    name = "poisson"
    code = CODE
    threshold = 0.0
    curvature_bound = _MOST

    def slope_bound(self, margin: float, target: float) -> float:
        """The larger of an expectation too high and a count too high, with any offset."""
        return max(float(slope(margin + LARGEST_OFFSET, 0.0)), target)

    def value_bound(self, margin: float, target: float) -> float:
        """The loss of the furthest expectation, with any offset."""
        furthest = margin + LARGEST_OFFSET
        ends = [float(value(end, y)) for end in (-furthest, furthest) for y in (0.0, min(target, 1.0), target)]
        return max(ends)


@compiled
def value(margin: float, target: float) -> float:
    """exp(z) − y − y(z − log y); a target below 0 counts as 0."""
    count = max(target, 0.0)
    beyond = margin - STEEPEST
    expected = math.exp(margin) if beyond <= 0 else _MOST * (1 + beyond + beyond * beyond / 2)
    if count == 0:
        return expected
    return expected - count - count * (margin - math.log(count))


@compiled
def slope(margin: float, target: float) -> float:
    """∂ℓ/∂z = exp(z) − y, and along the parabola beyond."""
    beyond = margin - STEEPEST
    expected = math.exp(margin) if beyond <= 0 else _MOST * (1 + beyond)
    return expected - max(target, 0.0)


@compiled
def curvature(margin: float) -> float:
    """∂²ℓ/∂z² = exp(z), at most exp(m)."""
    return math.exp(min(margin, STEEPEST))
