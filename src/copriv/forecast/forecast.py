"""A forecast: the ψ to be expected of a training, and where the ψ of one training will lie.

Two things keep one training from the expected ψ: its own chance (noise, schedule, which records owners have), known as
a deviation, and what a finite public sample leaves open about the expectation, known by leaving out a group of
public rows at a time (jackknife). ψ is a weighted sum of squares, so a Gamma distribution with that mean and both
variances stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from copriv.forecast.public import GROUPS, leave_out
from copriv.losses.sample import Sample


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is expected of a training at one setting.

    Args:
        relative_fitness: E ψ; NaN if nothing is known.
        deviation: of ψ between trainings.
        standard_error: of E ψ, from the finite public sample.
        caveats: what the figures do not cover, or how else they were made.
    """

    relative_fitness: float
    deviation: float
    standard_error: float
    caveats: tuple[str, ...] = ()

    @property
    def interval(self) -> tuple[float, float]:
        """Where ψ of one training lies with a probability of 95 %.

        >>> low, high = Forecast(1.0, 0.3, 0.1).interval
        >>> low < 1 < high
        True
        """
        return self.interval_at(0.95)

    def interval_at(self, level: float) -> tuple[float, float]:
        """Where ψ of one training lies with that probability."""
        from scipy.stats import gamma

        variance = max(self.deviation**2 + self.standard_error**2, (1e-6 * self.relative_fitness) ** 2)
        shape, scale = self.relative_fitness**2 / variance, variance / self.relative_fitness
        low, high = gamma.ppf([(1 - level) / 2, (1 + level) / 2], shape, scale=scale)
        return float(low), float(high)


def jackknife(sample: Sample, expected: Callable[[Sample], float], groups: int = GROUPS) -> float:
    """The standard error of a figure that is worked out from public rows."""
    return spread_of_rests([expected(rest) for rest in leave_out(sample, groups)])


def spread_of_rests(found: Sequence[float]) -> float:
    """The standard error of a figure, from what it is without one group of public rows after another.

    >>> spread_of_rests([1.0, 2.0])
    0.5
    """
    values, groups = np.asarray(found), len(found)
    return float(np.sqrt((groups - 1) / groups * np.sum((values - values.mean()) ** 2)))
