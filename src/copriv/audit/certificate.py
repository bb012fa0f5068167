"""From how often events happen to how large ε must be.

If answers are (ε, δ)-differentially private, no event is more than exp(ε) times as likely under one table as under
its neighbour, plus δ: ε ≥ log((TPR − δ)/FPR). Both tables give equally many answers. Among those that show an event,
the number from one table has the odds TPR : FPR, and Clopper–Pearson bounds the ratio itself, more tightly than a
bound for each rate would. That is exact for Poisson counts; counts of a fixed number of answers scatter less, and a
test enumerates that the bound then errs on the safe side. All bounds hold at once with the stated confidence
(Bonferroni over events and directions), so the events have to be fixed before the answers are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv, ndtri

from copriv.audit.gaussian_curve import smallest_epsilon
from copriv.vectors import FloatArray

CONFIDENCE = 0.95
# One ratio in each direction; with δ also both ends of both rates.
_PURE_BOUNDS, _ALL_BOUNDS = 2, 6
_NOTHING = float(np.finfo(float).tiny)

Happened = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Which of some fixed events happened in which answer: a row an answer, a column an event.

    Args:
        first: in the answers from the first table.
        second: in as many from the second.
        delta: the claimed δ.
        confidence: with which all certificates of this evidence hold.
    """

    first: Happened
    second: Happened
    delta: float
    confidence: float = CONFIDENCE

    @property
    def error(self) -> float:
        """How often each single bound may be wrong."""
        bounds = _ALL_BOUNDS if self.delta else _PURE_BOUNDS
        return (1 - self.confidence) / (bounds * int(self.first.shape[1]))

    def epsilon(self) -> float:
        """The largest certified lower bound of ε at δ, over all events and in both directions."""
        return max(self._epsilon(self.second, self.first), self._epsilon(self.first, self.second))

    def epsilon_if_gaussian(self) -> float:
        """The same if the noise is known to be Gaussian: then Φ⁻¹(TPR) − Φ⁻¹(FPR) is μ, whatever the event."""
        mu = max(self._mu(self.second, self.first), self._mu(self.first, self.second))
        return smallest_epsilon(mu, self.delta)

    def betrayed(self) -> float:
        """The share of answers, at least, that show what no answer from the other table did."""
        shares = [
            np.max(lowest(_count(likely), len(likely), self.error)[_count(unlikely) == 0], initial=0.0)
            for likely, unlikely in ((self.first, self.second), (self.second, self.first))
        ]
        return float(max(shares))

    def _epsilon(self, likely: Happened, unlikely: Happened) -> float:
        share = lowest(_count(likely), _count(likely) + _count(unlikely), self.error)
        ratio = share / (1 - share)
        if self.delta:
            rate = np.maximum(lowest(_count(likely), len(likely), self.error), _NOTHING)
            ratio = ratio * (1 - self.delta / rate)
        return float(np.log(np.max(ratio, initial=1.0)))

    def _mu(self, likely: Happened, unlikely: Happened) -> float:
        low = lowest(_count(likely), len(likely), self.error)
        high = highest(_count(unlikely), len(unlikely), self.error)
        return float(np.max(ndtri(low) - ndtri(high), initial=0.0, where=(low > 0) & (high < 1)))


def lowest(yes: FloatArray, draws: FloatArray | int, error: float) -> FloatArray:
    """The lower end of Clopper and Pearson: the probability is smaller with probability at most `error`.

    >>> lowest(np.array([0.0, 5.0]), 10, 0.025).round(4)
    array([0.    , 0.1871])
    """
    return np.asarray(np.where(yes > 0, betaincinv(np.maximum(yes, 1), draws - yes + 1, error), 0.0))


def highest(yes: FloatArray, draws: int, error: float) -> FloatArray:
    """The upper end.

    >>> highest(np.array([5.0, 10.0]), 10, 0.025).round(4)
    array([0.8129, 1.    ])
    """
    return np.asarray(np.where(yes < draws, betainccinv(yes + 1, np.maximum(draws - yes, 1), error), 1.0))


def _count(happened: Happened) -> FloatArray:
    return np.asarray(happened.sum(axis=0), dtype=np.float64)
