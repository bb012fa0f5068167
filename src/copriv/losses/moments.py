"""Second moments of records as one vector.

Moments are all that the squared loss needs of an owner, told at once: the diagonal of Σ xxᵀ, what lies above it times a
weight, and Σ xy: p(p + 3)/2 numbers. With the weight √2 the vector's L2 length is that of the symmetric matrix
(Frobenius) and Σ xy together. For L1 the weight is 1.

Second moments alone are the average of xxᵀ, packed the same way: p(p + 1)/2 numbers, for every loss.
"""

from __future__ import annotations

import math

import numpy as np

from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.vectors import BLOCK, FloatArray, Norm


def moment_count(parameters: int) -> int:
    """How many numbers there are: p(p + 3)/2.

    >>> moment_count(9)
    54
    """
    return parameters * (parameters + 3) // 2


def second_moment_count(parameters: int) -> int:
    """How many numbers the second moments alone have: p(p + 1)/2.

    >>> second_moment_count(9)
    45
    """
    return parameters * (parameters + 1) // 2


def off_diagonal_weight(norm: Norm) -> float:
    """What the numbers above the diagonal are multiplied by."""
    return math.sqrt(2) if norm is Norm.L2 else 1.0


def pack_moments(sample: Sample, norm: Norm) -> FloatArray:
    """Σ xxᵀ and Σ xy of some records, as the vector whose sensitivity is known in that norm."""
    matrix = sample.columns @ sample.columns.T
    return np.concatenate([_pack_matrix(matrix, norm), sample.columns @ sample.targets])


def unpack_moments(vector: FloatArray, parameters: int, norm: Norm) -> tuple[FloatArray, FloatArray]:
    """The matrix and the vector again."""
    if vector.shape != (moment_count(parameters),):
        raise BadInput(
            f"{vector.size} moments of {parameters} features",
            remedy=f"give p(p + 3)/2 = {moment_count(parameters)}",
            value=vector.size,
        )
    pairs = second_moment_count(parameters)
    return _unpack_matrix(vector[:pairs], parameters, norm), vector[pairs:]


def pack_second_moments(sample: Sample, norm: Norm) -> FloatArray:
    """The average of xxᵀ over some records, as the vector whose sensitivity is known in that norm.

    Records are added up in blocks, and then the blocks: that bounds the rounding error (`privacy.sensitivity`).
    """
    total = np.zeros((sample.parameters, sample.parameters))
    for first in range(0, sample.records, BLOCK):
        block = sample.columns[:, first : first + BLOCK]
        total += block @ block.T
    return _pack_matrix(total / sample.records, norm)


def unpack_second_moments(vector: FloatArray, parameters: int, norm: Norm) -> FloatArray:
    """The matrix again."""
    if vector.shape != (second_moment_count(parameters),):
        raise BadInput(
            f"{vector.size} second moments of {parameters} features",
            remedy=f"give p(p + 1)/2 = {second_moment_count(parameters)}",
            value=vector.size,
        )
    return _unpack_matrix(vector, parameters, norm)


def _pack_matrix(matrix: FloatArray, norm: Norm) -> FloatArray:
    """The diagonal, and what lies above it times the weight."""
    above = matrix[np.triu_indices(matrix.shape[0], 1)] * off_diagonal_weight(norm)
    return np.concatenate([np.diag(matrix), above])


def _unpack_matrix(vector: FloatArray, parameters: int, norm: Norm) -> FloatArray:
    matrix = np.zeros((parameters, parameters))
    matrix[np.triu_indices(parameters, 1)] = vector[parameters:] / off_diagonal_weight(norm)
    matrix += matrix.T
    np.fill_diagonal(matrix, vector[:parameters])
    return matrix
