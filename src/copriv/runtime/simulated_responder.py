"""Stand-ins for records in a simulation: the same exact answers, with seeded noise or with none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from copriv.losses.sample import Sample
from copriv.owner.responder import records_for
from copriv.privacy.exact import SimulatedVector
from copriv.privacy.levels import simulate_levels
from copriv.protocol.commitment import Commitment
from copriv.protocol.messages import Kind
from copriv.protocol.query_budget import QueryBudget
from copriv.vectors import FloatArray


@final
class SimulatedResponder:
    """Seeded noise of the promised scale: reproducible, and for that reason no protection."""

    def __init__(
        self,
        sample: Sample,
        commitment: Commitment,
        generator: np.random.Generator,
        held_back: Sample | None = None,
    ) -> None:
        self._sample = sample
        self._held_back = held_back
        self._promise = commitment
        self._generator = generator

    def respond(self, theta: FloatArray, kind: Kind = "gradient", share: int = 0) -> FloatArray:
        """The exact answer with seeded noise."""
        part = self._promise.part(kind, share)
        return part.calibration.mechanism.simulate_noise(
            SimulatedVector(part.exact(records_for(kind, self._sample, self._held_back), theta)), self._generator
        )

    def respond_levels(self, theta: FloatArray, levels: Sequence[QueryBudget]) -> Sequence[FloatArray]:
        """The exact answer with seeded noise of every level, the finest first."""
        scales = [level.calibration.mechanism.scale for level in levels]
        return tuple(simulate_levels(levels[0].exact(self._sample, theta), scales, self._generator))


@final
class SilentResponder:
    """No noise at all, to tell what the algorithm does from what the noise does."""

    def __init__(self, sample: Sample, commitment: Commitment, held_back: Sample | None = None) -> None:
        self._sample = sample
        self._held_back = held_back
        self._promise = commitment

    def respond(self, theta: FloatArray, kind: Kind = "gradient", share: int = 0) -> FloatArray:
        """The exact answer itself."""
        return self._promise.part(kind, share).exact(records_for(kind, self._sample, self._held_back), theta)

    def respond_levels(self, theta: FloatArray, levels: Sequence[QueryBudget]) -> Sequence[FloatArray]:
        """The exact answer itself, at every level."""
        return (levels[0].exact(self._sample, theta),) * len(levels)
