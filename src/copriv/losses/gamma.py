"""Gamma loss with log link, for costs and times: half the deviance of an amount y > 0 with expectation exp(z).

ℓ(z, y) = exp(−r) − 1 + r with r = z − log y, for r ≥ −m; an amount beyond exp(m) times what is expected goes on as the
parabola there, so that the loss bends by at most exp(m) anywhere. Targets are above 0 and at most 1, in units of the
largest amount that counts; what is below `SMALLEST` counts as that.

The margin z contains the record's offset, the logarithm of its exposure (`losses.sample`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from copriv.losses.sample import LARGEST_OFFSET
from copriv.vectors import compiled

CODE = 4
STEEPEST = 4.0
SMALLEST = 1e-6
_MOST = math.exp(STEEPEST)


@dataclass(frozen=True, slots=True)
class GammaLoss:
    """Half the Gamma deviance of amounts with expectation exp(z).

    >>> round(GammaLoss().curvature_bound, 1)
    54.6
    """

    name = "gamma"
    code = CODE
    threshold = 0.0
    curvature_bound = _MOST

    def slope_bound(self, margin: float, target: float) -> float:
        """That of the largest amount where least is expected, with any offset; at least 1."""
        return max(1.0, -float(slope(-margin - LARGEST_OFFSET, target)))

    def value_bound(self, margin: float, target: float) -> float:
        """The largest amount where least is expected, or the smallest where most is."""
        furthest = margin + LARGEST_OFFSET
        return max(float(value(-furthest, target)), float(value(furthest, SMALLEST)))


@compiled
def value(margin: float, target: float) -> float:
    """exp(−r) − 1 + r."""
    apart = margin - math.log(max(target, SMALLEST))
    beyond = -apart - STEEPEST
    share = math.exp(-apart) if beyond <= 0 else _MOST * (1 + beyond + beyond * beyond / 2)
    return share - 1 + apart


@compiled
def slope(margin: float, target: float) -> float:
    """∂ℓ/∂z = 1 − exp(−r), and along the parabola beyond."""
    apart = margin - math.log(max(target, SMALLEST))
    beyond = -apart - STEEPEST
    return 1 - (math.exp(-apart) if beyond <= 0 else _MOST * (1 + beyond))


@compiled
def curvature(margin: float, target: float) -> float:
    """∂²ℓ/∂z² = exp(−r), at most exp(m)."""
    return math.exp(min(math.log(max(target, SMALLEST)) - margin, STEEPEST))
