"""A weighted mean of models that do well together on records they were not fitted to (stacking, Breiman 1996).

Likelihood weighs models one by one: of two that err in opposite ways it takes the better one, where their mean is
better than both. Here weights are chosen for the mean. They are none below 0, and add up to 1. A few records could
choose any weights, so these are held to a first guess as if by a Gaussian prior: they minimise

    Σ ℓ(Σ w_k z_k)/unit + |w − first|²/(2 · 0.1),

so that 0.3 to either side of the first guess is usual. With the margins of the models as features this is a model of a
few numbers, and Newton's steps find it. What it gains on the records that it was fitted to is more than it gains on
new ones: it and the first guess are weighed by their likelihoods, less one for what was fitted (Akaike 1974).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from copriv.losses.loss import Loss
from copriv.losses.passes import average_curvature, average_gradient, average_value
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray

# One over the variance of a weight around its first guess.
_HOLD = 10.0
# Of the log-likelihood.
_FITTED = 1.0
_MOST_STEPS, _SHORTEST, _STILL = 20, 1e-3, 1e-9
_LARGEST = 700.0
# Models that agree to the last digits have margins that are singular in double precision, but for this.
_ROUNDING = 1e-10


def stack(loss: Loss, margins: Sample, first: FloatArray, unit: float) -> FloatArray:
    """The weights of a few models, none below 0, adding up to 1.

    Args:
        loss: what is minimised.
        margins: the records' targets, and as features the margin by each model, which has not seen the record.
        first: the weights to start from and to be held to.
        unit: what a loss is divided by to be a log-likelihood.

    >>> from copriv.losses.choose import choose
    >>> targets = np.tile([1.0, -1.0], 200)
    >>> opposite = Sample.of_rows(np.stack([1.3 * targets + 0.5, 0.7 * targets - 0.5], axis=1), targets)
    >>> stack(choose("squared"), opposite, np.array([1.0, 0.0]), 0.7).round(2).tolist()
    [0.51, 0.49]
    >>> twice = Sample.of_rows(np.stack([targets, targets], axis=1), targets)
    >>> stack(choose("squared"), twice, np.array([1.0, 0.0]), 1e-30).round(2).tolist()
    [1.0, 0.0]
    """
    held = _Held(loss, margins, first, margins.records / unit)
    stacked = _minimise(held, first)
    gained = held.scale * (average_value(loss, margins, first) - average_value(loss, margins, stacked))
    share = 1 / (1 + math.exp(min(_FITTED - gained, _LARGEST)))
    return first + share * (stacked - first)


def _minimise(held: _Held, weights: FloatArray) -> FloatArray:
    """Newton's steps, each halved until the value falls."""
    value = held.value(weights)
    for _ in range(_MOST_STEPS):
        aim, length = held.aim(weights), 1.0
        while (found := held.value(weights + length * (aim - weights))) > value and length >= _SHORTEST:
            length /= 2
        if found > value:
            break
        weights, fall, value = weights + length * (aim - weights), value - found, found
        if fall <= _STILL * (1 + abs(value)):
            break
    return weights


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """What is minimised."""

    loss: Loss
    margins: Sample
    first: FloatArray
    scale: float

    def value(self, weights: FloatArray) -> float:
        """The minus log-likelihood, and what the first guess holds."""
        strayed = weights - self.first
        return self.scale * average_value(self.loss, self.margins, weights) + _HOLD * float(strayed @ strayed) / 2

    def aim(self, weights: FloatArray) -> FloatArray:
        """Where Newton's step would lead: the least of the parabola at some weights, among weights that are allowed."""
        slope = self.scale * average_gradient(self.loss, self.margins, weights) + _HOLD * (weights - self.first)
        bend = self.scale * average_curvature(self.loss, self.margins, weights)
        bend = bend + (_HOLD + _ROUNDING * float(np.trace(bend))) * np.eye(weights.size)
        return _least(bend, bend @ weights - slope)


def _least(bend: FloatArray, pull: FloatArray) -> FloatArray:
    """The least of ½wᵀ·bend·w − pull·w over weights from 0 that add up to 1: of every set of models that may have one.

    >>> _least(np.eye(2), np.array([3.0, 0.0])).tolist()
    [1.0, 0.0]
    """
    best, least = np.zeros(pull.size), np.inf
    for count in range(1, pull.size + 1):
        for chosen in map(list, combinations(range(pull.size), count)):
            solved = np.linalg.solve(bend[np.ix_(chosen, chosen)], np.stack([pull[chosen], np.ones(count)], axis=1))
            weights = solved[:, 0] + solved[:, 1] * (1 - solved[:, 0].sum()) / solved[:, 1].sum()
            value = float(weights @ bend[np.ix_(chosen, chosen)] @ weights / 2 - pull[chosen] @ weights)
            if weights.min() >= 0 and value < least:
                least, best = value, np.zeros(pull.size)
                best[chosen] = weights
    return best
