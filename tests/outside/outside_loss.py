"""A smooth Huber loss: ℓ(z, y) = 2d(√(d² + r²) − d) with r = z − y, about r² near the target and 2d|r| far from it."""

import math

from copriv.losses.outside import OutsideLoss

D = 0.5


def value(margin, target):
    return 2 * D * (math.hypot(D, margin - target) - D)


def slope(margin, target):
    return 2 * D * (margin - target) / math.hypot(D, margin - target)


def curvature(margin, target):
    return 2 * (D / math.hypot(D, margin - target)) ** 3


LOSS = OutsideLoss(
    name="smooth-huber",
    value=value,
    slope=slope,
    curvature=curvature,
    slope_bound=lambda margin, target: slope(margin + target, 0.0),
    value_bound=lambda margin, target: value(margin + target, 0.0),
    curvature_bound=2.0,
)
