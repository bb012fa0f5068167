"""Models of some records with a prior: the average loss plus a ridge around a centre, from strong to weak.

The ridge pulls every number of the model alike, by a share of the mean curvature, so that directions in which the
records vary little stay at the centre. What multiplies a constant column (the level) is pulled a hundred times less:
owners differ in their level more than in anything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copriv.losses.loss import Loss
from copriv.losses.passes import average_curvature, average_gradient, average_value
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.vectors import FloatArray

# Of the mean curvature.
STRENGTHS = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
_LEVEL = 0.01
_MOST_STEPS = 50
_TOLERANCE = 1e-13
_SHORTEST = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Parabola:
    """The squared loss of some records in the coordinates of the ridge, φ = θ/scales.

    Args:
        values: eigenvalues of the curvature.
        vectors: its eigenvectors, one a column.
        offset: what the minimiser solves for, in their basis.
        scales: θ/φ.
        mean: the mean curvature, of which strengths are shares.
    """

    values: FloatArray
    vectors: FloatArray
    offset: FloatArray
    scales: FloatArray
    mean: float

    @classmethod
    def of(cls, sample: Sample) -> Parabola:
        """One pass over the records."""
        scales = 1 / np.sqrt(_weights(sample))
        columns = sample.columns * scales[:, None]
        values, vectors = np.linalg.eigh(2 * columns @ columns.T / sample.records)
        offset = vectors.T @ (2 * columns @ sample.targets / sample.records)
        return cls(np.maximum(values, 0.0), vectors, offset, scales, _mean_square(sample))

    def minimisers(self, centre: FloatArray) -> FloatArray:
        """One model a row, for every strength."""
        towards = self.vectors.T @ (centre / self.scales)
        pull = np.asarray(STRENGTHS)[:, None] * self.mean
        solved = (self.offset + pull * towards) / (self.values + pull)
        return np.asarray(self.scales * (solved @ self.vectors.T), dtype=np.float64)


def models_around(loss: Loss, sample: Sample, centre: FloatArray, parabola: Parabola | None = None) -> FloatArray:
    """One model a row: for every strength, the minimiser of the average loss with that ridge around a centre.

    `parabola` spares a pass over the records where several centres are tried with the squared loss.
    """
    if isinstance(loss, SquaredLoss):
        return (parabola or Parabola.of(sample)).minimisers(centre)
    models, theta = [], centre
    for pull in pulls(sample, average_curvature(loss, sample, centre)):
        theta = _Ridge(centre, pull).minimise(loss, sample, theta)
        models.append(theta)
    return np.stack(models)


def pulls(sample: Sample, curvature: FloatArray) -> FloatArray:
    """How much each number of a model is pulled, one row a strength, by the curvature of the loss at the centre."""
    mean = float(np.trace(curvature)) / sample.parameters or _mean_square(sample)
    return np.asarray(np.outer(np.asarray(STRENGTHS) * mean, _weights(sample)), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _Ridge:
    """½ Σ pull_j (θ_j − c_j)²."""

    centre: FloatArray
    pull: FloatArray

    def value(self, loss: Loss, sample: Sample, theta: FloatArray) -> float:
        """The average loss with this ridge."""
        return average_value(loss, sample, theta) + float(self.pull @ (theta - self.centre) ** 2) / 2

    def minimise(self, loss: Loss, sample: Sample, theta: FloatArray) -> FloatArray:
        """Newton's steps from a model, each halved until the value falls."""
        value = self.value(loss, sample, theta)
        for _ in range(_MOST_STEPS):
            gradient = average_gradient(loss, sample, theta) + self.pull * (theta - self.centre)
            step = -np.linalg.solve(average_curvature(loss, sample, theta) + np.diag(self.pull), gradient)
            fall = float(gradient @ step)
            if -fall <= _TOLERANCE * (1 + abs(value)):
                return theta
            length = 1.0
            while (there := self.value(loss, sample, theta + length * step)) > value + 1e-4 * length * fall:
                length /= 2
                if length < _SHORTEST:
                    return theta
            theta, value = theta + length * step, there
        return theta


def _weights(sample: Sample) -> FloatArray:
    """1 for every number of the model, less for that of a constant column."""
    return np.where(np.ptp(sample.columns, axis=1) == 0, _LEVEL, 1.0)


def _mean_square(sample: Sample) -> float:
    """The mean curvature of the squared loss; 1 if all records are zeros."""
    return float(2 * np.mean(np.square(sample.columns))) or 1.0
