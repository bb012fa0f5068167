"""The clipped average gradient once more, in four lines and from its definition: what a known gradient is known by."""

from __future__ import annotations

import numpy as np

from copriv.losses.sample import Sample
from copriv.vectors import FloatArray, Norm


def reference_answer(sample: Sample, theta: FloatArray, clip: float, norm: Norm) -> FloatArray:
    """(1/n) Σ ∇ℓ · min(1, C/‖∇ℓ‖) for the squared loss, ∇ℓ = 2(θᵀx − y) x.

    >>> sample = Sample.of_rows([[3.0, 4.0], [0.0, 0.1]], [-1.0, -1.0])
    >>> reference_answer(sample, np.zeros(2), 1.0, Norm.L2)
    array([0.3, 0.5])
    """
    gradients = 2 * (theta @ sample.columns - sample.targets) * sample.columns
    lengths = np.linalg.norm(gradients, ord=norm.value, axis=0)
    return np.asarray((gradients * (clip / np.maximum(clip, lengths))).mean(axis=1))
