"""Algorithm 1 on quadratic owners, compiled: the rule itself is `rules.paper.meet`, the very function the learner runs.

An owner whose average loss is quadratic answers Hθ − c plus noise, so one iteration costs p² operations, however many
records stand behind H and c.
"""

from __future__ import annotations

import numpy as np

from copriv.rules.paper import meet, midpoint
from copriv.vectors import FloatArray, IntArray, compiled


@compiled
def run_alike(
    curvature: FloatArray,
    offset: FloatArray,
    owners_met: IntArray,
    noise: FloatArray,
    caps: IntArray,
    owner_steps: FloatArray,
    weights: FloatArray,
    central_step: float,
    owner_share: float,
    regularization: float,
    limit: float,
) -> FloatArray:
    """θ_L after meeting owners that all have the gradient Hθ − c; an owner that reached its cap says nothing."""
    central = np.zeros(offset.size)
    copies = np.zeros((weights.size, offset.size))
    answered = np.zeros(weights.size, dtype=np.int64)
    for k in range(owners_met.size):
        owner = owners_met[k]
        if answered[owner] == caps[owner]:
            continue
        answered[owner] += 1
        question = midpoint(central, copies[owner])
        answer = noise[k].copy()
        for j in range(offset.size):
            answer[j] -= offset[j]
            for other in range(offset.size):
                answer[j] += curvature[j, other] * question[other]
        meet(
            central,
            copies[owner],
            answer,
            owner_steps[owner],
            weights[owner],
            central_step,
            owner_share,
            regularization,
            limit,
        )
    return central
