"""The least noise that a pure ε allows: staircases over a body, and how much each coordinate of them varies.

A record's gradient is clipped into a body C·K, so that a record moves an answer by at most Δ in K's norm. The density

    e^(−kε), k the least with ‖x‖ ≤ (k + γ)Δ,

falls by e^ε once on every way of length Δ, so it keeps ε. It is a mixture of uniform laws on the balls of radius
R = (k + γ)Δ, with chances in proportion to e^(−kε)(k + γ)^p: each ball by its volume. So a coordinate has the variance

    E R² · u_K,    u_K = 2/((p + 1)(p + 2)), 1/(p + 2), 1/3

for the L1 ball, the L2 ball and the cube. No additive noise has a lower one than the best γ gives (Kulesza, Suresh and
Wang 2025; Melbourne, Diaz and Asoodeh, arXiv 2601.14597). For ε → 0 it is the K-norm mechanism's, with
E R² = (p + 1)(p + 2)Δ²/ε²: Laplace noise if K is the L1 ball. docs/theory/limits.md has the proofs.
"""

from __future__ import annotations

import math
from enum import Enum
from functools import lru_cache

import numpy as np

from copriv.errors import BadInput
from copriv.vectors import FloatArray

# Where no γ changes the variance by more than this share, the limit of small ε is taken.
_SAME = 1e-6
_GRID = 65
# A Gamma law of shape p + 3 has less than 1e-16 of its mean beyond so many deviations and so much more.
_DEVIATIONS, _BEYOND = 12.0, 40.0


class Body(Enum):
    """Into what a record's gradient is clipped; the value is its name."""

    CROSS = "L1 ball"
    BALL = "L2 ball"
    CUBE = "cube"

    def lengths(self, gradients: FloatArray) -> FloatArray:
        """Of each gradient (a column), in the norm whose unit ball this body is."""
        order = {Body.CROSS: 1, Body.BALL: 2, Body.CUBE: np.inf}[self]
        return np.asarray(np.linalg.norm(gradients, ord=order, axis=0), dtype=np.float64)

    def clip(self, gradients: FloatArray, lengths: FloatArray, bound: float) -> FloatArray:
        """The gradients, none longer than the bound: balls shorten them, the cube cuts each coordinate."""
        if self is Body.CUBE:
            return np.clip(gradients, -bound, bound)
        return np.asarray(gradients * (bound / np.maximum(lengths, bound)))

    def uniform_variance(self, parameters: int) -> float:
        """u_K: of one coordinate of a point taken at random in the unit ball.

        >>> [round(body.uniform_variance(3), 3) for body in Body]
        [0.1, 0.2, 0.333]
        """
        if self is Body.CUBE:
            return 1 / 3
        return 1 / (parameters + 2) * (2 / (parameters + 1) if self is Body.CROSS else 1.0)


def radial_variance(body: Body, parameters: int, epsilon: float) -> float:
    """Of one coordinate of the K-norm mechanism's noise at sensitivity 1; Laplace noise for the L1 ball.

    >>> round(radial_variance(Body.CROSS, 7, 0.5), 9)
    8.0
    """
    _require(parameters, epsilon)
    return (parameters + 1) * (parameters + 2) * body.uniform_variance(parameters) / epsilon**2


def staircase_variance(body: Body, parameters: int, epsilon: float) -> float:
    """Of one coordinate of the best staircase at sensitivity 1.

    >>> staircase_variance(Body.CROSS, 10, 10.0) < radial_variance(Body.CROSS, 10, 10.0)
    True
    """
    _require(parameters, epsilon)
    return body.uniform_variance(parameters) * _least_square_radius(parameters, epsilon)


@lru_cache(maxsize=4096)
def _least_square_radius(parameters: int, epsilon: float) -> float:
    """The least E R² over γ, at sensitivity 1.

    By Euler and Maclaurin sum and integral differ by about 2(ε/2π)^(p + 1) of themselves. For large ε the best γ is
    (p/2)^(1/(p + 2)) e^(−ε/(p + 2)), and never far below.
    """
    limit = (parameters + 1) * (parameters + 2) / epsilon**2
    if 4 * (epsilon / (2 * math.pi)) ** (parameters + 1) < _SAME:
        return limit
    heights = np.geomspace(math.exp(-epsilon / (parameters + 2)) / 4, 1.0, _GRID)
    for _ in range(2):
        found = square_radii(parameters, epsilon, heights)
        best = int(np.argmin(found))
        heights = np.linspace(heights[max(best - 1, 0)], heights[min(best + 1, _GRID - 1)], _GRID)
    return min(float(np.min(square_radii(parameters, epsilon, heights))), limit)


def square_radii(parameters: int, epsilon: float, heights: FloatArray) -> FloatArray:
    """E R² at sensitivity 1, for each γ (above 0, at most 1)."""
    shape = parameters + 3
    steps = np.arange(math.ceil((shape + _DEVIATIONS * math.sqrt(shape) + _BEYOND) / epsilon) + 2)
    radii = steps + heights[:, None]
    logarithms = parameters * np.log(radii) - epsilon * steps
    weights = np.exp(logarithms - np.max(logarithms, axis=1, keepdims=True))
    return np.asarray(np.sum(weights * radii**2, axis=1) / np.sum(weights, axis=1))


def _require(parameters: int, epsilon: float) -> None:
    if parameters < 1 or not (math.isfinite(epsilon) and epsilon > 0):
        raise BadInput(
            f"noise for {parameters} numbers at ε = {epsilon}",
            remedy="give at least one number, and a finite ε above 0",
            value=(parameters, epsilon),
        )
