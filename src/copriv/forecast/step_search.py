"""A rule with everything settled but its step: what a search for the best step asks again and again.

Many owners that all differ are condensed: to very few kinds where a figure is only compared with others, to a few more
where it is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from copriv.forecast.moment_path import MomentPath
from copriv.forecast.moments_averaged import follow_averaged
from copriv.forecast.moments_averaged_final import end_averaged
from copriv.forecast.moments_paper import follow_paper
from copriv.forecast.owner_groups import OwnerGroups
from copriv.forecast.owner_quadrature import condense, condense_but_the_loudest
from copriv.forecast.spectrum import Spectrum
from copriv.losses.objective import Objective
from copriv.rules.averaged import AveragedRule
from copriv.rules.paper import CentralStep, PaperRule

# Against all kinds: a share of 1e-3 of E ψ at worst, and of 2e-5, in the crowds of the test.
_TO_COMPARE, _TO_TELL = 2, 6


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
