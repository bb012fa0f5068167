"""Axes along which gradients are best told: a matrix T, so that owners clip Tg and add their noise to that.

Laplace noise and a clip in L1 depend on the axes. Along some of them the public rows' gradients are short beside what
the noise costs. With C the clip, noise of variance ∝ C² on Tg leaves T⁻¹w in the gradient, which costs tr A⁻¹(TᵀT)⁻¹
times as much, with A the Hessian. So T makes

    log E‖Tg‖₁² + log tr A⁻¹(TᵀT)⁻¹

small over the public rows; it does not change if T is scaled. Owners' rows may lie elsewhere. So half of the weight is
on public rows that are moved along one feature, up or down, and shortened as rows are: then hardly any shift along a
feature makes gradients much longer.

Which T it is changes no promise: gradients are clipped along it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from copriv.losses.objective import Objective
from copriv.losses.passes import record_slopes
from copriv.losses.sample import Sample
from copriv.losses.turned import STEEPEST
from copriv.rules.few_rows import is_few
from copriv.vectors import Axes, FloatArray, Norm

# About so many public rows are looked at, and for each feature so many that are moved by so many deviations, both ways;
# the weight of those. Of more features fewer rows are moved along each.
_ROWS, _MOVED_ROWS, _MOST_MOVED, _FURTHER, _MOVED = 2000, 60, 2400, 3.0, 0.5
# |x| is taken for √(x² + c²), c so small beside the average.
_CORNER = 1e-4
_STEPS = 300
# The squares of all entries add up to this, and entries have so many digits.
_SQUARES, _DIGITS = 0.99, 6
# A feature that varies by less has no other side to be moved to.
_STILL = 1e-9


def choose_axes(public: Sample, objective: Objective, norm: Norm, start: FloatArray) -> Axes:
    """T, one axis a row; none where noise does not depend on it, rows are people, or public rows are few.

    `start` is the public model.
    """
    few = is_few(public.records, public.parameters)
    if norm is not Norm.L1 or few or public.people is not None or public.parameters < 2:
        return ()
    return _chosen(public, objective, np.asarray(start, dtype=np.float64).tobytes())


@lru_cache(maxsize=8)
def _chosen(public: Sample, objective: Objective, start: bytes) -> Axes:
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    theta, p = np.frombuffer(start), public.parameters

    def cost(flat: FloatArray) -> tuple[float, FloatArray]:
        value, slope = _cost(flat.reshape(p, p), gradients, weights, inverse, corner)
        return value, slope.ravel()

    # Several threads would add up in other orders, and a study that is planned again would have other terms.
    with threadpool_limits(1, user_api="blas"):
        gradients, weights = _gradients(public, objective, theta)
        inverse = np.asarray(np.linalg.inv(objective.curvature(public, theta)), dtype=np.float64)
        corner = _CORNER**2 * float(np.mean(gradients**2))
        if not corner > 0:
            return ()
        found = minimize(cost, np.eye(p).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x
    found = found.reshape(p, p)
    if not np.linalg.cond(found) < STEEPEST / 2:
        return ()
    scaled = found * math.sqrt(_SQUARES / float(np.sum(found**2)))
    return tuple(tuple(float(f"{entry:.{_DIGITS}g}") for entry in axis) for axis in scaled)


def _cost(
    axes: FloatArray, gradients: FloatArray, weights: FloatArray, inverse: FloatArray, corner: float
) -> tuple[float, FloatArray]:
    """What is to be small, and its derivative by every entry of T."""
    told = axes @ gradients
    smooth = np.sqrt(told**2 + corner)
    lengths = smooth.sum(axis=0)
    square = float(weights @ lengths**2)
    back = np.linalg.inv(axes)
    left = back @ back.T
    noise = float(np.sum(inverse * left))
    slope = (2 * weights * lengths / square * (told / smooth)) @ gradients.T
    return math.log(square) + math.log(noise), slope - 2 * (left @ inverse @ back).T / noise


def _gradients(public: Sample, objective: Objective, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradients of public rows, one a column, and of such that are moved; and what each of them weighs."""
    every = max(1, public.records // _ROWS)
    columns, slopes = public.columns[:, ::every], record_slopes(objective.loss, public, theta)[::every]
    deviations = public.columns.std(axis=1)
    features = np.flatnonzero(deviations > _STILL)
    wanted = max(1, min(_MOVED_ROWS, _MOST_MOVED // max(1, 2 * features.size)))
    some = slice(None, None, max(1, slopes.size // wanted))
    found = [columns * slopes]
    for feature in features:
        for way in (_FURTHER, -_FURTHER):
            moved = columns[:, some].copy()
            moved[feature] += way * deviations[feature]
            found.append(moved / np.maximum(np.linalg.norm(moved, axis=0), 1.0) * slopes[some])
    moved_alone = len(found) - 1
    shares = [1 - _MOVED, *(_MOVED / moved_alone,) * moved_alone] if moved_alone else [1.0]
    weights = [np.full(rows.shape[1], share / rows.shape[1]) for rows, share in zip(found, shares, strict=True)]
    return np.hstack(found), np.concatenate(weights)
