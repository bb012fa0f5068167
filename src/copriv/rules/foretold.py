"""What each number of each answer should have been, judged by all the others: what its noise is fitted against.

With C the covariance of all answers for one α and β, y the answers and Q = C⁻¹, the number y_i is foretold by the
others as y_i − (Qy)_i/Q_ii with variance 1/Q_ii, its own noise included. Numbers are those that owners send, before
whitening: only there is their noise independent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from copriv.rules.difference import Difference
from copriv.rules.geometry import PublicGeometry
from copriv.rules.laplace import Gaussians
from copriv.vectors import FloatArray

_UNLIKELY, _LEAST = 1e-4, 1e-6


def foretold(found: Difference, geometry: PublicGeometry, noise: Sequence[FloatArray]) -> Gaussians:
    """Mean and variance of every number without its noise, whose variances these are; one row an observation."""
    seen, p = found.observations, geometry.parameters
    mean, square, total = np.zeros((len(seen), p)), np.zeros((len(seen), p)), 0.0
    for scale, chances in zip(found.scales, found.chances.T, strict=True):
        likely = chances > _UNLIKELY
        if not likely.any():
            continue
        inverse = np.linalg.inv(scale.covariance[likely]).reshape(-1, len(seen), p, len(seen), p)
        blocks = np.stack([inverse[:, place, :, place] for place in range(len(seen))], axis=1)
        precision = np.einsum("ri,akij,rj->akr", geometry.heard, blocks, geometry.heard)
        weights = scale.weights[likely].reshape(-1, len(seen), p) @ geometry.heard.T
        told = np.stack([one.deviation for one in seen]) @ geometry.unheard
        means = told - weights / precision
        variances = np.maximum(1 / precision - np.stack(noise), _LEAST / precision)
        mean += np.einsum("a,akr->kr", chances[likely], means)
        square += np.einsum("a,akr->kr", chances[likely], means**2 + variances)
        total += float(chances[likely].sum())
    return Gaussians(mean / total, square / total - (mean / total) ** 2)
