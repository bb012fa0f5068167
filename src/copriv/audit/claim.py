"""What an owner claims, and the noise that the claim needs: derived from the guarantee, not from the audited code."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from copriv.audit.furthest import furthest_change
from copriv.audit.gaussian_curve import largest_mu, smallest_epsilon
from copriv.errors import BadInput
from copriv.privacy.guarantee import Guarantee
from copriv.vectors import Axes, FloatArray, Norm

Asks: TypeAlias = Literal["gradient", "moments", "second_moments", "positives"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A guarantee over a number of answers: averages of so many gradients clipped to one length, or second moments.

    >>> Claim(Guarantee.of(1), answers=1000, clip=1.0, records=100, parameters=10).needed_scale()
    20.0
    >>> round(Claim(Guarantee.of(1), answers=1, clip=1.0, records=100, parameters=9, asks="moments").needed_scale(), 3)
    11.443
    >>> Claim(Guarantee.of(1), answers=9, clip=1.0, records=100, parameters=10, share=20).needed_scale()
    0.1
    >>> Claim(Guarantee.of(1), answers=9, clip=1.0, records=100, parameters=10, share=20, fill=0.5).numbers
    65

    Args:
        guarantee: what is claimed.
        answers: over how many answers alike.
        clip: of gradients.
        records: of the owner.
        parameters: of a model.
        asks: what is asked for; second moments are averages of xxᵀ, positives the share of targets above 0.
        share: of a menu: the per cent of the guarantee that one answer may take; then `answers` does not count.
        rows: how many rows the person that is swapped has; 0 if the unit is a record.
        fill: of a menu: how much of xxᵀ a record tells behind its gradient, in the room of that; 0 if nothing.
        axes: of a menu: along which gradients are told and clipped, one a row; none if along the features.
    """

    guarantee: Guarantee
    answers: int
    clip: float
    records: int
    parameters: int
    asks: Asks = "gradient"
    share: int = 0
    rows: int = 0
    fill: float = 0.0
    axes: Axes = ()

    def __post_init__(self) -> None:
        if self.records < 2:
            raise BadInput(f"{self.records} records", remedy="an audit needs at least 2", value=self.records)
        if min(self.answers, self.parameters) < 1:
            raise BadInput(
                f"{self.answers} answers of {self.parameters} numbers",
                remedy="give at least 1 of each",
                value=(self.answers, self.parameters),
            )
        if self.rows < 0:
            raise BadInput(f"a person of {self.rows} rows", remedy="give at least 1", value=self.rows)
        if not 0 < self.clip < math.inf:
            raise BadInput(f"the clip is {self.clip}", remedy="give a finite number greater than 0", value=self.clip)
        if not 0 <= self.fill < math.inf or (self.fill > 0 and self.rows > 0):
            raise BadInput(
                f"a fill of {self.fill}, of one {self.unit}",
                remedy="give a finite number of at least 0; gradients of people are told alone",
                value=self.fill,
            )
        if self.axes and (self.rows > 0 or np.shape(self.axes) != (self.parameters, self.parameters)):
            raise BadInput(
                f"{len(self.axes)} axes of gradients of one {self.unit}, with {self.parameters} numbers",
                remedy="give as many axes as a gradient has numbers; gradients of people are told along features",
                value=len(self.axes),
            )

    @property
    def unit(self) -> str:
        """What the claim is about: any one of these."""
        return "person" if self.rows else "record"

    @property
    def mechanism(self) -> str:
        """Laplace noise for a pure guarantee, Gaussian noise for one with δ."""
        return "laplace" if self.guarantee.pure else "gaussian"

    @property
    def norm(self) -> Norm:
        """The norm in which this noise hides a change: L1 for Laplace, L2 for Gaussian noise."""
        return Norm.L1 if self.guarantee.pure else Norm.L2

    @property
    def fold(self) -> float:
        """How many answers alike the guarantee is for; with a share, how many such shares it has."""
        return 100 / self.share if self.share else self.answers

    @property
    def numbers(self) -> int:
        """How many numbers an answer has: p, or p(p + 1)/2 second moments, or p(p + 3)/2 of both, or 1."""
        if self.asks == "positives":
            return 1
        squares = self.parameters * (self.parameters + 1) // 2
        if self.asks == "second_moments":
            return squares
        return self.parameters + (squares if self.asks == "moments" or self.fill > 0 else 0)

    @property
    def change(self) -> float:
        """How far one replaced record can move an answer: 2C/n; moments, as far as the furthest two; a share, 1/n.

        What fills the room of a clipped gradient does not move it further. Nor do axes: along them it is clipped.
        """
        if self.asks == "positives":
            return 1 / self.records
        if self.asks == "moments":
            return furthest_change(self.parameters, self.norm)
        if self.asks == "second_moments":
            squared = 2 if self.norm is Norm.L2 else self.parameters * (self.parameters + 3) / 2
            return math.sqrt(squared) / self.records
        return 2 * self.clip / self.records

    def needed_scale(self) -> float:
        """The smallest noise that keeps the guarantee: b = ΔK/ε, or s = √K Δ/μ with the μ of (ε, δ), for a change Δ."""
        if self.guarantee.pure:
            return self.change * self.fold / self.guarantee.epsilon
        return math.sqrt(self.fold) * self.change / largest_mu(self.guarantee.epsilon, self.guarantee.delta)

    def epsilon_of(self, scale: float, change: float | None = None) -> float:
        """The ε, at the claimed δ, of all answers with noise of this scale, if a record moves each by this change."""
        if scale == 0:
            return math.inf
        moved = (self.change if change is None else change) / scale
        if self.guarantee.pure:
            return self.fold * moved
        return smallest_epsilon(math.sqrt(self.fold) * moved, self.guarantee.delta)

    def over(self, answers: int) -> Claim:
        """The same guarantee, kept over another number of answers."""
        return replace(self, answers=answers)

    def one_answer(self) -> float:
        """The ε, at the claimed δ, that a single one of the answers may have."""
        return self.over(1).epsilon_of(self.needed_scale())

    def draw_noise(self, draws: int, generator: np.random.Generator) -> FloatArray:
        """What the noise of some answers should look like: to place thresholds before the first real answer."""
        draw = generator.laplace if self.guarantee.pure else generator.normal
        return draw(scale=self.needed_scale(), size=(draws, self.numbers))
