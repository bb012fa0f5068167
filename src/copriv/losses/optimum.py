"""The exact minimiser θ* of a fitness on the box: projected Newton steps, until the projected gradient is below 1e-10.

The squared loss is quadratic, so one step is the closed form. A step that would leave the box is replaced by the exact
minimiser of the quadratic model within it (bounded least squares, an active-set method).
"""

from __future__ import annotations

import numpy as np

from copriv.errors import CoprivError
from copriv.losses.loss import Loss
from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray

TOLERANCE = 1e-10
_MOST_STEPS = 200
_WIDE_BOX = 1e6


def minimise(objective: Objective, sample: Sample, start: FloatArray | None = None) -> FloatArray:
    """θ* = argmin of f over the box, for these records; a start nearby saves steps."""
    theta = np.zeros(sample.parameters) if start is None else objective.project(start)
    for _ in range(_MOST_STEPS):
        gradient = objective.gradient(sample, theta)
        if optimality_gap(objective, theta, gradient) <= TOLERANCE:
            return theta
        direction = _newton_direction(objective, sample, theta, gradient)
        theta = _descend(objective, sample, theta, gradient, direction)
    raise CoprivError(
        f"no minimiser to {TOLERANCE:g} after {_MOST_STEPS} Newton steps",
        remedy="raise the regularization, or remove nearly collinear features",
        value=_MOST_STEPS,
    )


def minimise_freely(loss: Loss, regularization: float, sample: Sample, start: FloatArray | None = None) -> FloatArray:
    """The model that these records alone give, in a box too wide to matter."""
    return minimise(Objective(loss, regularization, _WIDE_BOX), sample, start)


def optimality_gap(objective: Objective, theta: FloatArray, gradient: FloatArray) -> float:
    """‖θ − Π(θ − ∇f)‖∞, which is 0 exactly at the minimiser."""
    return float(np.max(np.abs(theta - objective.project(theta - gradient))))


def _newton_direction(objective: Objective, sample: Sample, theta: FloatArray, gradient: FloatArray) -> FloatArray:
    return bounded_step(objective.limit, theta, gradient, objective.curvature(sample, theta))


def bounded_step(limit: float, theta: FloatArray, gradient: FloatArray, curvature: FloatArray) -> FloatArray:
    """The d that minimises ½dᵀHd + gᵀd with θ + d in the box; Newton's own if it stays inside.

    At the border it is found by least squares in the Cholesky factor of H.
    """
    direction = np.linalg.solve(curvature, -gradient)
    if np.all(np.abs(theta + direction) <= limit):
        return np.asarray(direction, dtype=np.float64)
    from scipy.linalg import solve_triangular
    from scipy.optimize import lsq_linear

    factor = np.linalg.cholesky(curvature)
    offset = solve_triangular(factor, -gradient, lower=True)
    found = lsq_linear(factor.T, offset, bounds=(-limit - theta, limit - theta), method="bvls", tol=1e-15)
    return np.asarray(found.x, dtype=np.float64)


def _descend(
    objective: Objective, sample: Sample, theta: FloatArray, gradient: FloatArray, direction: FloatArray
) -> FloatArray:
    """Halve the step until the fitness falls; a fall too small to be seen in a double counts as one."""
    here = objective.fitness(sample, theta)
    slope = float(gradient @ direction)
    step = 1.0
    while step > 1e-10:
        there = objective.project(theta + step * direction)
        if objective.fitness(sample, there) <= here + 1e-4 * step * slope + 1e-14 * (1 + abs(here)):
            return there
        step /= 2
    return objective.project(theta + direction)
