"""A forecast: the ψ to be expected of a training, and where the ψ of one training will lie.

Two things keep one training from the expected ψ: its own chance (noise, schedule, which records owners have), known as
a deviation, and what a finite public sample leaves open about the expectation, known by leaving out a group of
public rows at a time (jackknife). ψ is a weighted sum of squares, so a Gamma distribution with that mean and both
variances stands for it.

Closed forms leave things out: that owners differ, that few public rows know little of a Hessian or of rare records.
What that comes to is known from trainings (`doubt`). It is a factor and mostly an increase, so then a log-normal
distribution stands for ψ. Public rows from elsewhere are another matter (`forecast.shifts`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from copriv.forecast.public import GROUPS, leave_out
from copriv.forecast.shifts import ShiftCosts, from_elsewhere
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray

# Doubt raises the middle of an interval by this share of it: what closed forms leave out is mostly a cost.
_UPWARD = 0.3


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is expected of a training at one setting.

    Args:
        relative_fitness: E ψ; NaN if nothing is known.
        deviation: of ψ between trainings.
        standard_error: of E ψ, from the finite public sample.
        caveats: what the figures do not cover, or how else they were made.
        doubt: deviation of the logarithm of ψ that comes from what the figures leave out.
        shifts: ψ for every size of a difference between public rows and records, if it is known.
    """

    relative_fitness: float
    deviation: float
    standard_error: float
    caveats: tuple[str, ...] = ()
    doubt: float = 0.0
    shifts: ShiftCosts | None = field(default=None, compare=False, repr=False)

    @property
    def interval(self) -> tuple[float, float]:
        """Where ψ of one training lies with a probability of 95 %.

        >>> low, high = Forecast(1.0, 0.3, 0.1).interval
        >>> low < 1 < high
        True
        """
        return self.interval_at(0.95)

    @property
    def elsewhere(self) -> tuple[float, float] | None:
        """The same if the public rows come from elsewhere; None where nothing is known of that."""
        return None if self.shifts is None else self.under(from_elsewhere())

    def under(self, chances: FloatArray) -> tuple[float, float]:
        """The same if sizes of a shift have these chances (`forecast.shifts`), at least as far up as without one."""
        low, high = self.interval
        if self.shifts is None:
            return low, high
        least, most = self.shifts.interval(chances)
        return min(low, least), max(high, most)

    def without_shifts(self) -> Forecast:
        """The same for public rows that are known to fit."""
        return replace(self, shifts=None)

    def interval_at(self, level: float) -> tuple[float, float]:
        """Where ψ of one training lies with that probability, if public rows and records are of one population."""
        from scipy.special import gammaincinv, ndtri

        variance = max(self.deviation**2 + self.standard_error**2, (1e-6 * self.relative_fitness) ** 2)
        if self.doubt:
            known = np.log1p(variance / self.relative_fitness**2)
            middle, width = _UPWARD * self.doubt - known / 2, float(np.hypot(np.sqrt(known), self.doubt))
            ends = middle + width * ndtri([(1 - level) / 2, (1 + level) / 2])
            return float(self.relative_fitness * np.exp(ends[0])), float(self.relative_fitness * np.exp(ends[1]))
        shape, scale = self.relative_fitness**2 / variance, variance / self.relative_fitness
        low, high = scale * gammaincinv(shape, [(1 - level) / 2, (1 + level) / 2])
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
