"""Exact answers once more, in a few lines each and from their definitions: what a known answer is known by."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from copriv.audit.axes import along
from copriv.losses.sample import Sample
from copriv.vectors import Axes, FloatArray, Norm


def reference_answer(sample: Sample, theta: FloatArray, clip: float, norm: Norm, axes: Axes = ()) -> FloatArray:
    """(1/n) Σ g · min(1, C/‖g‖) for the squared loss, with g = 2(θᵀx − y) Tx; T are the axes, if there are any.

    >>> sample = Sample.of_rows([[3.0, 4.0], [0.0, 0.1]], [-1.0, -1.0])
    >>> reference_answer(sample, np.zeros(2), 1.0, Norm.L2)
    array([0.3, 0.5])
    >>> reference_answer(sample, np.zeros(2), 1.0, Norm.L2, ((0.5, 0.0), (0.0, 0.0)))
    array([0.5, 0. ])
    """
    gradients = 2 * (theta @ sample.columns - sample.targets) * along(sample.columns.T, axes).T
    lengths = np.linalg.norm(gradients, ord=norm.value, axis=0)
    return np.asarray((gradients * (clip / np.maximum(clip, lengths))).mean(axis=1))


def reference_filled(
    sample: Sample, theta: FloatArray, bounds: tuple[float, float], norm: Norm, axes: Axes = ()
) -> FloatArray:
    """The same with the average of w·zzᵀ behind it, w = min(fill, room/‖zzᵀ‖), z = Tx; bounds are clip and fill.

    >>> sample = Sample.of_rows([[1.0, 0.0], [0.0, 2.0]], [-0.25, 0.0])
    >>> reference_filled(sample, np.zeros(2), (1.0, 0.4), Norm.L1).round(6)
    array([0.25, 0.  , 0.2 , 0.5 , 0.  ])
    """
    clip, fill = bounds
    there = along(sample.columns.T, axes).T
    gradients = 2 * (theta @ sample.columns - sample.targets) * there
    kept = np.minimum(clip, np.linalg.norm(gradients, ord=norm.value, axis=0))
    room = clip - kept if norm is Norm.L1 else np.sqrt((clip - kept) * (clip + kept))
    weight = np.sqrt(2) if norm is Norm.L2 else 1.0
    products = [x * x for x in there] + [weight * x * z for x, z in combinations(there, 2)]
    lengths = np.linalg.norm(products, ord=norm.value, axis=0)
    weights = np.minimum(fill, np.divide(room, lengths, out=np.zeros_like(room), where=lengths > 0))
    return np.concatenate([reference_answer(sample, theta, clip, norm, axes), np.mean(products * weights, axis=1)])


def reference_moments(sample: Sample, norm: Norm) -> FloatArray:
    """Σ x_j² for every feature, then Σ x_j x_k for every pair (in L2 times √2), then Σ x_j y.

    >>> reference_moments(Sample.of_rows([[3.0, 4.0], [0.0, 1.0]], [-1.0, 2.0]), Norm.L1)
    array([ 9., 17., 12., -3., -2.])
    """
    weight = np.sqrt(2) if norm is Norm.L2 else 1.0
    squares = [np.sum(x * x) for x in sample.columns]
    products = [weight * np.sum(x * z) for x, z in combinations(sample.columns, 2)]
    return np.array([*squares, *products, *(np.sum(x * sample.targets) for x in sample.columns)])


def reference_positives(sample: Sample) -> FloatArray:
    """The share of records with a target above 0; of people, of the parts that their rows count.

    >>> reference_positives(Sample.of_rows([[3.0, 4.0], [1.0, 0.0]], [0.5, 0.0]))
    array([0.5])
    """
    return np.array([np.sum(sample.weights[sample.targets > 0]) / sample.records])


def reference_second_moments(sample: Sample, norm: Norm) -> FloatArray:
    """The average of x_j² for every feature, then of x_j x_k for every pair (in L2 times √2).

    >>> reference_second_moments(Sample.of_rows([[3.0, 4.0], [1.0, 0.0]], [0.0, 0.0]), Norm.L1)
    array([5., 8., 6.])
    """
    pairs = sample.parameters * (sample.parameters + 1) // 2
    return np.asarray(reference_moments(sample, norm)[:pairs] / sample.records)
