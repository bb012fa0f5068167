"""Estimates of several owners together: fixed and random effects, and how much owners differ (τ²).

Each owner has an estimate y_i of the same coefficient with a known variance v_i. What they scatter beyond that is τ²,
by DerSimonian and Laird's moments. A variance that rests on the scatter of N owners is itself uncertain, so its share
of the whole takes the quantile from the normal one to Student's with N − 1 degrees of freedom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from copriv.vectors import FloatArray

# Fewer owners do not tell how much owners differ.
FEWEST_OWNERS = 5


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
    weights = 1 / variances
    mean = float(weights @ estimates / weights.sum())
    scatter = float(weights @ (estimates - mean) ** 2)
    room = float(weights.sum() - weights @ weights / weights.sum())
    free = estimates.size - 1
    return (max(0.0, (scatter - free) / room) if room > 0 else 0.0), scatter


def quantile(level: float, owners: int, share: float) -> float:
    """How many standard errors hold a level if this share of the variance rests on the scatter of so many owners.

    >>> [round(quantile(0.95, 10, share), 2) for share in (0.0, 0.5, 1.0)]
    [1.96, 2.1, 2.26]
    """
    from scipy.special import ndtri, stdtrit

    at = (1 + level) / 2
    return float(ndtri(at)) if share <= 0 or owners < 2 else float(stdtrit((owners - 1) / share, at))


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
