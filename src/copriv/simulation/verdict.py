"""Join or stay alone: the cost that is foreseen for the joint model against what an owner's own model reaches.

The owner trains at home and judges its model on the public rows, at home: nothing leaves and nothing is spent. At the
public minimiser the gradient is 0, so what is measured there is ΔᵀHΔ/2 for Δ = θ_i − θ_pub, and two independent samples
make that a(1 + …) + b with a = ψ(θ_i) and b ≈ p/n_pub: b is subtracted, and the cross term leaves a standard error of
√((4ab + 2b²)/p). An owner whose records are like the public rows has a ≈ p/n_i ± √(2/p) p/n_i; where the measurement
does not contradict that, the two are averaged. What joining costs is foreseen from the public rows alone, for owners
of the same size and promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from copriv.errors import BadInput
from copriv.losses.objective import Objective, relative_fitness
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.privacy.guarantee import NANO, Guarantee
from copriv.records.dictionary import Dictionary
from copriv.simulation.study import Study, design_ahead
from copriv.simulation.wishes import Wishes

Advice = Literal["join", "stay", "either"]

_STANDARD_ERRORS = 2
# Forecasts on public rows were within this factor of what was measured on owners like them.
FORECAST_FACTOR = 1.25
_SMALLEST_EPSILON, _LARGEST_EPSILON = 1e-3, 100.0
_BISECTIONS = 7
_MOST_OWNERS = 1000


@dataclass(frozen=True, slots=True)
class Alone:
    """ψ of an owner's own model, its standard error, and ψ of the model that the public rows give."""

    psi: float
    standard_error: float
    public: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an owner should do: ψ of its own model, and the ψ foreseen of the joint one."""

    alone: Alone
    joint: float

    @property
    def interval(self) -> tuple[float, float]:
        """Where ψ of the joint model is expected."""
        return self.joint / FORECAST_FACTOR, self.joint * FORECAST_FACTOR

    @property
    def advice(self) -> Advice:
        """Join, stay, or either, if the difference is within what is known."""
        low, high = self.interval
        margin = _STANDARD_ERRORS * self.alone.standard_error
        if high < self.alone.psi - margin:
            return "join"
        return "stay" if low > self.alone.psi + margin else "either"


@dataclass(frozen=True, slots=True)
class BreakEven:
    """From where on joining pays.

    Args:
        epsilon: the smallest ε, with so many owners; None if none does.
        owners: the smallest number of owners, at this ε; None if none does.
    """

    epsilon: float | None
    owners: int | None


def judge_alone(objective: Objective, own: Sample, public: Sample) -> Alone:
    """Train at home, and judge on the public rows."""
    theta, best = minimise(objective, own), minimise(objective, public)
    p, b = public.parameters, public.parameters / public.records
    measured = relative_fitness(objective.fitness(public, theta), objective.fitness(public, best)) - b
    error = math.sqrt((4 * max(measured, 0.0) * b + 2 * b**2) / p)
    expected = p / own.records
    if abs(measured - expected) > _STANDARD_ERRORS * error:
        return Alone(measured, error, b)
    weights = 1 / error**2, p / (2 * expected**2)
    psi = (weights[0] * measured + weights[1] * expected) / sum(weights)
    return Alone(psi, math.sqrt(1 / sum(weights)), b)


def judge(dictionary: Dictionary, public: Sample, own: Sample, wishes: Wishes) -> Verdict:
    """Compare joining with staying alone, for as many owners as there are guarantees, all of this owner's size."""
    if len(wishes.guarantees) < 2:
        raise BadInput("a consortium of one", remedy="say how many owners there would be: --owners N", value=1)
    study = _study(dictionary, public, own, wishes, wishes.guarantees[0], len(wishes.guarantees))
    return Verdict(judge_alone(study.terms.objective(), own, public), study.foreseen)


def break_even(
    dictionary: Dictionary,
    public: Sample,
    own: Sample,
    wishes: Wishes,
    alone: Alone,
    *,
    tell: Callable[[int, int], None] = lambda _done, _total: None,
) -> BreakEven:
    """The ε and the number of owners from which joining pays, everything else being as wished for."""
    guarantee, owners, done = wishes.guarantees[0], len(wishes.guarantees), 0

    def pays(promise: Guarantee, count: int) -> bool:
        nonlocal done
        done += 1
        tell(done, 2 * _BISECTIONS + 4)
        return _study(dictionary, public, own, wishes, promise, count).foreseen < alone.psi

    return BreakEven(
        epsilon=_break_even_epsilon(lambda epsilon: pays(_with(guarantee, epsilon), owners)),
        owners=_break_even_owners(lambda count: pays(guarantee, count)),
    )


def _study(
    dictionary: Dictionary, public: Sample, own: Sample, wishes: Wishes, guarantee: Guarantee, owners: int
) -> Study:
    asked = replace(wishes, rule="newton", guarantees=(guarantee,) * owners)
    return design_ahead(dictionary, public, (own.records,) * owners, asked)


def _with(guarantee: Guarantee, epsilon: float) -> Guarantee:
    return Guarantee(max(1, int(epsilon * NANO)), guarantee.delta)


def _break_even_epsilon(pays: Callable[[float], bool]) -> float | None:
    """The smallest ε that pays, to two digits, by halving the range on a logarithmic scale."""
    low, high = math.log(_SMALLEST_EPSILON), math.log(_LARGEST_EPSILON)
    if not pays(math.exp(high)):
        return None
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if pays(math.exp(middle)) else (middle, high)
    return float(f"{math.exp(high):.2g}")


def _break_even_owners(pays: Callable[[int], bool]) -> int | None:
    """The smallest number of owners that pays, two at least."""
    low, high = 1, _MOST_OWNERS
    if not pays(high):
        return None
    while high - low > 1:
        middle = int(math.sqrt(low * high)) if high > 2 * low else (low + high) // 2
        middle = min(max(middle, low + 1), high - 1)
        low, high = (low, middle) if pays(middle) else (middle, high)
    return max(high, 2)


def explain(verdict: Verdict, turning: BreakEven, guarantee: Guarantee, owners: int) -> str:
    """What an owner can act on, in one or two sentences."""
    promise = f"ε = {guarantee.epsilon:g}, δ = {guarantee.delta:g}"
    figures = f"the joint model should be {verdict.joint:.2%} off the best one, your own is {verdict.alone.psi:.2%} off"
    words = {
        "join": f"Join: with {owners} owners like you at {promise}, {figures}.",
        "stay": f"Stay alone: with {owners} owners like you at {promise}, {figures}.",
        "either": f"It makes little difference: with {owners} owners like you at {promise}, {figures}.",
    }[verdict.advice]
    if verdict.alone.public < verdict.alone.psi:
        return f"{words} The public rows alone give a better model than yours, so joining cannot cost you anything."
    epsilon = "at no ε up to 100" if turning.epsilon is None else f"from ε = {turning.epsilon:g} on"
    count = "with no number of owners" if turning.owners is None else f"from {turning.owners} owners on"
    return f"{words} With {owners} owners joining pays {epsilon}; at {promise}, {count}."
