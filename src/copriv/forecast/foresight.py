"""What ψ is to be expected, answer by answer: the forecast of public Newton under a menu, updated by what owners tell.

Before the first answer nobody knows whether the public rows fit. The rule itself infers from the answers how likely
every size of a shift is (`rules.adaptive_inference`); the same costs as before (`forecast.shifts`) are weighed by that.
Everything here is worked out from answers behind noise, so it costs no budget.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from copriv.forecast.newton import NewtonForecast
from copriv.forecast.shifts import MISFIT, SURE, ShiftCosts, shift_costs
from copriv.rules.adaptive_inference import AdaptiveSetting, inferred
from copriv.rules.adaptive_newton import AdaptiveNewton
from copriv.rules.adaptive_state import AdaptiveState
from copriv.rules.relabelled import after_positives


class Foreseen(msgspec.Struct, frozen=True):
    """What is expected after so many answers.

    Args:
        answers: how many there were.
        relative_fitness: ψ that one training is as likely to exceed as not.
        interval: where ψ lies with a probability of 95 %.
        misfit: the probability that the public rows do not fit.
    """

    answers: int
    relative_fitness: float
    interval: tuple[float, float]
    misfit: float

    @property
    def fits(self) -> bool:
        """Whether the answers do not speak against the public rows."""
        return self.misfit <= SURE

    @property
    def words(self) -> str:
        """What was foreseen, in words.

        >>> Foreseen(3, 4e-4, (1e-4, 2e-3), 0.0).words
        'ψ expected after 3 answers: 0.0004 (95 %: 0.0001 to 0.002)'
        """
        many = "1 answer" if self.answers == 1 else f"{self.answers:,} answers"
        low, high = self.interval
        return f"ψ expected after {many}: {self.relative_fitness:.2g} (95 %: {low:.2g} to {high:.2g})"

    @property
    def verdict(self) -> str:
        """That the public rows do not fit, in words; empty if they may."""
        if self.fits:
            return ""
        return (
            f"these public rows do not fit: with a probability of {self.misfit:.0%} they tell less about the owners' "
            f"records than {1 / MISFIT:.0f} rows of the owners' own would"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Foresight:
    """Ready to say what is expected; `predicted` is ψ if the public rows fit."""

    setting: AdaptiveSetting
    predicted: float
    costs: ShiftCosts

    @classmethod
    def of(cls, rule: object) -> Foresight | None:
        """Of a rule that looks for shifts; None of any other."""
        if not isinstance(rule, AdaptiveNewton):
            return None
        setting = rule.setting
        geometry, noise, records = setting.geometry, after_positives(setting.noise), setting.records
        ahead = NewtonForecast.of(
            geometry.public, geometry.objective, noise.norm, geometry.start, clips=(geometry.clip,), axes=geometry.axes
        )
        known = ahead.best(records, {1: [std / geometry.clip for std in noise.noise_std]}).cost
        return cls(setting, known, shift_costs(geometry, records, noise, known))

    def after(self, state: AdaptiveState) -> Foreseen:
        """What is expected now."""
        found, _ = inferred(self.setting, state)
        middle = self.costs.quantile(found.chances, 0.5)
        misfit = found.exceeds(MISFIT) if state.told else 0.0
        return Foreseen(len(state.told), middle, self.costs.interval(found.chances), misfit)


def is_worth_telling(answers: int) -> bool:
    """Whether so many answers are a number to say something after: 1, 2, 3, 5, 10, 20, 30, 50 and so on.

    >>> [count for count in range(60) if is_worth_telling(count)]
    [1, 2, 3, 5, 10, 20, 30, 50]
    """
    while answers and answers % 10 == 0:
        answers //= 10
    return answers in {1, 2, 3, 5}
