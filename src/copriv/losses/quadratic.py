"""The squared loss as the quadratic that it is: what it needs of some records, in p² numbers.

The average squared loss of some records is ½θᵀHθ − cᵀθ + m with H = 2XᵀX/n, c = 2Xᵀy/n and m the mean of y².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copriv.losses.sample import Sample
from copriv.vectors import FloatArray


@dataclass(frozen=True, slots=True)
class SufficientStatistics:
    """What the squared loss needs of some records: H, c and m, and how many records there are."""

    curvature: FloatArray
    offset: FloatArray
    power: float
    records: int

    @classmethod
    def of(cls, sample: Sample) -> SufficientStatistics:
        """One pass over the records."""
        columns, n = sample.weighted, sample.records
        curvature, offset = 2 * (columns @ sample.columns.T) / n, 2 * (columns @ sample.targets) / n
        return cls(curvature, offset, sample.mean(sample.targets**2), n)

    @classmethod
    def joint(cls, parts: Sequence[SufficientStatistics], copies: Sequence[int] | None = None) -> SufficientStatistics:
        """The statistics of all records together; `copies` says how often each part occurs."""
        counts = [1] * len(parts) if copies is None else copies
        total = sum(part.records * count for part, count in zip(parts, counts, strict=True))
        shares = [part.records * count / total for part, count in zip(parts, counts, strict=True)]
        return cls(
            np.sum([share * part.curvature for share, part in zip(shares, parts, strict=True)], axis=0),
            np.sum([share * part.offset for share, part in zip(shares, parts, strict=True)], axis=0),
            float(sum(share * part.power for share, part in zip(shares, parts, strict=True))),
            total,
        )

    def fitness(self, theta: FloatArray, regularization: float) -> float:
        """f(θ) = λ‖θ‖² + ½θᵀHθ − cᵀθ + m."""
        quadratic = theta @ self.curvature @ theta / 2 - self.offset @ theta
        return float(regularization * theta @ theta + quadratic + self.power)

    def minimiser(self, regularization: float) -> FloatArray:
        """θ* in a box that does not bind."""
        ridge = 2 * regularization * np.eye(self.offset.size)
        return np.asarray(np.linalg.solve(self.curvature + ridge, self.offset), dtype=np.float64)
