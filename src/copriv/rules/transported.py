"""Public rows moved to where the owners' records are, for losses of labels.

Under a strong shift the Hessian of a loss of labels is another one at every model: a model of how private gradients
differ that is linear in the model (`rules.difference`) does not hold far from the public model. Once owners have told
their second moments, more is known. The public rows are moved and stretched until they have the mean and the
covariance of the records, as far as noise lets one see them. They get new labels, drawn by the public model with
another intercept: the one at which their gradient has the intercept that owners told. These rows then stand for the
public ones, with a model, a Hessian and clipped gradients of their own, and all answers are read beside them again.

Where records differ from public rows by a mean, a covariance and a rate of labels, nothing is left to differ by.
Everything here is post-processing of answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.special import expit

from copriv.losses.logistic import LogisticLoss
from copriv.losses.moments import off_diagonal_weight
from copriv.losses.sample import Sample
from copriv.rules.adaptive_inference import AdaptiveSetting, pooled_second_moments, pooling_weights
from copriv.rules.adaptive_state import AdaptiveState, Told, settled
from copriv.rules.few_rows import is_few
from copriv.rules.geometry import PublicGeometry
from copriv.vectors import FloatArray, freeze

# Second moments are of use if noise blurs them by less than this.
VISIBLE = 0.9
# Owners with this part of all records have to have told their second moments.
_ENOUGH = 0.1
# Rows stay where they are if noise hides more than this part of how far the mean has moved.
_SEEN = 0.5
# How much a direction may shrink or grow, as a variance.
_LEAST, _MOST = 0.05, 20.0
# A feature is constant if it varies by less than this part of itself.
_CONSTANT = 1e-9
# Log-odds by which the intercept may move, and how often the search for it halves them.
_FURTHEST, _HALVINGS = 8.0, 40


def can_move(setting: AdaptiveSetting) -> bool:
    """Whether second moments would tell how to move the rows: of labels, with an intercept, and not too few of them."""
    public, loss = setting.geometry.public, setting.geometry.objective.loss
    if not isinstance(loss, LogisticLoss) or public.people is not None or public.offsets.size > 0:
        return False
    return constant_feature(public) is not None and not is_few(public.records, public.parameters)


def blur(geometry: PublicGeometry, noise: float) -> float:
    """The largest eigenvalue that noise of this variance makes of nothing, beside the average one of second moments."""
    average = float(np.trace(geometry.second_moments)) / geometry.parameters
    return 2 * math.sqrt(geometry.parameters * noise) / average


def constant_feature(public: Sample) -> int | None:
    """Which feature is the intercept; None if none is the same for all rows.

    >>> constant_feature(Sample.of_rows([[1.0, 0.5], [2.0, 0.5]], [1.0, -1.0]))
    1
    """
    columns = public.columns
    constant = np.ptp(columns, axis=1) <= _CONSTANT * np.abs(columns[:, 0])
    found = np.flatnonzero(constant & (columns[:, 0] != 0))
    return int(found[0]) if found.size else None


def moved(setting: AdaptiveSetting, state: AdaptiveState) -> AdaptiveSetting:
    """The setting with public rows moved as far as answers tell; as it is if they do not tell, or for other losses."""
    bought = tuple(told for told in state.told if told.ask.kind == "second_moments")
    heard = sum(setting.records[told.owner] for told in bought)
    if heard < _ENOUGH * sum(setting.records) or not can_move(setting):
        return setting
    start = setting.geometry.start
    looks = tuple(told for told in state.told if told.ask.kind == "gradient" and np.array_equal(told.ask.theta, start))
    return _moved(setting, bought, looks) if looks else setting


@lru_cache(maxsize=16)
def _moved(setting: AdaptiveSetting, bought: tuple[Told, ...], looks: tuple[Told, ...]) -> AdaptiveSetting:
    """For these second moments, and these gradients at the public model."""
    geometry, norm = setting.geometry, setting.noise.norm
    moments = pooled_second_moments(setting, settled(bought, norm))
    if blur(geometry, moments.noise) > VISIBLE:
        return setting
    rows = transport(geometry.public, moments.matrix, moments.noise / off_diagonal_weight(norm) ** 2)
    if rows is None:
        return setting
    public = relabel(geometry, rows, _pooled(setting, settled(looks, norm)))
    there = PublicGeometry.of(public, geometry.objective, geometry.clip, geometry.norm, axes=geometry.axes)
    return replace(setting, geometry=there, is_moved=True)


def transport(public: Sample, second_moments: FloatArray, noise: float) -> FloatArray | None:
    """Public features with the mean and covariance that these second moments have; None if noise hides the mean.

    `noise` is the variance of each of them. The way of the mean counts in part, the less the more of its square noise
    would make; changes of the covariance count as far as they are beyond the edge of what noise alone would show. The
    intercept stays.
    """
    columns, flat = public.columns, constant_feature(public)
    if flat is None:
        return None
    others = np.delete(np.arange(public.parameters), flat)
    features, constant = columns[others], float(columns[flat, 0])
    mean, root = features.mean(axis=1), _root(np.cov(features, bias=True).reshape(others.size, -1))
    inverse = np.linalg.inv(root)
    squares = inverse**2

    way = inverse @ (second_moments[flat, others] / constant - mean)
    seen = _seen(way, noise / constant**2 * float(squares.sum()))
    if seen < _SEEN:
        return None
    there = mean + root @ (seen * way)
    covariance = second_moments[np.ix_(others, others)] - np.outer(there, there)
    change = inverse @ covariance @ inverse - np.eye(others.size)
    values, basis = np.linalg.eigh((change + change.T) / 2)
    edge = 2 * float(squares.sum()) * math.sqrt(noise / others.size)
    values = 1 + np.sign(values) * np.maximum(np.abs(values) - edge, 0.0)
    stretch = (basis * np.sqrt(np.clip(values, _LEAST, _MOST))) @ basis.T
    rows = columns.copy()
    rows[others] = there[:, None] + root @ stretch @ inverse @ (features - mean[:, None])
    return rows


def relabel(geometry: PublicGeometry, rows: FloatArray, gradient: FloatArray) -> Sample:
    """Rows with labels by the public model, its intercept moved until their gradient at θ_0 has this one's intercept.

    The clip that owners use is applied to them, too. The more positive labels, the lower the gradient along the
    intercept, if that is positive.
    """
    public = geometry.public
    flat = constant_feature(public)
    if flat is None:
        return public
    margins, constant = geometry.start @ rows, float(rows[flat, 0])

    def labelled(intercept: float) -> Sample:
        return Sample(freeze(rows), freeze(_labels(expit(margins + intercept))))

    low, high = -_FURTHEST, _FURTHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        there = geometry.told_by(labelled(middle), geometry.start)
        if float(np.linalg.solve(geometry.along, there - gradient)[flat]) * constant > 0:
            low = middle
        else:
            high = middle
    return labelled((low + high) / 2)


def _labels(chances: FloatArray) -> FloatArray:
    """±1 for every row: as many of any stretch of rows, in the order of their chances, as they add up to.

    >>> _labels(np.array([0.5, 0.5, 0.1, 0.9])).tolist()
    [1.0, -1.0, -1.0, 1.0]
    """
    order = np.argsort(chances, kind="stable")
    passed = np.floor(np.cumsum(chances[order]) + 0.5)
    labels = np.empty_like(chances)
    labels[order] = np.where(np.diff(passed, prepend=0.0) > 0, 1.0, -1.0)
    return labels


def _pooled(setting: AdaptiveSetting, looks: Sequence[Told]) -> FloatArray:
    """Gradients of one place as one: by precision as far as noise counts, else by records."""
    geometry = setting.geometry
    records = np.asarray([setting.records[one.owner] for one in looks], dtype=np.float64)
    noise = np.asarray([setting.noise.std_of(one.owner, one.ask) for one in looks]) ** 2
    spread = geometry.unheard.T @ geometry.spread @ geometry.unheard
    weights = pooling_weights(records, float(np.mean(np.diag(spread))) / records, noise)
    return np.asarray(weights @ np.stack([one.values[: geometry.parameters] for one in looks]))


def _seen(difference: FloatArray, noise: float) -> float:
    """The part of a difference that is more than noise, whose squares add up to so much on average."""
    square = float(np.sum(difference**2))
    return max(0.0, 1 - noise / square) if square > 0 else 0.0


def _root(matrix: FloatArray) -> FloatArray:
    values, basis = np.linalg.eigh(matrix)
    least = _CONSTANT * max(float(values[-1]), np.finfo(float).tiny)
    return np.asarray((basis * np.sqrt(np.maximum(values, least))) @ basis.T)
