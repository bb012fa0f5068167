"""A rule with everything settled: what a forecast is made of, and what owners will be asked to agree to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import msgspec

from copriv.forecast.owner_groups import OwnerGroups
from copriv.losses.sample import Sample
from copriv.privacy.accounting import Accountant
from copriv.privacy.calibration import mechanism_norm
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import ExpectedNoise, expect_noise
from copriv.protocol.terms import Terms
from copriv.rules.averaged import AveragedRule
from copriv.rules.paper import CentralStep, PaperRule
from copriv.rules.registry import resolve
from copriv.rules.setting import NoiseModel
from copriv.schedule.poisson import availability
from copriv.vectors import Norm


@dataclass(frozen=True)
class Setting:
    """A rule and its numbers, for owners of these sizes and promises.

    Args:
        terms: rule, clip, step, horizon, box, loss.
        records: n_i of each owner.
        guarantees: one an owner.
        answers: the most answers of each owner.
        accountant: for guarantees with δ.
        rates: of the owners' clocks; None for equal ones.
        heterogeneity: κ.
    """

    terms: Terms
    records: tuple[int, ...]
    guarantees: tuple[Guarantee, ...]
    answers: tuple[int, ...]
    accountant: Accountant = "pld"
    rates: tuple[float, ...] | None = None
    heterogeneity: float = 0.0

    @property
    def norm(self) -> Norm:
        """In which gradients are clipped."""
        return mechanism_norm(self.guarantees[0])

    @property
    def mechanism(self) -> Literal["laplace", "gaussian"]:
        """What the noise is called."""
        return "laplace" if self.guarantees[0].pure else "gaussian"

    @property
    def owners(self) -> list[tuple[int, Guarantee, int]]:
        """Each by its records, what it promises, and its most answers."""
        return list(zip(self.records, self.guarantees, self.answers, strict=True))

    @cached_property
    def noise(self) -> ExpectedNoise:
        """The clip that owners keep, and the noise of each on one answer."""
        return expect_noise(self.terms, self.owners, self.accountant)

    @property
    def clip(self) -> float:
        """The most that one record's gradient counts."""
        return self.noise.clip

    @property
    def noise_std(self) -> tuple[float, ...]:
        """Of each owner's noise on one answer; under a menu, on a gradient for the whole training budget."""
        return self.noise.noise_std

    @property
    def second_moments_std(self) -> tuple[float, ...]:
        """Of each owner's noise on second moments for the whole training budget; none if they are not on the menu."""
        return self.noise.second_moments_std

    @property
    def positives_std(self) -> tuple[float, ...]:
        """Of each owner's noise on the share of positive targets; likewise."""
        return self.noise.positives_std

    def noise_model(self, public: Sample | None) -> NoiseModel:
        """What a rule may know of the owners' noise before they have promised it."""
        terms = self.terms
        menu = (terms.shares, terms.kinds, self.second_moments_std, self.positives_std, terms.fill, terms.axes)
        return NoiseModel(self.noise_std, self.clip, self.norm, public, *menu)

    @property
    def unit_noise(self) -> tuple[float, ...]:
        """The deviation of each owner's noise if the clip were 1."""
        return tuple(noise_std / self.noise.clip for noise_std in self.noise.noise_std)

    @cached_property
    def by_clock(self) -> tuple[float, ...]:
        """γ_i, the probability that the next meeting is with owner i."""
        return tuple(availability(self.rates or (1.0,) * len(self.records)).tolist())

    @property
    def in_the_end(self) -> tuple[float, ...]:
        """The share of all meetings that each owner has: by its clock, or of its answers where all are asked for."""
        if resolve(self.terms.rule).counts == "meetings":
            return self.by_clock
        total = sum(self.answers)
        return tuple(most / total for most in self.answers)

    def at(self, *, clip: float, step: float) -> Setting:
        """The same with another clip and step."""
        return replace(self, terms=msgspec.structs.replace(self.terms, clip=clip, step=step))

    def answering(self, most: int) -> Setting:
        """The same with so many answers of each owner."""
        return replace(self, answers=(most,) * len(self.records))

    def groups(self) -> OwnerGroups:
        """Owners by kind, with how far their records' gradients stray."""
        differences = [1 / size + self.heterogeneity for size in self.records]
        return OwnerGroups.of(self.records, self.in_the_end, self.noise_std, differences)

    def paper(self) -> PaperRule:
        """Algorithm 1 at this setting."""
        terms = self.terms
        return PaperRule(
            parameters=terms.parameters,
            records=self.records,
            availability=self.by_clock,
            step=terms.step,
            regularization=terms.regularization,
            limit=terms.limit,
            central=CentralStep(terms.central),
        )

    def averaged(self) -> AveragedRule:
        """Averaged steps at this setting."""
        terms = self.terms
        return AveragedRule(
            terms.parameters, self.records, terms.step, terms.horizon, terms.regularization, terms.limit
        )
