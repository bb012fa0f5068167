"""Estimates of several owners together: fixed and random effects, and how much owners differ (τ²).

Each owner has an estimate y_i of the same coefficient with a known variance v_i. What they scatter beyond that is τ²,
by DerSimonian and Laird's moments. An interval of their mean rests on the scatter itself, as Hartung and Knapp have it:
owners that scatter little by chance make it narrower, which is what makes it hold as often as it says. A variance that
rests on the scatter of N owners is uncertain, so the quantile is Student's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from copriv.vectors import FloatArray

# Fewer owners do not tell how much owners differ; nor do more, if their mean is that of fewer equal ones than this.
FEWEST_OWNERS = 5
_FEWEST_EQUAL = 4.0
# Intervals are not narrower than this share of what known errors make them, however little owners scatter.
_NARROWEST = 0.6


@dataclass(frozen=True, slots=True)
class Pooled:
    """An estimate, its standard error, and by how many of these an interval goes to both sides."""

    estimate: float
    standard_error: float
    reach: float

    @property
    def interval(self) -> tuple[float, float]:
        """Low and high."""
        return self.estimate - self.reach * self.standard_error, self.estimate + self.reach * self.standard_error


@dataclass(frozen=True, slots=True)
class MetaAnalysis:
    """The same coefficient of several owners.

    Args:
        fixed: weighed by precision, as if owners did not differ.
        random: weighed by precision with τ² in it: the mean of owners like these, Hartung and Knapp's interval.
        tau_squared: τ².
        i_squared: the share of the scatter that is not chance.
        heterogeneity_p: the chance of so much scatter if owners did not differ.
    """

    fixed: Pooled
    random: Pooled
    tau_squared: float
    i_squared: float
    heterogeneity_p: float


def between_owners(estimates: FloatArray, variances: FloatArray) -> tuple[float, float]:
    """τ² and Cochran's Q.

    >>> between_owners(np.array([1.0, 1.0, 1.0]), np.ones(3))
    (0.0, 0.0)
    >>> between_owners(np.array([-2.0, 0.0, 2.0]), np.ones(3))
    (3.0, 8.0)
    """
    if not np.all(variances > 0):
        return 0.0, 0.0
    scatter, room = _scatter(estimates, variances)
    free = estimates.size - 1
    return (max(0.0, (scatter - free) / room) if room > 0 else 0.0), scatter


def _scatter(estimates: FloatArray, variances: FloatArray) -> tuple[float, float]:
    """Cochran's Q, and by how much it grows with τ²."""
    weights = 1 / variances
    mean = float(weights @ estimates / weights.sum())
    room = float(weights.sum() - weights @ weights / weights.sum())
    return float(weights @ (estimates - mean) ** 2), room


def tell_differences(weights: FloatArray) -> bool:
    """Whether owners of these weights are enough to tell how much owners differ.

    >>> tell_differences(np.full(5, 0.2)), tell_differences(np.array([0.92, 0.02, 0.02, 0.02, 0.02]))
    (True, False)
    """
    return weights.size >= FEWEST_OWNERS and float(weights @ weights) <= 1 / _FEWEST_EQUAL


@dataclass(frozen=True, slots=True)
class Width:
    """The variance that an interval is made of, and the degrees of freedom of Student's quantile."""

    variance: float
    freedom: float = math.inf

    @classmethod
    def of(cls, scatter: float, deviation: float, known: float, common: float) -> Width:
        """Of a mean of owners.

        Args:
            scatter: its variance, as the owners' scatter tells it.
            deviation: what that is off by.
            known: its variance by sampling and noise.
            common: a variance that all owners' estimates share, which does not make them scatter.
        """
        variance = max(scatter, _NARROWEST**2 * known) + common
        return cls(variance, max(1.0, 2 * (variance / deviation) ** 2) if deviation > 0 else math.inf)

    def reach(self, level: float) -> float:
        """How far an interval goes to both sides.

        >>> [round(Width(1.0, freedom).reach(0.95), 2) for freedom in (math.inf, 9.0)]
        [1.96, 2.26]
        """
        from scipy.special import stdtrit

        return float(stdtrit(self.freedom, (1 + level) / 2)) * math.sqrt(self.variance)

    def p_value(self, estimate: float) -> float:
        """The level from which on the interval around an estimate holds 0, from 1 down."""
        from scipy.special import stdtr

        return 2 * float(stdtr(self.freedom, -abs(estimate) / math.sqrt(self.variance)))


def width_of_mean(estimates: FloatArray, variances: FloatArray, weights: FloatArray, common: float) -> Width:
    """Of Σ weights·estimates; by known errors alone where the scatter tells nothing."""
    known = float(weights**2 @ variances)
    if not np.all(variances > 0) or not tell_differences(weights):
        return Width(known + common)
    scatter, room = _scatter(estimates, variances)
    free, squares = estimates.size - 1, float(weights @ weights)
    return Width.of(
        known + squares * (scatter - free) / room, squares * math.sqrt(2 / free) * scatter / room, known, common
    )


def meta_analysis(estimates: FloatArray, variances: FloatArray, common: float, level: float) -> MetaAnalysis:
    """Of at least two owners; `common` is a variance that all estimates share."""
    from scipy.special import chdtrc, ndtri, stdtrit

    tau_squared, scatter = between_owners(estimates, variances)
    free = estimates.size - 1
    fixed = _weighed(estimates, variances, common, float(ndtri((1 + level) / 2)))
    random = _weighed(estimates, variances + tau_squared, 0.0, float(stdtrit(free, (1 + level) / 2)))
    weights = 1 / np.maximum(variances + tau_squared, np.finfo(float).tiny)
    around = float(weights @ (estimates - random.estimate) ** 2) / free
    widened = math.sqrt(max(around, 1.0) * random.standard_error**2 + common)
    return MetaAnalysis(
        fixed,
        Pooled(random.estimate, widened, random.reach),
        tau_squared,
        max(0.0, 1 - free / scatter) if scatter > 0 else 0.0,
        float(chdtrc(free, scatter)),
    )


def _weighed(estimates: FloatArray, variances: FloatArray, common: float, reach: float) -> Pooled:
    precise = 1 / np.maximum(variances, np.finfo(float).tiny)
    return Pooled(float(precise @ estimates / precise.sum()), math.sqrt(1 / float(precise.sum()) + common), reach)
