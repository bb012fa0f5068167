"""A forecast: the ψ to be expected of a training, and where the ψ of one training will lie.

Two things keep one training from the expected ψ: its own chance (noise, schedule, which records owners have), known as
a deviation, and the doubt that a finite public sample leaves about the expectation, known by leaving out a group of
public rows at a time (jackknife). ψ is a weighted sum of squares, so a Gamma distribution with that mean and both
variances stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from copriv.forecast.public import GROUPS, leave_out
from copriv.losses.sample import Sample

RuleName = Literal["paper", "averaged", "newton"]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is expected of one rule at one setting.

    Args:
        rule: how answers become a model.
        relative_fitness: E ψ.
        deviation: of ψ between trainings.
        doubt: about E ψ, from the finite public sample.
        answers: the most answers of each owner.
        horizon: how many meetings there are.
        step: the rule's, 0 if it has none.
        clip: the most that one record's gradient may count.
        caveats: what the figures do not cover, or how else they were made.
    """

    rule: RuleName
    relative_fitness: float
    deviation: float
    doubt: float
    answers: int
    horizon: int
    step: float
    clip: float
    caveats: tuple[str, ...] = ()

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where ψ of one training lies with that probability.

        >>> low, high = Forecast("paper", 1.0, 0.3, 0.1, 1, 1, 0.1, 1.0).interval()
        >>> low < 1 < high
        True
        """
        from scipy.stats import gamma

        variance = max(self.deviation**2 + self.doubt**2, (1e-6 * self.relative_fitness) ** 2)
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
