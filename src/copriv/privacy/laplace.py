"""The Laplace mechanism: i.i.d. Laplace(b) on each coordinate is (Δ₁/b)-DP for a change of L1 length Δ₁.

Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity in private data analysis, TCC 2006.
"""

from __future__ import annotations

import math
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
class Laplace:
    """Laplace noise of scale b: density exp(−|w|/b)/2b.

    >>> Laplace(2.0).noise_std
    2.8284271247461903
    """

    scale: float
    name = "laplace"
    norm = Norm.L1

    def __post_init__(self) -> None:
        require_scale(self.scale)

    @property
    def noise_std(self) -> float:
        """Standard deviation on each coordinate: b√2."""
        return math.sqrt(2) * self.scale

    def cost(self, sensitivity: Sensitivity, parameters: int) -> Amount:
        """ε = Δ₁/b, plus what rounding to the grid costs, in nano-ε rounded up."""
        require_norm(sensitivity, self.norm, self.name)
        return Amount(ceil_nano(_measurement(self.scale, parameters).map(sensitivity.value)), "epsilon")

    def release(self, exact: PrivateVector) -> FloatArray:
        """Exact answer plus noise drawn by OpenDP."""
        return invoke(_measurement(self.scale, len(exact)), unseal(exact))

    def simulate_noise(self, exact: SimulatedVector, generator: np.random.Generator) -> FloatArray:
        """Exact answer plus noise from a seeded stream."""
        return unseal(exact) + generator.laplace(scale=self.scale, size=len(exact))


@lru_cache(maxsize=4096)
def _measurement(scale: float, parameters: int) -> Any:  # noqa: ANN401
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    domain = vector_domain(atom_domain(T=float, nan=False), size=parameters)
    return make_laplace(domain, l1_distance(T=float), scale, k=grid_exponent(scale))
