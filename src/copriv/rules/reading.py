"""How clipped gradients of private records are read: what the clip took from them is not told.

Let t(θ) be what the clip takes from the public rows' average gradient at θ. If records differ from public rows by where
they lie only, it takes t(θ) from private gradients, too. If they differ by their best model only, targets have moved
along with it: from private gradients the clip takes what it takes from public ones where the public model is as far
away, t(θ − (θ̂ − θ_0)), with θ̂ the model that the answers lead to. Tables lie between the two. So answers are first
read with t(θ). Once they are of two places, so that the way to θ̂ was walked at least once, they are read again with the
middle of both guesses, as far as the answers say that the shift is not a small one: what the clip takes differs little
then, and the first guess was the better one.

This is for losses whose gradients depend on the target by the residual alone: there targets can move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copriv.losses.squared import SquaredLoss
from copriv.rules.difference import Difference
from copriv.rules.geometry import PublicGeometry
from copriv.rules.tilted import least_expected
from copriv.vectors import FloatArray

# How far from the first guess to the second answers are read, and by how much of that way one may be wrong.
_BETWEEN, _DOUBT = 0.5, 0.4
# From answers of so many places on, and for shifts (α) beyond this, unless they are as unlikely as that.
_PLACES, _SMALL, _UNLIKELY = 2, 0.005, 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What the clip is taken to have taken.

    Args:
        geometry: of the public rows.
        moved: θ̂ − θ_0; None at first.
        apart: how likely it is that populations differ by more than a little.
    """

    geometry: PublicGeometry
    moved: FloatArray | None = None
    apart: float = 0.0

    def again(self, found: Difference) -> Reading | None:
        """The reading after this one, with what the answers say now; None if there is no better one."""
        geometry, places, apart = self.geometry, len(found.observations), found.exceeds(_SMALL)
        if places < _PLACES or apart < _UNLIKELY or not isinstance(geometry.objective.loss, SquaredLoss):
            return None
        theta = least_expected(geometry, found.intercept, found.hessian, places)
        return Reading(geometry, np.asarray(theta - geometry.start), apart)

    def deviations(self, theta: FloatArray, answers: FloatArray) -> FloatArray:
        """By how much gradients, one a row, differ from the public rows' own at θ."""
        return self.geometry.deviations(theta, answers) + self.apart * _BETWEEN * self._more(theta)

    def doubt(self, theta: FloatArray) -> FloatArray:
        """The variance of what that may be wrong by, in each coordinate."""
        first, second = self.geometry.clipping_doubt(theta), _DOUBT * self._more(theta)
        return np.asarray((1 - self.apart) * first**2 + self.apart * second**2)

    def _more(self, theta: FloatArray) -> FloatArray:
        """By how much more the clip takes by the second guess than by the first."""
        if self.moved is None:
            return np.zeros_like(theta)
        return self.geometry.taken(theta - self.moved) - self.geometry.taken(theta)
