"""Exact vectors, wrapped so that a type checker and a careless print both keep them where they belong.

A `PrivateVector` was computed from records and can only be released by a mechanism over secure noise. A
`SimulatedVector` plays the same part in a simulation, where the noise may be seeded. Neither is an array, neither can
be used as the other, and neither shows its numbers.
"""

from __future__ import annotations

from typing import NoReturn, final

import numpy as np

from copriv.errors import BadInput
from copriv.vectors import FloatArray


class _Sealed:
    __slots__ = ("_values",)

    def __init__(self, values: FloatArray) -> None:
        if values.ndim != 1 or values.size == 0 or not bool(np.all(np.isfinite(values))):
            raise BadInput(
                f"an exact answer of shape {values.shape} that is empty or not finite",
                remedy="check that every feature and target is a finite number",
            )
        self._values = values

    def __len__(self) -> int:
        return int(self._values.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<{self._values.size} numbers>)"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} does not leave its process")


@final
class PrivateVector(_Sealed):
    """Computed from records: leaves its owner only through `Mechanism.release`."""

    __slots__ = ()


@final
class SimulatedVector(_Sealed):
    """Computed in a simulation: gets seeded noise through `Mechanism.simulate_noise`."""

    __slots__ = ()


def unseal(vector: PrivateVector | SimulatedVector) -> FloatArray:
    """The numbers themselves, for the mechanisms of this package only."""
    return vector._values  # noqa: SLF001
