"""The Gaussian mechanism: i.i.d. N(0, s²) on each coordinate is ρ-zCDP with ρ = Δ₂²/2s² for a change of L2 length Δ₂.

Bun, Steinke: Concentrated differential privacy, TCC 2016. Drawn as a discrete Gaussian on a fine grid (Canonne, Kamath,
Steinke 2020), which has the same ρ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from copriv.privacy.exact import PrivateVector, SimulatedVector, unseal
from copriv.privacy.guarantee import Amount, ceil_nano
from copriv.privacy.mechanism import grid_exponent, require_norm, require_scale
from copriv.privacy.opendp_call import invoke
from copriv.privacy.sensitivity import Sensitivity
from copriv.vectors import FloatArray, Norm


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Gaussian noise of standard deviation `scale`."""

    scale: float
    name = "gaussian"
    norm = Norm.L2

    def __post_init__(self) -> None:
        require_scale(self.scale)

    @property
    def noise_std(self) -> float:
        """Standard deviation on each coordinate."""
        return self.scale

    def cost(self, sensitivity: Sensitivity, parameters: int) -> Amount:
        """ρ = Δ₂²/2s², plus what rounding to the grid costs, in nano-ρ rounded up."""
        require_norm(sensitivity, self.norm, self.name)
        return Amount(ceil_nano(_measurement(self.scale, parameters).map(sensitivity.value)), "rho")

    def release(self, exact: PrivateVector) -> FloatArray:
        """Exact answer plus noise drawn by OpenDP."""
        return invoke(_measurement(self.scale, len(exact)), unseal(exact))

    def simulate_noise(self, exact: SimulatedVector, generator: np.random.Generator) -> FloatArray:
        """Exact answer plus noise from a seeded stream."""
        return unseal(exact) + generator.normal(scale=self.scale, size=len(exact))


@lru_cache(maxsize=4096)
def _measurement(scale: float, parameters: int) -> Any:  # noqa: ANN401
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    domain = vector_domain(atom_domain(T=float, nan=False), size=parameters)
    return make_gaussian(domain, l2_distance(T=float), scale, k=grid_exponent(scale))
