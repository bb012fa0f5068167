"""What an owner claims, and the noise that the claim needs: derived from the guarantee, not from the audited code."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from copriv.audit.gaussian_curve import largest_mu, smallest_epsilon
from copriv.errors import BadInput
from copriv.privacy.guarantee import Guarantee
from copriv.vectors import FloatArray, Norm


@dataclass(frozen=True, slots=True)
class Claim:
    """A guarantee over a number of answers, each an average of so many gradients clipped to one length.

    >>> Claim(Guarantee.of(1), answers=1000, clip=1.0, records=100, parameters=10).needed_scale()
    20.0
    """

    guarantee: Guarantee
    answers: int
    clip: float
    records: int
    parameters: int

    def __post_init__(self) -> None:
        if self.records < 2:
            raise BadInput(f"{self.records} records", remedy="an audit needs at least 2", value=self.records)
        if min(self.answers, self.parameters) < 1:
            raise BadInput(
                f"{self.answers} answers of {self.parameters} numbers",
                remedy="give at least 1 of each",
                value=(self.answers, self.parameters),
            )
        if not 0 < self.clip < math.inf:
            raise BadInput(f"the clip is {self.clip}", remedy="give a finite number greater than 0", value=self.clip)

    @property
    def mechanism(self) -> str:
        """Laplace noise for a pure guarantee, Gaussian noise for one with δ."""
        return "laplace" if self.guarantee.pure else "gaussian"

    @property
    def norm(self) -> Norm:
        """The norm in which this noise hides a change: L1 for Laplace, L2 for Gaussian noise."""
        return Norm.L1 if self.guarantee.pure else Norm.L2

    @property
    def change(self) -> float:
        """How far one replaced record may move an answer: 2C/n."""
        return 2 * self.clip / self.records

    def needed_scale(self) -> float:
        """The smallest noise that keeps the guarantee: b = 2CK/(nε), or s = √K (2C/n)/μ with the μ of (ε, δ)."""
        if self.guarantee.pure:
            return self.change * self.answers / self.guarantee.epsilon
        return math.sqrt(self.answers) * self.change / largest_mu(self.guarantee.epsilon, self.guarantee.delta)

    def epsilon_of(self, scale: float, change: float | None = None) -> float:
        """The ε, at the claimed δ, of all answers with noise of this scale, if a record moves each by this change."""
        if scale == 0:
            return math.inf
        moved = (self.change if change is None else change) / scale
        if self.guarantee.pure:
            return self.answers * moved
        return smallest_epsilon(math.sqrt(self.answers) * moved, self.guarantee.delta)

    def over(self, answers: int) -> Claim:
        """The same guarantee, kept over another number of answers."""
        return replace(self, answers=answers)

    def one_answer(self) -> float:
        """The ε, at the claimed δ, that a single one of the answers may have."""
        return self.over(1).epsilon_of(self.needed_scale())

    def draw_noise(self, draws: int, generator: np.random.Generator) -> FloatArray:
        """What the noise of some answers should look like: to place thresholds before the first real answer."""
        draw = generator.laplace if self.guarantee.pure else generator.normal
        return draw(scale=self.needed_scale(), size=(draws, self.parameters))
