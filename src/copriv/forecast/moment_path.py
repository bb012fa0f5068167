"""What moments are kept of a training, direction by direction, and what follows from them for ψ.

With x = θ − θ* in the eigenbasis of H, ψ = ½ Σ_j (h_j + 2λ) x_j²/f*, so E ψ needs E x_j² and nothing else: it is exact.
The variance of ψ would need fourth moments. It is given for x Gaussian with independent directions,

    Var ψ ≈ Σ_j (h_j + 2λ)² (½ S_j² + μ_j² S_j)/f*²,    μ = E x, S = Var x,

which is what many small steps with independent noise tend to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copriv.forecast.spectrum import Spectrum
from copriv.vectors import CORES, FloatArray

# Below this many updates a core takes longer to wake than to do its part.
_UPDATES_PER_CORE = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class MomentPath:
    """Moments of the model after every meeting (meetings × directions).

    Args:
        mean: E x_j.
        second: E x_j².
        wander: the largest variance that any one of the rule's models reaches in each direction, by kind of owner.
    """

    mean: FloatArray
    second: FloatArray
    wander: FloatArray

    def expected(self, landscape: Spectrum) -> FloatArray:
        """E ψ after every meeting."""
        return np.asarray(self.second @ landscape.stiffness / (2 * landscape.best))

    def end(self, landscape: Spectrum) -> float:
        """E ψ after the last meeting."""
        return float(self.second[-1] @ landscape.stiffness / (2 * landscape.best))

    def deviation(self, landscape: Spectrum) -> FloatArray:
        """Standard deviation of ψ between trainings, for a Gaussian model."""
        variance = np.maximum(self.second - self.mean**2, 0.0)
        terms = variance**2 / 2 + self.mean**2 * variance
        return np.asarray(np.sqrt(terms @ landscape.stiffness**2) / landscape.best)

    def distance(self) -> FloatArray:
        """E‖θ − θ*‖² after every meeting."""
        return np.asarray(np.sum(self.second, axis=1))

    def reach(self, landscape: Spectrum, deviations: float = 3.0) -> float:
        """The largest coordinate that a model is likely to have on the way: its mean and so many deviations."""
        widest = np.max(self.wander, axis=1)
        spread = np.sqrt(np.maximum(landscape.basis**2 @ widest, 0.0))
        return float(np.max(np.abs(landscape.basis @ landscape.optimum) + deviations * spread))


def worth_waking(updates: int) -> int:
    """How many cores so many updates of moments are worth."""
    return min(CORES, 1 + updates // _UPDATES_PER_CORE)
