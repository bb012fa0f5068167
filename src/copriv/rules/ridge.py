"""The ridge that the public model should have: the one with the least loss on rows that were left out.

A model of few rows with many numbers fits these rows better than any others. A larger λ helps, and how large is seen on
the public rows alone: by the loss of each row at the model of the others. For the squared loss that is exact and all λ
share one eigendecomposition. For others it is one Newton step from the model of all rows (`rules.left_out`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.passes import average_value
from copriv.losses.quadratic import SufficientStatistics
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.rules.left_out import left_out_offsets
from copriv.vectors import FloatArray

# Ridges grow by this factor, up to the largest eigenvalue of the Hessian.
_STEP = 10**0.25
# Of losses that take a search for every ridge, each so-manieth first, and then those between around the best.
_COARSE = 4
# A row that alone decides over a direction is taken to decide over this share of it, as in `rules.left_out`.
_MOST_LEVERAGE = 0.9


def best_ridge(public: Sample, objective: Objective) -> float:
    """The λ, from that of the objective on, with the least average loss of rows at the model of the others.

    The λ of the objective itself if no larger one is better.
    """
    ridges = candidate_ridges(public, objective)
    if isinstance(objective.loss, SquaredLoss):
        return float(ridges[int(np.argmin(squared_losses(public, ridges)))])
    known: dict[int, float] = {}
    _look(public, objective, ridges, range(0, ridges.size, _COARSE), known)
    near = min(known, key=lambda place: known[place])
    between = range(max(near - _COARSE + 1, 0), min(near + _COARSE, ridges.size))
    _look(public, objective, ridges, [place for place in between if place not in known], known)
    return float(ridges[min(known, key=lambda place: known[place])])


def candidate_ridges(public: Sample, objective: Objective) -> FloatArray:
    """From the objective's λ to the largest eigenvalue that a Hessian of these rows may have, by equal factors."""
    second = public.weighted @ public.columns.T
    steepest = objective.loss.curvature_bound * float(np.linalg.eigvalsh(second)[-1]) / public.records
    steps = max(np.log(max(steepest, objective.regularization) / objective.regularization) / np.log(_STEP), 0.0)
    return np.asarray(objective.regularization * _STEP ** np.arange(int(np.ceil(steps)) + 1), dtype=np.float64)


def squared_losses(public: Sample, ridges: FloatArray) -> FloatArray:
    """The average squared loss of every row at the model of the others, for every ridge; exact while no box binds."""
    statistics = SufficientStatistics.of(public)
    values, basis = np.linalg.eigh(statistics.curvature)
    turned, offset = basis.T @ public.columns, basis.T @ statistics.offset
    # All ridges at once: rows are read twice, and not twice a ridge.
    bents = np.maximum(values, 0.0) + 2 * ridges[:, None]
    misses, shares = offset / bents @ turned - public.targets, 2 / public.records / bents @ turned**2
    found = zip(bents, misses, shares, strict=True)
    return np.asarray([public.mean(_left_out(public, turned, *each) ** 2) for each in found])


def _left_out(
    public: Sample, turned: FloatArray, bent: FloatArray, misses: FloatArray, shares: FloatArray
) -> FloatArray:
    """What every row is missed by at the model of the others; exact where each person has one row."""
    leverages = np.minimum(public.by_record(shares), _MOST_LEVERAGE)
    if public.people is None:
        return np.asarray(misses / (1 - leverages))
    moved = 2 / public.records * public.by_record(turned * misses) / (1 - leverages) / bent[:, None]
    return np.asarray(misses + np.einsum("jr,jr->r", turned, np.repeat(moved, public.people.sizes, axis=1)))


def left_out_loss(public: Sample, objective: Objective) -> float:
    """The average loss of every row at the model of the others, to first order."""
    theta = minimise(objective, public)
    offsets = left_out_offsets(objective, public, theta, objective.curvature(public, theta))
    moved = public.with_columns(np.vstack([public.columns, offsets]))
    return average_value(objective.loss, moved, np.append(theta, 1.0))


def _look(
    public: Sample, objective: Objective, ridges: FloatArray, places: Sequence[int], known: dict[int, float]
) -> None:
    """Note what rows cost that are left out, under the ridges of these places."""
    for place in places:
        known[place] = left_out_loss(public, replace(objective, regularization=float(ridges[place])))
