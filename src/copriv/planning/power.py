"""Will an effect be found? Standard errors and power before anybody is asked, from public rows, sizes and promises.

The standard error that `forecast.one_step` would tell of a coefficient is worked out in advance: sampling, owners'
noise and public rows as they are expected to be, and differences between owners as the scenario presumes them (κ). An
effect is found if its 95 % interval does not hold 0. How wide that will be depends on how much the owners' own
estimates scatter, which is averaged over: with few owners they look different by chance, and intervals grow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from copriv.forecast.one_step import PublicSandwich, doubt_by_public_rows, takes_most
from copriv.forecast.random_effects import Width, tell_differences
from copriv.forecast.setting import Setting
from copriv.losses.loss import Loss
from copriv.losses.sample import Sample
from copriv.vectors import Axes, FloatArray, Norm

# So many quantiles of owners' scatter are averaged over.
_SCATTERS = 64
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class ExpectedErrors:
    """Variances of one coefficient that are to be expected, by what causes them.

    Args:
        sampling: by private records being a sample.
        privacy: by owners' noise.
        between: by differences between owners.
        public: by public rows being a sample.
        owners: how many there are.
        tell: whether they are enough, and even enough, to tell how much they differ.
    """

    sampling: float
    privacy: float
    between: float
    public: float
    owners: int
    tell: bool = True

    @property
    def standard_error(self) -> float:
        """Of the estimate of all owners together."""
        return math.sqrt(self.sampling + self.privacy + self.between + self.public)

    def power(self, effect: float) -> float:
        """The chance that an interval does not hold 0, if the coefficient is this."""
        from scipy.special import chdtri, ndtr

        known, deviation = self.sampling + self.privacy, self.standard_error
        if not self.tell:
            return _beyond(effect, Width(known + self.public).reach(_LEVEL), deviation, ndtr)
        free = self.owners - 1
        chances = (np.arange(_SCATTERS) + 0.5) / _SCATTERS
        scatters = np.asarray(chdtri(free, 1 - chances)) / free * (known + self.between)
        widths = [Width.of(scatter, math.sqrt(2 / free) * scatter, known, self.public) for scatter in scatters.tolist()]
        return float(np.mean([_beyond(effect, width.reach(_LEVEL), deviation, ndtr) for width in widths]))


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """A study by public Newton that is planned: all that its standard errors follow from.

    Args:
        public: the public rows.
        loss: what a mistake costs.
        start: the public model, at which owners will be asked.
        clip: the most that one record's gradient counts.
        norm: in which norm.
        records: n_i of each owner.
        noise: variance of each owner's noise on a number of its gradient, if all that it promises goes into one answer.
        axes: along which gradients are told; none if along the features.
    """

    public: Sample
    loss: Loss
    start: FloatArray
    clip: float
    norm: Norm
    records: tuple[int, ...]
    noise: FloatArray
    axes: Axes = ()

    @classmethod
    def of(cls, setting: Setting, public: Sample, start: FloatArray) -> Ahead:
        """Of a plan. Under a menu answers become finer at one place; else several answers at one price are averaged."""
        answers = (1,) * len(setting.records) if setting.terms.shares else setting.answers
        noise = np.asarray(setting.noise_std) ** 2 / np.asarray(answers, dtype=np.float64)
        terms, bounds = setting.terms, (setting.clip, setting.norm)
        return cls(public, terms.objective().loss, start, *bounds, setting.records, noise, terms.axes)

    @property
    def sandwich(self) -> PublicSandwich:
        """What public rows say of how records vary around the public model."""
        return PublicSandwich.of(self.public, self.loss, self.start, self.clip, self.norm, self.axes)

    @property
    def is_taken(self) -> bool:
        """Whether the clip would take so much that there would be no interval."""
        return takes_most(self.sandwich)

    def errors(self, effects: FloatArray, heterogeneity: float = 0.0) -> list[ExpectedErrors]:
        """Of coefficients, each a row that models are multiplied by; κ says how much owners truly differ."""
        sandwich = self.sandwich
        records = np.asarray(self.records, dtype=np.float64)
        weights = records / records.sum()
        along = effects @ sandwich.response
        one = np.einsum("ij,ij->i", along @ sandwich.clipped, along)
        noise = np.sum(along**2, axis=1) * float(weights**2 @ self.noise)
        # The public model is as far from the estimate as public rows leave it.
        spread = sandwich.model_covariance(self.public.records)
        doubt = doubt_by_public_rows(self.public, self.loss, sandwich, self.start, spread)
        between = one * heterogeneity * float(weights @ weights)
        by_public = np.einsum("ij,ij->i", effects @ doubt, effects)
        told = tell_differences(weights)
        parts = zip(one / records.sum(), noise, between, by_public, strict=True)
        return [
            ExpectedErrors(float(sampling), float(privacy), float(owners), float(rows), records.size, told)
            for sampling, privacy, owners, rows in parts
        ]


def smallest(power_of: Callable[[float], float], wanted: float, low: float, high: float) -> float | None:
    """The smallest argument at which a power that grows with it is reached, to 1 %; None if even the largest is not.

    >>> round(smallest(lambda size: size / 100, 0.8, 1, 1000), 0)
    80.0
    """
    if power_of(high) < wanted:
        return None
    if power_of(low) >= wanted:
        return low
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if power_of(middle) >= wanted else (middle, high)
    return high


def _beyond(effect: float, reach: float, deviation: float, ndtr: Callable[[float], float]) -> float:
    return float(ndtr((effect - reach) / deviation) + ndtr((-effect - reach) / deviation))
