"""Second moments of records as one vector: all that the squared loss needs of an owner, told at once.

The vector holds the diagonal of Σ xxᵀ, what lies above it times a weight, and Σ xy: p(p + 3)/2 numbers. With the weight
√2 its L2 length is that of the symmetric matrix (Frobenius) and Σ xy together. For L1 the weight is 1.
"""

from __future__ import annotations

import math

import numpy as np

from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray, Norm


def moment_count(parameters: int) -> int:
    """How many numbers there are: p(p + 3)/2.

    >>> moment_count(9)
    54
    """
    return parameters * (parameters + 3) // 2


def off_diagonal_weight(norm: Norm) -> float:
    """What the numbers above the diagonal are multiplied by."""
    return math.sqrt(2) if norm is Norm.L2 else 1.0


def pack_moments(sample: Sample, norm: Norm) -> FloatArray:
    """Σ xxᵀ and Σ xy of some records, as the vector whose sensitivity is known in that norm."""
    matrix = sample.columns @ sample.columns.T
    above = matrix[np.triu_indices(sample.parameters, 1)] * off_diagonal_weight(norm)
    return np.concatenate([np.diag(matrix), above, sample.columns @ sample.targets])


def unpack_moments(vector: FloatArray, parameters: int, norm: Norm) -> tuple[FloatArray, FloatArray]:
    """The matrix and the vector again."""
    if vector.shape != (moment_count(parameters),):
        raise BadInput(
            f"{vector.size} moments of {parameters} features",
            remedy=f"give p(p + 3)/2 = {moment_count(parameters)}",
            value=vector.size,
        )
    matrix = np.zeros((parameters, parameters))
    above = np.triu_indices(parameters, 1)
    matrix[above] = vector[parameters : parameters + above[0].size] / off_diagonal_weight(norm)
    matrix += matrix.T
    np.fill_diagonal(matrix, vector[:parameters])
    return matrix, vector[parameters + above[0].size :]
