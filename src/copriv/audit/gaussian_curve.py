"""The privacy curve of Gaussian noise, written down independently of the accountants in `privacy`.

An answer that one record moves by μ standard deviations is (ε, δ)-differentially private exactly when

    δ ≥ Φ(μ/2 − ε/μ) − exp(ε) Φ(−μ/2 − ε/μ)

(Balle, Wang: Improving the Gaussian mechanism for differential privacy, ICML 2018), and K answers with μ each are one
answer with √K μ (Dong, Roth, Su: Gaussian differential privacy, 2022).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import log_ndtr

_STEPS = 200
_FARTHEST = 40.0


def log_delta(epsilon: float, mu: float) -> float:
    """Logarithm of the smallest δ at ε.

    >>> round(math.exp(log_delta(1.0, 1.0)), 6)
    0.126937
    """
    above = float(log_ndtr(mu / 2 - epsilon / mu))
    below = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return above + math.log(-math.expm1(below - above)) if below < above else -math.inf


def largest_mu(epsilon: float, delta: float) -> float:
    """The most that one record may move all answers together, in standard deviations, under (ε, δ).

    >>> round(largest_mu(1.0, 1e-6), 4)
    0.2367
    """
    # The loss is N(μ²/2, μ²): from μ = √(2ε) + 40 on it exceeds ε almost surely, and δ is 1.
    return _last(lambda mu: log_delta(epsilon, mu) <= math.log(delta), math.sqrt(2 * epsilon) + _FARTHEST)


def smallest_epsilon(mu: float, delta: float) -> float:
    """The ε at δ of answers that one record moves by μ standard deviations in all.

    >>> round(smallest_epsilon(largest_mu(1.0, 1e-6), 1e-6), 9)
    1.0
    """
    if mu <= 0 or log_delta(0.0, mu) <= math.log(delta):
        return 0.0
    if math.isinf(mu):
        return math.inf
    return _last(lambda epsilon: log_delta(epsilon, mu) > math.log(delta), mu * (mu / 2 + _FARTHEST))


def _last(holds: Callable[[float], bool], high: float) -> float:
    """Where a condition that holds near 0 stops holding."""
    low = 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
