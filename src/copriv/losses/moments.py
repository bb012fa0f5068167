"""Second moments of records as one vector.

Moments are all that the squared loss needs of an owner, told at once: the diagonal of Σ xxᵀ, what lies above it times a
weight, and Σ xy: p(p + 3)/2 numbers. With the weight √2 the vector's L2 length is that of the symmetric matrix
(Frobenius) and Σ xy together. For L1 the weight is 1.

Second moments alone are the average of xxᵀ, packed the same way: p(p + 1)/2 numbers, for every loss.

The share of records with a target above 0 is one number: of labels it is their rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from copriv.errors import BadInput
from copriv.losses.records import Records, add_up
from copriv.losses.sample import Sample
from copriv.vectors import BLOCK, FloatArray, Norm

# The numbers of so many blocks are held at a time: 16 MiB.
_MOST_NUMBERS = 1 << 21


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


def pack_moments(records: Records, norm: Norm) -> FloatArray:
    """Σ xxᵀ and Σ xy of some records, as the vector whose sensitivity is known in that norm.

    Records are added up in blocks, and then the blocks: that bounds the rounding error (`privacy.sensitivity`).
    """
    pairs = second_moment_count(records.parameters)
    total = add_up(_in_parts(records, moment_count(records.parameters)), _block_moments)
    return np.concatenate([_weigh(total[:pairs], records.parameters, norm), total[pairs:]])


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


def pack_second_moments(records: Records, norm: Norm) -> FloatArray:
    """The average of xxᵀ over some records, as the vector whose sensitivity is known in that norm.

    Records are added up in blocks, and then the blocks: that bounds the rounding error (`privacy.sensitivity`).
    """
    numbers = second_moment_count(records.parameters)
    total = add_up(_in_parts(records, numbers), _block_second_moments)
    return _weigh(total / records.records, records.parameters, norm)


def positive_share(records: Records) -> FloatArray:
    """The share of records whose target is above 0, as the one number of an answer; of people, what their rows count.

    >>> positive_share(Sample.of_rows([[1.0], [2.0], [3.0], [4.0]], [1.0, -1.0, 1.0, 1.0]))
    array([0.75])
    """
    return add_up(records, _block_positives) / records.records


def unpack_second_moments(vector: FloatArray, parameters: int, norm: Norm) -> FloatArray:
    """The matrix again."""
    if vector.shape != (second_moment_count(parameters),):
        raise BadInput(
            f"{vector.size} second moments of {parameters} features",
            remedy=f"give p(p + 1)/2 = {second_moment_count(parameters)}",
            value=vector.size,
        )
    return _unpack_matrix(vector, parameters, norm)


def _weigh(pairs: FloatArray, parameters: int, norm: Norm) -> FloatArray:
    """The diagonal as it is, and what lies above it times the weight."""
    return np.concatenate([pairs[:parameters], pairs[parameters:] * off_diagonal_weight(norm)])


def _in_parts(records: Records, numbers: int) -> Records:
    """Records in memory so many at a time that the numbers of their blocks take little memory beside them."""
    if not isinstance(records, Sample):
        return records
    return records.in_parts(BLOCK * max(1, _MOST_NUMBERS // numbers))


def _block_second_moments(sample: Sample) -> FloatArray:
    """Σ xxᵀ of every block of a stretch, one block a row: the diagonal, and what lies above it."""
    return _block_rows(sample, second_moment_count(sample.parameters))


def _block_positives(sample: Sample) -> FloatArray:
    """What the rows with a target above 0 count, in every block of a stretch."""
    counted = sample.by_record(np.where(sample.targets > 0, 1.0, 0.0))
    firsts = range(0, sample.records, BLOCK)
    return np.array([[counted[first : first + BLOCK].sum()] for first in firsts])


def _block_moments(sample: Sample) -> FloatArray:
    """The same, and Σ xy behind it."""
    pairs = second_moment_count(sample.parameters)
    rows = _block_rows(sample, moment_count(sample.parameters))
    for row, (counted, _, targets) in enumerate(_blocks(sample)):
        rows[row, pairs:] = counted @ targets
    return rows


def _block_rows(sample: Sample, numbers: int) -> FloatArray:
    """Rows of so many numbers, of which Σ xxᵀ is filled in; each block lies in memory the same way, wherever it is."""
    p = sample.parameters
    pairs, above = second_moment_count(p), np.triu_indices(p, 1)
    rows = np.empty((-(-sample.records // BLOCK), numbers))
    for row, (counted, block, _) in enumerate(_blocks(sample)):
        matrix = counted @ block.T
        rows[row, :p] = np.diag(matrix)
        rows[row, p:pairs] = matrix[above]
    return rows


def _blocks(sample: Sample) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Of every block of records: features times what each row counts, features, and targets."""
    people = sample.people
    for first in range(0, sample.records, BLOCK):
        last = min(first + BLOCK, sample.records)
        here = slice(first, last) if people is None else slice(people.starts[first], people.starts[last])
        block = np.ascontiguousarray(sample.columns[:, here])
        yield block if people is None else block * people.weights[here], block, sample.targets[here]


def _unpack_matrix(vector: FloatArray, parameters: int, norm: Norm) -> FloatArray:
    matrix = np.zeros((parameters, parameters))
    matrix[np.triu_indices(parameters, 1)] = vector[parameters:] / off_diagonal_weight(norm)
    matrix += matrix.T
    np.fill_diagonal(matrix, vector[:parameters])
    return matrix
