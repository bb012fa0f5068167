"""What public Newton may be expected to cost, by clip and number of answers: worked out on the public rows alone.

If owners are like the public rows, then after K answers of each owner the expected f(θ) − f(θ*) has three parts:

- what clipping hides: tr A⁻¹(Σ_gg − B Σ_cg)/2 · (1/n_pub + 1/n), falling with the clip;
- what noise leaves open: Σ_j (Bu_j)ᵀA⁻¹(Bu_j)/2 · P_j q_j/(P_j + q_j), with P_j the variance of the pooled answers and
  q_j = s_j(1/n_pub + 1/n) that of the public rows, growing with the clip and with K;
- what the public Hessian gets wrong: the first owner is asked at the public model, about √(p/n_pub) away from where the
  model ends; it counts for 1/N of the model, and with a second answer for next to nothing.

The smallest sum tells the clip and K without a look at private records. Beyond the longest public gradient nothing
would seem hidden, although longer ones exist: there the first part follows the exponential that it fell by last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from copriv.errors import BadInput
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.passes import gradient_norms
from copriv.losses.sample import Sample
from copriv.rules.evidence import Evidence, pool
from copriv.rules.outlook import Outlook
from copriv.vectors import FloatArray, Norm

_QUANTILES = (0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)
_BEYOND = (1.25, 1.6)
_TAIL = (0.99, 0.999)


@dataclass(frozen=True, slots=True)
class Prospect:
    """A clip, a number of answers of each owner, and the ψ to be expected of them."""

    clip: float
    answers: int
    cost: float


def best_prospect(
    public: Sample,
    objective: Objective,
    *,
    records: Sequence[int],
    deviations: Mapping[int, Sequence[float]],
    norm: Norm,
    start: FloatArray | None = None,
) -> Prospect:
    """The clip and number of answers with the least expected ψ.

    Args:
        public: the public rows.
        objective: the loss, the regularizer and the box.
        records: n_i of each owner.
        deviations: for every K to choose from, the deviation of each owner's noise on one answer if the clip were 1.
        norm: of the owners' mechanism.
        start: the public model, if it is known already.
    """
    theta = minimise(objective, public) if start is None else objective.project(start)
    found = [
        Prospect(clip, answers, cost)
        for clip, outlook, hidden in _outlooks(public, objective, norm, theta)
        for answers, units in deviations.items()
        for cost in [_cost(outlook, hidden, public.records, records, clip * np.asarray(units), answers)]
    ]
    if not found:
        raise BadInput("no number of answers to choose from", remedy="name at least one", value=len(deviations))
    best = min(found, key=lambda prospect: prospect.cost)
    return Prospect(best.clip, best.answers, best.cost / objective.fitness(public, theta))


def _outlooks(
    public: Sample, objective: Objective, norm: Norm, theta: FloatArray
) -> list[tuple[float, Outlook, float]]:
    """Clips, what the public rows foretell under each, and what it hides, with the tail drawn out."""
    lengths = gradient_norms(objective.loss, public, theta, norm)
    longest = float(np.max(lengths))
    quantiles = [float(clip) for clip in np.quantile(lengths, _QUANTILES)]
    clips = sorted({_digits(max(clip, 1e-9)) for clip in [*quantiles, *(longest * factor for factor in _BEYOND)]})
    outlooks = [Outlook.of(public, objective, clip, norm, theta) for clip in clips]
    knots = [_digits(max(float(clip), 1e-9)) for clip in np.quantile(lengths, _TAIL)]
    hidden = [outlook.unexplained for outlook in outlooks]
    tail = [hidden[clips.index(knot)] for knot in knots]
    return [
        (clip, outlook, max(seen, _extrapolate(clip, knots, tail)))
        for clip, outlook, seen in zip(clips, outlooks, hidden, strict=True)
    ]


def _extrapolate(clip: float, knots: Sequence[float], tail: Sequence[float]) -> float:
    """The exponential through the last two knots, from the last one on."""
    width = knots[1] - knots[0]
    if clip < knots[1] or not 0 < tail[1] < tail[0] or width <= 0:
        return 0.0
    return float(tail[1] * (tail[1] / tail[0]) ** ((clip - knots[1]) / width))


def _cost(
    outlook: Outlook, hidden: float, public_records: int, records: Sequence[int], deviations: FloatArray, answers: int
) -> float:
    """f(θ) − f(θ*) to be expected."""
    sizes = np.asarray(records, dtype=np.float64)
    variances = np.tile((deviations**2 / answers)[:, None] + np.finfo(float).tiny, outlook.spread.size)
    evidence = Evidence(np.zeros_like(variances), variances, sizes, np.empty(0))
    _, variance = pool(evidence, outlook.spread, 0.0)
    sampling = 1 / public_records + 1 / evidence.total
    public = outlook.spread * sampling
    price = np.sum(outlook.sampled * np.linalg.solve(outlook.curvature, outlook.sampled), axis=0) / 2
    stale = outlook.staleness / public_records**2 / len(records) ** 2 if answers == 1 else 0.0
    open_question = float(np.sum(price * variance * public / (variance + public)))
    return hidden * sampling + open_question + stale


def _digits(value: float) -> float:
    return float(f"{value:.3g}")
