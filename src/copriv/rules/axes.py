"""Axes along which gradients are told: a matrix T, so that owners clip Tg and add their noise to that.

Laplace noise and a clip in L1 depend on the axes. Along some of them the public rows' gradients are shorter beside what
the noise costs. With C the clip, noise of variance ∝ C² on Tg leaves T⁻¹w in the gradient, which costs tr A⁻¹(TᵀT)⁻¹
times as much, with A the Hessian. So T makes

    log E‖Tg‖₁² + log tr A⁻¹(TᵀT)⁻¹

small over the public rows; it does not change if T is scaled. Owners' rows may lie elsewhere: half of the weight is on
public rows that are moved along one feature, up or down. Then hardly any shift along a feature makes gradients much
longer.

Which T it is changes no promise: gradients are clipped along it.
"""

from __future__ import annotations

import math

import numpy as np

from copriv.losses.objective import Objective
from copriv.losses.passes import record_slopes
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray, Norm

# So many public rows are looked at, and for each feature so many that are moved by so many deviations; weight of those.
_ROWS, _MOVED_ROWS, _FURTHER, _MOVED = 2000, 60, 3.0, 0.5
# |x| is taken for √(x² + c²), c so small beside the average.
_CORNER = 1e-4
_STEPS = 300
_CACHE: dict = {}


def choose_axes(public: Sample, objective: Objective, norm: Norm, start: FloatArray) -> FloatArray | None:
    """T, one axis a row; None where noise does not depend on it."""
    import os
    if norm is not Norm.L1 or os.environ.get("NOAXES"):
        return None
    key = id(public)
    if key not in _CACHE:
        _CACHE[key] = public, _choose(public, objective, start)
    return _CACHE[key][1]


def _choose(public, objective, start):
    import os
    from scipy.optimize import minimize

    inverse = np.linalg.inv(objective.curvature(public, start))
    further=float(os.environ.get("FURTHER",_FURTHER)); moved=float(os.environ.get("MOVED",_MOVED))
    gradients, weights = _rows(public, objective, start, further, moved)
    p = public.parameters
    corner = _CORNER**2 * float(np.mean(gradients**2))

    def cost(flat):
        axes = flat.reshape(p, p)
        told = axes @ gradients
        smooth = np.sqrt(told**2 + corner)
        lengths = smooth.sum(axis=0)
        square = float(weights @ lengths**2)
        back = np.linalg.inv(axes)
        noise = float(np.sum(inverse * (back @ back.T)))
        slope = (2 * weights * lengths / square * (told / smooth)) @ gradients.T
        slope -= 2 * (back @ back.T @ inverse @ back).T / noise
        return math.log(square) + math.log(noise), slope.ravel()

    found = minimize(cost, np.eye(p).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    axes = found.x.reshape(p, p)
    return axes / np.sqrt(np.mean(axes**2) * p)


def _rows(public, objective, start, further, moved):
    slopes = record_slopes(objective.loss, public, start)
    columns = public.columns
    every = max(1, columns.shape[1] // _ROWS)
    columns, slopes = columns[:, ::every], slopes[::every]
    deviations = public.columns.std(axis=1)
    rows = [columns * slopes]
    weights = [np.full(columns.shape[1], (1 - moved) / columns.shape[1])]
    stream = np.random.default_rng(1)
    varies = np.flatnonzero(deviations > 1e-9)
    if moved > 0:
        for k in varies:
            for sign in (1.0, -1.0):
                some = stream.choice(columns.shape[1], _MOVED_ROWS)
                there = columns[:, some].copy()
                there[k] += sign * further * deviations[k]
                there /= np.maximum(np.linalg.norm(there, axis=0), 1.0)
                rows.append(there * slopes[some])
                weights.append(np.full(_MOVED_ROWS, moved / (_MOVED_ROWS * 2 * varies.size)))
    return np.hstack(rows), np.concatenate(weights)
