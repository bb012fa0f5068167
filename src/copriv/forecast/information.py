"""What no method can beat: how much owners' answers may tell of a model, by sampling and by their promises.

Think of all records as drawn from one population whose average gradient is to be learnt, Σ the covariance of one
record's gradient, A the Hessian: an error t of the average gradient, in units of Σ^½, costs ½tᵀWt with W = Σ^½A⁻¹Σ^½.
What owner i releases has Fisher information J_i about t, for which

    J_i ≤ n_i·1,    tr J_i ≤ n_i² sinh²(ε_i/2)     (pure ε, any mechanism),
                    tr J_i ≤ n_i² (e^(2ρ_i) − 1)   (ρ-zCDP),

the first because a release tells no more than the records, the second because one record sways it by so little. By van
Trees' inequality the expected cost is at least ½tr W(n_pub·1 + J)⁻¹, which is least if J is spent where it helps most.
With W a multiple of 1, as under the squared loss with errors of equal variance, this is
ψ ≥ p²/(p n_pub + Σ min{p n_i, n_i² sinh²(ε_i/2)}). docs/theory/limits.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from copriv.vectors import FloatArray

# Beyond this exponent a promise allows more than any records tell.
_LARGE = 300.0
_HALVINGS = 100


def of_pure_promise(epsilon: float) -> float:
    """The most information, in all directions together, that a release has by n records, over n².

    >>> round(of_pure_promise(0.02), 9)
    0.000100003
    """
    return math.sinh(min(epsilon, _LARGE) / 2) ** 2


def of_gaussian_promise(rho: float) -> float:
    """The same under ρ-zCDP.

    >>> round(of_gaussian_promise(0.01), 6)
    0.020201
    """
    return math.expm1(min(2 * rho, _LARGE))


def binding(parameters: int, records: Sequence[int], promised: Sequence[float]) -> int:
    """How many owners tell less because of their promise than their records could."""
    return sum(size * most < parameters for size, most in zip(records, promised, strict=True))


def information_limit(
    weights: FloatArray, public_records: int, records: Sequence[int], promised: Sequence[float]
) -> float:
    """The least expected cost, over the population, of any model from public rows and owners' releases.

    Args:
        weights: the eigenvalues of W.
        public_records: n_pub.
        records: n_i of each owner.
        promised: the most information of each owner's release, over n_i².

    >>> round(information_limit(np.full(4, 2.0), 100, [300, 600], [1.0, 1.0]) * 1000, 9) == 4
    True
    """
    parameters, total = weights.size, float(sum(records))
    told = sum(
        min(parameters * float(size), most * float(size) ** 2) for size, most in zip(records, promised, strict=True)
    )
    spent = _spend(np.sqrt(np.maximum(weights, 0.0)), public_records, total, told)
    return float(np.sum(weights / (public_records + spent))) / 2


def _spend(roots: FloatArray, public_records: int, most: float, told: float) -> FloatArray:
    """The information in each direction, from 0 to n and `told` in all, that makes Σ w_j/(n_pub + t_j) least.

    t_j = √w_j·level − n_pub, held within [0, n]: the level is found by halving.
    """
    if told >= roots.size * most:
        return np.full_like(roots, most)
    positive = roots[roots > 0]
    if positive.size == 0:
        return np.zeros_like(roots)
    low, high = 0.0, (public_records + most) / float(np.min(positive))
    for _ in range(_HALVINGS):
        level = (low + high) / 2
        enough = float(np.sum(np.clip(roots * level - public_records, 0.0, most))) > told
        low, high = (low, level) if enough else (level, high)
    # The upper end: a limit may be too low by rounding, and not too high.
    return np.clip(roots * high - public_records, 0.0, most)
