"""Many runs of Algorithm 1 at once, compiled: the rule is `rules.paper.meet`, the very function the learner runs.

Every owner's records are played by the same rows, so a run needs no more memory than a model for each owner. Each
answer is the clipped average gradient of those rows plus noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from copriv.losses.blocks import fold_block, measure_block
from copriv.losses.passes import clip_block
from copriv.losses.people_passes import add_people
from copriv.losses.sample import Sample
from copriv.rules.paper import meet, midpoint
from copriv.vectors import FloatArray, IntArray, compiled


class PublicRows(NamedTuple):
    """The rows that play every owner's records: the loss's code and threshold, the rows, and 1 or 2 for the norm.

    Where a record is a person, `starts` says where each person's rows begin, and `weights` what each row counts.
    """

    loss: tuple[int, float]
    columns: FloatArray
    targets: FloatArray
    power: int
    starts: IntArray
    weights: FloatArray

    @classmethod
    def of(cls, loss: tuple[int, float], sample: Sample, power: int) -> PublicRows:
        """The rows of a sample."""
        starts = np.empty(0, dtype=np.int64) if sample.people is None else sample.people.starts
        return cls(loss, sample.columns, sample.targets, power, starts, sample.weights)


class Draws(NamedTuple):
    """The chance of a run: who is met, the noise on each answer for a clip of 1, and the most answers of each owner."""

    met: IntArray
    noise: FloatArray
    caps: IntArray


class Shape(NamedTuple):
    """What stays the same: 1/γ_i and n_i/n (a row for each owner), c_N, λ and θ_max."""

    owners: FloatArray
    central_factor: float
    regularization: float
    limit: float


@compiled
def run_alike(rows: PublicRows, draws: Draws, shape: Shape, clips: FloatArray, steps: FloatArray) -> FloatArray:
    """θ_L at the end of a run for each pair of clips[r] and steps[r], with the same meetings and noise in each.

    An owner that reached its cap says nothing.
    """
    owners, parameters = shape.owners, rows.columns.shape[0]
    models = np.empty((steps.size, parameters))
    for r in range(steps.size):
        central = np.zeros(parameters)
        copies = np.zeros((owners.shape[0], parameters))
        left = draws.caps.copy()
        for k in range(draws.met.size):
            owner = draws.met[k]
            if left[owner] > 0:
                left[owner] -= 1
                question = midpoint(central, copies[owner])
                answer = _clipped_average(rows, question, clips[r])
                for j in range(answer.size):
                    answer[j] += clips[r] * draws.noise[k, j]
                coefficients = (steps[r] * owners[owner, 0], owners[owner, 1], steps[r] * shape.central_factor)
                study = (0.5 / owners.shape[0], shape.regularization, shape.limit)
                meet(central, copies[owner], answer, coefficients, study)
        models[r] = central
    return models


@compiled
def _clipped_average(rows: PublicRows, theta: FloatArray, clip: float) -> FloatArray:
    slopes = np.zeros(rows.targets.size)
    lengths = np.zeros(rows.targets.size)
    average = np.zeros(theta.size)
    measure_block(rows.columns, 0, theta, rows.power, slopes, lengths)
    if rows.starts.size > 0:
        clip_block(rows.loss, rows.columns, 0, rows.targets, np.inf, rows.power, lengths, slopes)
        add_people(rows.columns, slopes * rows.weights, rows.starts, clip, rows.power, average)
        return average / (rows.starts.size - 1)
    clip_block(rows.loss, rows.columns, 0, rows.targets, clip, rows.power, lengths, slopes)
    fold_block(rows.columns, 0, slopes, average)
    for j in range(average.size):
        average[j] /= rows.targets.size
    return average
