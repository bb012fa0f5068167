"""Directions of the public rows' cells: those that vary most, and those that go with the target.

Both are nested: the first k of many are the k that one would have asked for.
"""

from __future__ import annotations

import numpy as np

from copriv.vectors import FloatArray

_SMALLEST_VARIANCE = 1e-6
_SMALLEST_SHARE = 1e-10


def principal_components(standardised: FloatArray, most: int) -> FloatArray:
    """The leading directions of variation over their deviations, one a row, with signs that no machine can change."""
    variances, directions = np.linalg.eigh(standardised.T @ standardised / standardised.shape[0])
    wanted = [k for k in range(variances.size)[::-1] if variances[k] > _SMALLEST_VARIANCE][:most]
    return _signed(directions[:, wanted].T / np.sqrt(variances[wanted])[:, None])


def supervised_components(standardised: FloatArray, targets: FloatArray, most: int) -> FloatArray:
    """The directions of partial least squares (SIMPLS, one target), each with scores of variance 1; one a row.

    Each direction has the largest covariance with the target among those whose scores are uncorrelated with the scores
    before. There are fewer than `most` if the rows have no more of them.
    """
    rows, cells = standardised.shape
    covariance = standardised.T @ (targets - targets.mean()) / rows
    first = float(np.linalg.norm(covariance))
    found: list[FloatArray] = []
    loadings = np.empty((0, cells))
    while len(found) < min(most, cells, rows - 1) and first > 0:
        scores = standardised @ covariance
        scores -= scores.mean()
        deviation = float(np.sqrt(np.mean(scores**2)))
        if deviation <= _SMALLEST_SHARE * first or float(np.linalg.norm(covariance)) <= _SMALLEST_SHARE * first:
            break
        found.append(covariance / deviation)
        loading = _apart(standardised.T @ (scores / deviation) / rows, loadings)
        loadings = np.vstack([loadings, loading / np.linalg.norm(loading)])
        covariance = _apart(covariance, loadings)
    return _signed(np.array(found).reshape(-1, cells))


def _apart(vector: FloatArray, basis: FloatArray) -> FloatArray:
    """What is left of a vector without its part in an orthonormal basis; twice, because once leaves rounding."""
    for _ in range(2):
        vector = vector - basis.T @ (basis @ vector)
    return vector


def _signed(components: FloatArray) -> FloatArray:
    """Components whose largest weight is positive."""
    largest = np.argmax(np.abs(components), axis=1) if components.size else np.zeros(0, dtype=np.int64)
    signs = np.sign(components[np.arange(components.shape[0]), largest])
    return np.asarray(components * signs[:, None], dtype=np.float64)
