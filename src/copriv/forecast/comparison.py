"""Which of two costs is smaller, if neither is known for certain.

A cost ψ is a weighted sum of squares, so a Gamma distribution with its mean and deviation stands for it. The ratio of
two independent ones, each over its mean, then has an F distribution: an interval for the ratio that lies below 1, or
above, tells which cost is smaller; one that holds 1 does not. Of a cost that is known by an interval only, the ends on
a logarithmic scale are as far from the middle as they are, and distances of both costs add up as deviations do.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, hypot, inf, log
from typing import Literal

from copriv.forecast.forecast import Forecast

Outcome = Literal["first", "second", "undecided"]
# A cost known exactly is taken for one known to a millionth, so that nothing is divided by 0.
_EXACT = 1e-6
_LEAST, _MOST = 1e-300, 700.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A cost: what is expected of it, how far it may lie from that, and its 95 % interval if that is no Gamma's."""

    mean: float
    deviation: float
    interval: tuple[float, float] | None = None

    @classmethod
    def of(cls, forecast: Forecast) -> Estimate:
        """The ψ of one training: its own chance, and what is open about what to expect."""
        deviation = float((forecast.deviation**2 + forecast.standard_error**2) ** 0.5)
        return cls(forecast.relative_fitness, deviation, forecast.interval if forecast.doubt else None)

    @property
    def ends(self) -> tuple[float, float]:
        """The interval, with the mean in it."""
        low, high = self.interval or Forecast(self.mean, self.deviation, 0.0).interval
        return min(low, self.mean), max(high, self.mean)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of a χ² with that relative deviation; a mean of 0 has none."""
        return 2 / max(self.deviation / self.mean, _EXACT) ** 2


def ratio_interval(first: Estimate, second: Estimate) -> tuple[float, float]:
    """Where the first cost over the second lies with a probability of 95 %.

    A cost whose mean is 0 is 0, as costs are never negative: anything over it is beyond all bounds, and two such are
    equal.

    >>> ratio_interval(Estimate(1.0, 0.1), Estimate(0.0, 0.0))
    (inf, inf)
    >>> low, high = ratio_interval(Estimate(1.0, 0.1), Estimate(2.0, 0.0))
    >>> 0.3 < low < 0.5 < high < 0.7
    True
    """
    from scipy.stats import f

    if first.mean == 0 or second.mean == 0:
        ratio = 1.0 if first.mean == second.mean else 0.0 if first.mean == 0 else inf
        return ratio, ratio
    if first.interval is not None or second.interval is not None:
        return _ratio_of_intervals(first, second)
    found = f.ppf([0.025, 0.975], first.freedom, second.freedom)
    low, high = (float(value) * first.mean / second.mean for value in found)
    return low, high


def _ratio_of_intervals(first: Estimate, second: Estimate) -> tuple[float, float]:
    (low, high), (least, most) = first.ends, second.ends
    down = hypot(_distance(low, first.mean), _distance(second.mean, most))
    up = hypot(_distance(first.mean, high), _distance(least, second.mean))
    middle = log(first.mean / second.mean)
    return exp(middle - down), exp(min(middle + up, _MOST))


def _distance(low: float, high: float) -> float:
    """On a logarithmic scale; of nothing, as of next to nothing."""
    return log(max(high, _LEAST)) - log(max(low, _LEAST))


def smaller(first: Estimate, second: Estimate) -> Outcome:
    """Which cost is smaller, if the interval of their ratio excludes a tie.

    >>> smaller(Estimate(1.0, 0.1), Estimate(2.0, 0.1)), smaller(Estimate(1.0, 0.1), Estimate(1.1, 0.1))
    ('first', 'undecided')
    """
    low, high = ratio_interval(first, second)
    if high < 1:
        return "first"
    return "second" if low > 1 else "undecided"
