"""From a total of ρ to (ε, δ): two accountants for answers with Gaussian noise.

K Gaussian answers, each asked for after seeing the earlier ones, together reveal exactly as much as one Gaussian answer
with the sum of their ρ. `zcdp_epsilon` holds for any ρ-zCDP mechanism; `pld_epsilon` uses that the noise is Gaussian
and is tighter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from copriv.privacy.guarantee import NANO, Guarantee

Accountant = Literal["pure", "zcdp", "pld"]
_POINTS_PER_EPSILON = 2000
# A Gaussian loss is spread over about so many of its standard deviations before its tails are cut off. However small ε
# is beside that, its distribution has no more points than these: a study must not be able to fill an owner's memory.
_DEVIATIONS = 22
_MOST_POINTS = 1 << 17


@lru_cache(maxsize=4096)
def zcdp_epsilon(nano_rho: int, delta: float) -> float:
    """ε of ρ-zCDP at δ: Canonne, Kamath, Steinke 2020, Proposition 12, minimised over the Rényi order α.

    Every α gives a valid ε, so the search cannot make the promise weaker than it says.

    >>> round(zcdp_epsilon(10**7, 1e-6), 4)
    0.6217
    """
    if nano_rho == 0:
        return 0.0
    from scipy.optimize import minimize_scalar

    rho = nano_rho / NANO

    def epsilon(log_excess: float) -> float:
        excess = math.exp(log_excess)
        alpha = 1 + excess
        return rho * alpha + (-math.log(delta) + excess * math.log(excess / alpha) - math.log(alpha)) / excess

    found = minimize_scalar(epsilon, bounds=(-20, 40), method="bounded", options={"xatol": 1e-10})
    return max(0.0, float(found.fun))


@lru_cache(maxsize=4096)
def pld_epsilon(nano_rho: int, delta: float) -> float:
    """ε at δ of Gaussian answers with this total ρ, from the privacy loss distribution of dp-accounting.

    Points that are further apart make ε larger, never smaller. Where a loss is too large for its distribution to be
    computed, or its points are too far apart, the bound of zero-concentrated privacy is the better one.

    >>> round(pld_epsilon(10**7, 1e-6), 4)
    0.5751
    """
    if nano_rho == 0:
        return 0.0
    from dp_accounting.pld import privacy_loss_distribution

    loss_std, bound = math.sqrt(2 * nano_rho / NANO), zcdp_epsilon(nano_rho, delta)
    interval = max(bound / _POINTS_PER_EPSILON, _DEVIATIONS * loss_std / _MOST_POINTS, 1e-9)
    try:
        distribution = privacy_loss_distribution.from_gaussian_mechanism(
            1 / loss_std, value_discretization_interval=interval, pessimistic_estimate=True
        )
        return min(bound, float(distribution.get_epsilon_for_delta(delta)))
    except OverflowError:
        return bound


def allowed_rho(guarantee: Guarantee, accountant: Literal["zcdp", "pld"]) -> int:
    """The most nano-ρ that an accountant allows under a guarantee.

    >>> allowed_rho(Guarantee.of(1, 1e-6), "zcdp") < allowed_rho(Guarantee.of(1, 1e-6), "pld")
    True
    """
    coarse = _largest(guarantee, zcdp_epsilon, first=1, growth=4.0)
    return coarse if accountant == "zcdp" else _largest(guarantee, pld_epsilon, first=max(coarse, 1), growth=1.2)


def _largest(guarantee: Guarantee, epsilon_of: Callable[[int, float], float], *, first: int, growth: float) -> int:
    """Bisection between an amount that is allowed and one that is not."""
    low, high = 0, first
    while epsilon_of(high, guarantee.delta) <= guarantee.epsilon:
        low, high = high, math.ceil(high * growth)
    while high - low > max(1, low >> 20):
        middle = (low + high) // 2
        if epsilon_of(middle, guarantee.delta) <= guarantee.epsilon:
            low = middle
        else:
            high = middle
    return low
