"""Many runs of Algorithm 1 at once, compiled: the rule is `rules.paper.meet`, the very function the learner runs.

Every owner's records are played by the same rows, so a run needs no more memory than a model for each owner. Each
answer is the clipped average gradient of those rows plus noise.
"""

from __future__ import annotations

import numpy as np

from copriv.losses.blocks import fold_block, measure_block
from copriv.losses.passes import clip_block
from copriv.rules.paper import meet, midpoint
from copriv.vectors import FloatArray, IntArray, compiled


@compiled
def run_alike(
    code: int,
    threshold: float,
    columns: FloatArray,
    targets: FloatArray,
    power: int,
    clips: FloatArray,
    steps: FloatArray,
    met: IntArray,
    noise: FloatArray,
    caps: IntArray,
    owners: FloatArray,
    central_factor: float,
    regularization: float,
    limit: float,
) -> FloatArray:
    """θ_L at the end of a run for each pair of clips[r] and steps[r], with the same meetings and noise in each.

    `noise` is for a clip of 1, as noise scales with it. `owners` has a row for each owner: 1/γ_i and n_i/n. An owner
    that reached its cap says nothing.
    """
    models = np.empty((steps.size, columns.shape[0]))
    for r in range(steps.size):
        central = np.zeros(columns.shape[0])
        copies = np.zeros((owners.shape[0], columns.shape[0]))
        left = caps.copy()
        for k in range(met.size):
            owner = met[k]
            if left[owner] > 0:
                left[owner] -= 1
                question = midpoint(central, copies[owner])
                answer = _clipped_average(code, threshold, columns, targets, question, clips[r], power)
                for j in range(answer.size):
                    answer[j] += clips[r] * noise[k, j]
                meet(
                    central,
                    copies[owner],
                    answer,
                    steps[r] * owners[owner, 0],
                    owners[owner, 1],
                    steps[r] * central_factor,
                    0.5 / owners.shape[0],
                    regularization,
                    limit,
                )
        models[r] = central
    return models


@compiled
def _clipped_average(
    code: int, threshold: float, columns: FloatArray, targets: FloatArray, theta: FloatArray, clip: float, power: int
) -> FloatArray:
    slopes = np.zeros(targets.size)
    lengths = np.zeros(targets.size)
    average = np.zeros(theta.size)
    measure_block(columns, 0, theta, power, slopes, lengths)
    clip_block(code, threshold, columns, 0, targets, clip, power, lengths, slopes)
    fold_block(columns, 0, slopes, average)
    for j in range(average.size):
        average[j] /= targets.size
    return average
