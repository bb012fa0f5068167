"""The model of least expected fitness in the box: the public fitness, tilted and bent by what is expected to differ.

The expected private fitness at θ is, up to a constant, f_pub(θ) + tᵀδ + ½δᵀBδ with δ = θ − θ_0. For the squared loss
it is quadratic, and its minimiser in the box is exact. Otherwise Newton's method is used, with eigenvalues kept away
from 0 (relative to the public Hessian) and halved steps.

Huber's loss has bounded slopes: far from θ_0 the public fitness grows too slowly to balance a strong tilt, and the
minimiser would lie on the border of the box. So it is where labels are nearly told apart. While answers are of one
place, the model goes no further than the quadratic at θ_0 has it; then at most twice as far. A minimiser that is still
further away is none: where the expected Hessian is flatter than the public one, the tilted fitness falls on and on.
Then the model is that of the quadratic.
"""

from __future__ import annotations

import numpy as np

from copriv.losses.optimum import bounded_step
from copriv.losses.squared import SquaredLoss
from copriv.rules.geometry import PublicGeometry
from copriv.vectors import FloatArray

_MOST_STEPS = 30
_STILL = 1e-10
_FLATTEST = 0.02
_SHORTEST = 1e-6
_FIRST_REACH, _REACH = 1.0, 2.0
# Keeps a Hessian of very unequal directions positive in double precision.
_ROUNDING = 1e-14


def least_expected(geometry: PublicGeometry, intercept: FloatArray, hessian: FloatArray, places: int = 1) -> FloatArray:
    """The model in the box, for an expected d_0 and Hessian in the geometry's coordinates, from so many places."""
    inverse = geometry.unwhiten
    tilt = inverse.T @ intercept
    bend = inverse.T @ (hessian - np.eye(hessian.shape[0])) @ inverse
    objective, start = geometry.objective, geometry.start
    if isinstance(objective.loss, SquaredLoss):
        whole = inverse.T @ hessian @ inverse
        whole = (whole + whole.T) / 2 + _ROUNDING * np.trace(whole) * np.eye(tilt.size)
        # The public gradient is not 0 where the public model lies on the border of the box.
        gradient = objective.gradient(geometry.public, start) + tilt
        return objective.project(start + bounded_step(objective.limit, start, gradient, whole))
    reach = _REACH if places > 1 else _FIRST_REACH
    return _within_reach(geometry, _descend(geometry, tilt, (bend + bend.T) / 2), intercept, hessian, reach)


def _within_reach(
    geometry: PublicGeometry, theta: FloatArray, intercept: FloatArray, hessian: FloatArray, most: float
) -> FloatArray:
    """The model, or one on the way to it that is only so far from the public one.

    Where it is further away than any reach, the tilted fitness has no bottom near: then it is the quadratic's model.
    """
    place = geometry.place(theta)
    slope = geometry.whiten.T @ geometry.objective.gradient(geometry.public, geometry.start) + intercept
    step = -np.linalg.solve(hessian, slope)
    length, reach = float(np.linalg.norm(place)), float(np.linalg.norm(step))
    if length <= most * reach:
        return theta
    nearer = step if length > _REACH * reach else place * most * reach / length
    return geometry.objective.project(geometry.model(np.asarray(nearer)))


def _descend(geometry: PublicGeometry, tilt: FloatArray, bend: FloatArray) -> FloatArray:
    """Newton steps in the box, each halved until the tilted fitness falls."""
    objective, public = geometry.objective, geometry.public

    def value(theta: FloatArray) -> float:
        away = theta - geometry.start
        return objective.fitness(public, theta) + float(tilt @ away + away @ bend @ away / 2)

    theta, here = geometry.start, value(geometry.start)
    for _ in range(_MOST_STEPS):
        gradient = objective.gradient(public, theta) + tilt + bend @ (theta - geometry.start)
        step = bounded_step(objective.limit, theta, gradient, _convex(objective.curvature(public, theta), bend))
        length, slope = 1.0, float(gradient @ step)
        while length > _SHORTEST and (there := value(theta + length * step)) > here + 1e-4 * length * slope:
            length /= 2
        if length <= _SHORTEST:
            break
        theta, here = theta + length * step, there
        if float(np.max(np.abs(length * step))) < _STILL:
            break
    return objective.project(theta)


def _convex(curvature: FloatArray, bend: FloatArray) -> FloatArray:
    """The sum of both, with no eigenvalue below a small share of the first's."""
    factor = np.linalg.cholesky(curvature)
    inner = np.linalg.solve(factor, np.linalg.solve(factor, bend).T)
    values, basis = np.linalg.eigh(np.eye(bend.shape[0]) + (inner + inner.T) / 2)
    bent = factor @ basis
    whole = (bent * np.maximum(np.abs(values), _FLATTEST)) @ bent.T
    return np.asarray((whole + whole.T) / 2)
