"""A forecast with the noise that guarantees demand: what `copriv forecast` tells, from public rows, sizes and budgets.

Moments are used wherever they hold. Where a clip or a box would bind, the same setting is rehearsed on the public rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from copriv.errors import BadInput
from copriv.forecast.comparison import Estimate, smaller
from copriv.forecast.forecast import Forecast, RuleName
from copriv.forecast.jackknife import Jackknife
from copriv.forecast.newton import NewtonForecast
from copriv.forecast.public import PublicView
from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.planning.public_simulation import rehearse
from copriv.planning.search import (
    Fixed,
    Owners,
    doubt_moments,
    doubt_newton,
    expect_averaged,
    expect_newton,
    expect_paper,
)
from copriv.privacy.calibration import expected_noise_std, mechanism_norm
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.sensitivity import of_average_gradient
from copriv.vectors import Norm

Verdict = Literal["join", "stay", "too close to call"]
RULES: tuple[RuleName, ...] = ("newton", "averaged", "paper")
_RUNS = 20
# Where a box or a clip binds, a rehearsal may find less than moments say, but never so much less.
_LESS_IN_REHEARSAL = 10.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """Who would train together: sizes and guarantees, one of each an owner, and how much owners truly differ."""

    records: tuple[int, ...]
    guarantees: tuple[Guarantee, ...]
    heterogeneity: float = 0.0
    rates: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not self.records or len(self.records) != len(self.guarantees):
            raise BadInput(
                f"{len(self.guarantees)} guarantees for {len(self.records)} owners",
                remedy=f"give {len(self.records)}, one an owner",
                value=len(self.guarantees),
            )
        if len({guarantee.pure for guarantee in self.guarantees}) > 1:
            raise BadInput("guarantees with and without delta", remedy="give all owners a delta, or none", value=None)
        if not (math.isfinite(self.heterogeneity) and self.heterogeneity >= 0):
            raise BadInput(
                f"a heterogeneity of {self.heterogeneity}", remedy="give a number from 0", value=self.heterogeneity
            )

    @property
    def norm(self) -> Norm:
        """In which gradients are clipped."""
        return mechanism_norm(self.guarantees[0])

    @property
    def mechanism(self) -> str:
        """What the noise is called."""
        return "laplace" if self.guarantees[0].pure else "gaussian"

    def owners(self, parameters: int) -> Owners:
        """With the noise that their guarantees demand."""

        def promised(caps: tuple[int, ...]) -> list[float]:
            terms = list(zip(self.records, self.guarantees, caps, strict=True))
            made = {term: _deviation(*term, parameters) for term in set(terms)}
            return [made[term] for term in terms]

        return Owners(self.records, promised, self.norm, self.rates, self.heterogeneity)


@dataclass(frozen=True, eq=False)
class Forecaster:
    """Public rows and the fitness, ready to answer questions; what does not depend on the question is kept."""

    view: PublicView
    objective: Objective
    seed: int = 0
    kept: dict[Norm, NewtonForecast] = field(default_factory=dict)

    @classmethod
    def of(cls, public: Sample, objective: Objective, seed: int = 0) -> Forecaster:
        """From public rows."""
        return cls(PublicView.of(public, objective.regularization, objective.loss), objective, seed)

    def forecast(self, question: Scenario, rule: RuleName, choice: Fixed | None = None) -> Forecast:
        """What one rule is expected to cost."""
        owners = question.owners(self.view.model.size)
        return self._complete(self._expect(owners, rule, choice or Fixed()), question, owners, choice or Fixed())

    def best(self, question: Scenario, rules: Sequence[RuleName] = RULES, choice: Fixed | None = None) -> Forecast:
        """The rule with the least expected ψ; doubt and rehearsals are for those that may be it."""
        owners, settled = question.owners(self.view.model.size), choice or Fixed()
        drafts: list[Forecast] = []
        for rule in rules:
            beaten = min((draft.relative_fitness for draft in drafts), default=0.0)
            drafts.append(self._expect(owners, rule, replace(settled, beaten=beaten)))
        least = min(drafts, key=lambda draft: draft.relative_fitness)
        unsure = [draft for draft in drafts if draft is not least and (draft.caveats or least.caveats)]
        near = [draft for draft in unsure if draft.relative_fitness < _LESS_IN_REHEARSAL * least.relative_fitness]
        found = [self._complete(draft, question, owners, settled) for draft in (least, *near)]
        return min(found, key=lambda forecast: forecast.relative_fitness)

    @cached_property
    def _hindsight(self) -> Jackknife:
        return Jackknife(self.view, self.objective)

    def _expect(self, owners: Owners, rule: RuleName, choice: Fixed) -> Forecast:
        """By prospect or moments, without doubt or rehearsal."""
        if rule == "newton":
            return expect_newton(owners, self.prospects(owners.norm))
        make = expect_paper if rule == "paper" else expect_averaged
        return make(self.view, self.objective, owners, choice)

    def _complete(self, draft: Forecast, question: Scenario, owners: Owners, choice: Fixed) -> Forecast:
        """With the doubt that public rows leave and, where moments do not hold, rehearsed."""
        if draft.rule == "newton":
            return doubt_newton(draft, owners, self._hindsight)
        found = doubt_moments(draft, self.view, self.objective, owners, choice)
        if not found.caveats:
            return found
        noise: Literal["laplace", "gaussian"] = "laplace" if question.guarantees[0].pure else "gaussian"
        return rehearse(found, self.view, self.objective, owners, noise=noise, runs=_RUNS, seed=self.seed)

    def prospects(self, norm: Norm) -> NewtonForecast:
        """What the public rows foretell of public Newton."""
        if norm not in self.kept:
            self.kept[norm] = NewtonForecast.of(self.view.sample, self.objective, norm, self.view.model)
        return self.kept[norm]

    def alone(self, question: Scenario, owner: int = 0) -> float:
        """ψ that an owner is expected to reach with its own records only."""
        return self.view.alone(question.records, owner, question.heterogeneity)

    def clip(self, norm: Norm) -> float:
        """The largest gradient of a public row."""
        return self.view.largest_gradient(norm)


def judge(forecast: Forecast, alone: float) -> Verdict:
    """Join if all of the interval lies below what an owner reaches alone, stay if all of it lies above."""
    words: dict[str, Verdict] = {"first": "join", "second": "stay", "undecided": "too close to call"}
    return words[smaller(Estimate.of(forecast), Estimate(alone, 0.0))]


def _deviation(records: int, guarantee: Guarantee, answers: int, parameters: int) -> float:
    """Of the noise on one of so many answers, for a clip of 1: that of the owner's promise."""
    sensitivity = of_average_gradient(clip=1.0, records=records, parameters=parameters, norm=mechanism_norm(guarantee))
    return expected_noise_std(guarantee, answers=answers, sensitivity=sensitivity)
