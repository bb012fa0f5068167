"""From which ε, and from how many owners on joining pays; each with the interval that the verdict's own leaves.

Joining pays where the loss with the others is below that without: for certain where the whole interval of their ratio
is below 1, perhaps where its lower end is. All three fall with ε and with the number of owners, so each is found by
halving. The standard error that a finite public sample leaves is small beside the chance of one training, so it is
worked out once. Where owners promise differently, all budgets are scaled together, and ε is the largest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol, TypeVar

from copriv.planning.alone import OwnModel
from copriv.planning.candidate import Candidate
from copriv.planning.scenario import Scenario
from copriv.privacy.guarantee import written

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-3, 100.0
MOST_OWNERS = 1000
_BISECTIONS = 10

Value = TypeVar("Value", int, float)


class Judged(Protocol):
    """A judgement: the loss or ψ with the others over that without, expected and as an interval."""

    @property
    def ratio(self) -> tuple[float, float]:
        """Where it lies."""

    @property
    def expected_ratio(self) -> float:
        """What is expected."""


class Judge(Protocol):
    """Judges an owner in one scenario after another: by ψ on everybody's records, or by its own."""

    @property
    def joint(self) -> Callable[[Scenario], Candidate]:
        """What `plan` would take."""

    def glance(self, own: OwnModel, scenario: Scenario, like: Candidate) -> Judged:
        """In no time, with the rule of another candidate."""


Pays = Callable[[Judged], bool]
# Perhaps, expected to, for certain.
DEGREES: tuple[Pays, Pays, Pays] = (
    lambda found: found.ratio[0] < 1,
    lambda found: found.expected_ratio < 1,
    lambda found: found.ratio[1] < 1,
)


@dataclass(frozen=True, slots=True)
class Turn:
    """From where on joining pays: perhaps, as expected, and for certain; None if nowhere in the range."""

    perhaps: float | None
    expected: float | None
    certain: float | None


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The smallest ε with these owners, and the smallest number of owners of one's own size at this ε."""

    epsilon: Turn
    owners: Turn


def break_even(adviser: Judge, own: OwnModel, scenario: Scenario) -> BreakEven:
    """The ε and the number of owners from which joining pays, everything else being as it is."""
    like = adviser.joint(scenario)
    mine = scenario.guarantees[scenario.records.index(own.records)]
    like_me = replace(scenario, records=(own.records,), epsilon=written(mine.nano_epsilon), rates=None)

    @cache
    def at_epsilon(epsilon: float) -> Judged:
        return adviser.glance(own, scenario.with_largest_epsilon(float(f"{epsilon:.9f}")), like)

    @cache
    def among(owners: int) -> Judged:
        return adviser.glance(own, like_me.with_owners(owners), like)

    return BreakEven(
        epsilon=Turn(*(least_epsilon(_after(at_epsilon, pays)) for pays in DEGREES)),
        owners=Turn(*(least_owners(_after(among, pays)) for pays in DEGREES)),
    )


def _after(judge: Callable[[Value], Judged], pays: Pays) -> Callable[[Value], bool]:
    return lambda value: pays(judge(value))


def least_epsilon(pays: Callable[[float], bool]) -> float | None:
    """The smallest ε that pays, to two digits, by halving the range on a logarithmic scale."""
    low, high = math.log(SMALLEST_EPSILON), math.log(LARGEST_EPSILON)
    if not pays(LARGEST_EPSILON):
        return None
    if pays(SMALLEST_EPSILON):
        return SMALLEST_EPSILON
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if pays(math.exp(middle)) else (middle, high)
    return float(f"{math.exp(high):.2g}")


def least_owners(pays: Callable[[int], bool]) -> int | None:
    """The smallest number of owners that pays, two at least."""
    low, high = 1, MOST_OWNERS
    if not pays(high):
        return None
    while high - low > 1:
        middle = int(math.sqrt(low * high)) if high > 2 * low else (low + high) // 2
        middle = min(max(middle, low + 1), high - 1)
        low, high = (low, middle) if pays(middle) else (middle, high)
    return high
