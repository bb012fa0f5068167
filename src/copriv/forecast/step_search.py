"""A rule with everything settled but its step: what a search for the best step asks again and again, and that search.

Many owners that all differ are condensed: to very few kinds where a figure is only compared with others, to a few more
where it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from copriv.forecast.moment_path import MomentPath
from copriv.forecast.moments_averaged import follow_averaged
from copriv.forecast.moments_averaged_final import end_averaged
from copriv.forecast.moments_paper import follow_paper
from copriv.forecast.owner_groups import OwnerGroups
from copriv.forecast.owner_quadrature import condense, condense_but_the_loudest
from copriv.forecast.public_evidence import PublicEvidence
from copriv.forecast.setting import Setting
from copriv.forecast.spectrum import Spectrum
from copriv.losses.objective import Objective
from copriv.rules.averaged import AveragedRule
from copriv.rules.paper import CentralStep, PaperRule

# Against all kinds: a share of 1e-3 of E ψ at worst, and of 2e-5, in the crowds of the test.
_TO_COMPARE, _TO_TELL = 2, 6
_STEPS, _STRIDE = 14, 3
# The best of every third step of the ladder costs a few times as much as the best of all at most.
_HOPELESS = 50.0


class StepSearch(Protocol):
    """What a search needs of a rule."""

    def end(self, landscape: Spectrum, step: float) -> float:
        """E ψ after the last meeting, to compare steps by."""

    def follow(self, landscape: Spectrum, step: float) -> MomentPath:
        """The whole way, to be told."""


@dataclass(frozen=True, eq=False)
class PaperStepSearch:
    """Algorithm 1 for owners of these sizes, availabilities and kinds."""

    objective: Objective
    records: tuple[int, ...]
    gammas: tuple[float, ...]
    kinds: OwnerGroups
    horizon: int
    central: CentralStep

    def end(self, landscape: Spectrum, step: float) -> float:
        """E ψ after the last meeting, to compare steps by."""
        path = follow_paper(self._rule(landscape, step), landscape, self._few, self.horizon)
        return path.end(landscape)

    def follow(self, landscape: Spectrum, step: float) -> MomentPath:
        """The whole way, to be told."""
        crowd = condense_but_the_loudest(self.kinds, _TO_TELL)
        return follow_paper(self._rule(landscape, step), landscape, crowd, self.horizon)

    @cached_property
    def _few(self) -> OwnerGroups:
        return condense(self.kinds, _TO_COMPARE)

    def _rule(self, landscape: Spectrum, step: float) -> PaperRule:
        objective = self.objective
        return PaperRule(
            landscape.optimum.size,
            self.records,
            self.gammas,
            step,
            objective.regularization,
            objective.limit,
            self.central,
        )


@dataclass(frozen=True, eq=False)
class AveragedStepSearch:
    """Averaged steps for owners of these sizes and kinds."""

    objective: Objective
    records: tuple[int, ...]
    kinds: OwnerGroups
    horizon: int

    def end(self, landscape: Spectrum, step: float) -> float:
        """E ψ after the last meeting."""
        return end_averaged(self._rule(landscape, step), landscape, self.kinds)

    def follow(self, landscape: Spectrum, step: float) -> MomentPath:
        """The whole way, to be told."""
        return follow_averaged(self._rule(landscape, step), landscape, self.kinds)

    def _rule(self, landscape: Spectrum, step: float) -> AveragedRule:
        objective = self.objective
        return AveragedRule(
            landscape.optimum.size, self.records, step, self.horizon, objective.regularization, objective.limit
        )


def step_search(setting: Setting, evidence: PublicEvidence, *, alike: bool = False) -> StepSearch:
    """Moments of a setting for any step; `alike` leaves out that owners differ by sampling."""
    groups = setting.groups()
    if alike:
        groups = replace(groups, differences=np.zeros_like(groups.differences))
    horizon = setting.terms.horizon
    if setting.terms.rule == "paper":
        rule = setting.paper()
        return PaperStepSearch(evidence.objective, setting.records, rule.availability, groups, horizon, rule.central)
    return AveragedStepSearch(evidence.objective, setting.records, groups, horizon)


def least_cost(setting: Setting, evidence: PublicEvidence, step: float | None = None, beaten: float = 0.0) -> float:
    """E ψ by moments at this step, or at the best one, with nothing lost to the clip."""
    landscape = evidence.view.landscape(sum(setting.records))
    steps = [step] if step else _ladder(setting, evidence)
    return best_step(partial(step_search(setting, evidence).end, landscape), steps, beaten)[1]


def _ladder(setting: Setting, evidence: PublicEvidence) -> list[float]:
    """From the largest stable step down by factors of 2."""
    shares = np.asarray(setting.records) / sum(setting.records)
    often = np.asarray(setting.by_clock) if setting.terms.rule == "paper" else 1 / len(shares)
    largest = 2 / (float(np.max(shares / often)) * evidence.view.steepest)
    return [_digits(largest * 0.5 ** (k + 0.5)) for k in range(_STEPS)]


def best_step(cost: Callable[[float], float], steps: Sequence[float], beaten: float = 0.0) -> tuple[float, float]:
    """The step of least cost, and that: the best of some of a ladder, of its neighbours, and of what lies between.

    `beaten` is a cost that another rule has: what is far above it at first sight is not looked at twice.
    """
    costs: dict[float, float] = {}

    def best_of(candidates: Sequence[float]) -> float:
        costs.update({step: _finite(cost(step)) for step in candidates if step not in costs})
        return min(costs, key=lambda step: costs[step])

    place = steps.index(best_of(steps[::_STRIDE]))
    if costs[steps[place]] > _HOPELESS * beaten > 0:
        return steps[place], costs[steps[place]]
    best = best_of(steps[max(place - _STRIDE + 1, 0) : place + _STRIDE])
    if len(steps) > 1:
        best = best_of([_digits(best * factor) for factor in (0.6, 0.77, 1.3, 1.68)])
    return best, costs[best]


def _finite(cost: float) -> float:
    return cost if np.isfinite(cost) else np.inf


def _digits(value: float) -> float:
    return float(f"{value:.3g}")
