"""Models of some records with a prior: the average loss plus a ridge around a centre, from strong to weak.

The ridge pulls every number of the model alike, by a share of the mean curvature, so that directions in which the
records vary little stay at the centre. What multiplies a constant column (the level) is pulled a hundred times less:
owners differ in their level more than in anything else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from copriv.losses.loss import Loss
from copriv.losses.passes import average_curvature, average_gradient, record_values
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.vectors import FloatArray

# Of the mean curvature.
STRENGTHS = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
_LEVEL = 0.01
_MOST_STEPS = 50
_TOLERANCE = 1e-16
# A fall too small to be seen in a double counts as one.
_UNSEEN = 1e-15
_SHORTEST = 1e-6
# Newton's own decrement falls faster than this from step to step.
_SLOW = 0.1


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
        counted = columns if sample.people is None else columns * sample.people.weights
        values, vectors = np.linalg.eigh(2 * counted @ columns.T / sample.records)
        offset = vectors.T @ (2 * counted @ sample.targets / sample.records)
        return cls(np.maximum(values, 0.0), vectors, offset, scales, _mean_square(sample))

    def minimisers(self, centre: FloatArray) -> FloatArray:
        """One model a row, for every strength."""
        towards = self.vectors.T @ (centre / self.scales)
        pull = np.asarray(STRENGTHS)[:, None] * self.mean
        solved = (self.offset + pull * towards) / (self.values + pull)
        return np.asarray(self.scales * (solved @ self.vectors.T), dtype=np.float64)


def models_around(
    loss: Loss,
    sample: Sample,
    centre: FloatArray,
    parabola: Parabola | None = None,
    near: FloatArray | None = None,
) -> FloatArray:
    """One model a row: for every strength, the minimiser of the average loss with that ridge around a centre.

    `parabola` spares a pass over the records where several centres are tried with the squared loss; `near`, the same
    models of almost the same records, spares steps with other losses.
    """
    if isinstance(loss, SquaredLoss):
        return (parabola or Parabola.of(sample)).minimisers(centre)
    chord, theta, models = _Chord(loss, sample, centre), centre, []
    for place, pull in enumerate(pulls(sample, chord.curvature)):
        theta = chord.minimise(_Ridge(centre, pull), theta if near is None else near[place])
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
        margins = sample.with_columns((theta @ sample.columns)[None, :])
        return sample.mean(record_values(loss, margins, np.ones(1))) + float(self.pull @ (theta - self.centre) ** 2) / 2

    def slope(self, loss: Loss, sample: Sample, theta: FloatArray) -> FloatArray:
        """The gradient of that."""
        return np.asarray(average_gradient(loss, sample, theta) + self.pull * (theta - self.centre), dtype=np.float64)


class _Chord:
    """Newton's steps with a curvature that is kept from step to step and from ridge to ridge, while it serves.

    A curvature costs as many passes as a model has numbers, a gradient one.
    """

    def __init__(self, loss: Loss, sample: Sample, theta: FloatArray) -> None:
        self._loss, self._sample = loss, sample
        self._look(theta)

    def _look(self, theta: FloatArray) -> None:
        self.curvature, self._fresh = average_curvature(self._loss, self._sample, theta), True

    def minimise(self, ridge: _Ridge, theta: FloatArray) -> FloatArray:
        """Steps from a model, each halved until the value falls; where they grow too slowly shorter, look again."""
        value, before = ridge.value(self._loss, self._sample, theta), math.inf
        for _ in range(_MOST_STEPS):
            gradient = ridge.slope(self._loss, self._sample, theta)
            step = np.asarray(np.linalg.solve(self.curvature + np.diag(ridge.pull), -gradient), dtype=np.float64)
            fall = float(gradient @ step)
            if -fall <= _TOLERANCE * (1 + abs(value)):
                break
            there, length = self._descend(ridge, theta, value, step, fall)
            if not self._fresh and (length < 1 or -fall > _SLOW * before):
                self._look(theta)
                before = math.inf
                continue
            if length == 0:
                break
            theta, value, before, self._fresh = theta + length * step, there, -fall, False
        return theta

    def _descend(
        self, ridge: _Ridge, theta: FloatArray, value: float, step: FloatArray, fall: float
    ) -> tuple[float, float]:
        """The value after a step, and how much of the step was taken: 0 if none of it lowers the value."""
        length = 1.0
        while length >= _SHORTEST:
            there = ridge.value(self._loss, self._sample, theta + length * step)
            if there <= value + 1e-4 * length * fall + _UNSEEN * (1 + abs(value)):
                return there, length
            length /= 2
        return value, 0.0


def _weights(sample: Sample) -> FloatArray:
    """1 for every number of the model, less for that of a constant column."""
    return np.where(np.ptp(sample.columns, axis=1) == 0, _LEVEL, 1.0)


def _mean_square(sample: Sample) -> float:
    """The mean curvature of the squared loss; 1 if all records are zeros."""
    if sample.people is None:
        return float(2 * np.mean(np.square(sample.columns))) or 1.0
    return float(2 * sample.mean(np.mean(np.square(sample.columns), axis=0))) or 1.0
