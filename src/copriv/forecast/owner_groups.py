"""Owners grouped by kind: those of one size, availability and noise cannot be told apart by a forecast.

What holds for one owner of a kind holds for all of them, so moments are kept for kinds and not for owners: a thousand
equal owners cost what one costs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copriv.errors import BadInput
from copriv.vectors import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class OwnerGroups:
    """One entry a kind.

    Args:
        counts: how many owners are of that kind.
        availability: γ, the probability of meeting one given owner of that kind.
        shares: n_i/n of one such owner.
        deviations: of the noise on each coordinate of one answer.
        differences: 1/n_i + κ: the variance of such an owner's gradient in units of one record's; 0 for owners alike.
    """

    counts: FloatArray
    availability: FloatArray
    shares: FloatArray
    deviations: FloatArray
    differences: FloatArray

    @classmethod
    def of(
        cls,
        records: Sequence[int],
        availability: Sequence[float],
        deviations: Sequence[float],
        differences: Sequence[float] | None = None,
    ) -> OwnerGroups:
        """Group owners; without `differences` all owners' records are alike.

        >>> OwnerGroups.of([10, 10, 20], [0.25, 0.25, 0.5], [1.0, 1.0, 1.0]).counts.tolist()
        [2.0, 1.0]
        """
        apart = [0.0] * len(records) if differences is None else differences
        require_owners(records, availability, deviations, apart)
        total = sum(records)
        shares = [size / total for size in records]
        found = Counter(zip(availability, shares, deviations, apart, strict=True))
        columns = np.asarray(sorted(found), dtype=np.float64).T
        counts = np.asarray([found[kind] for kind in sorted(found)], dtype=np.float64)
        return cls(counts, *(np.ascontiguousarray(column) for column in columns))

    @property
    def owners(self) -> int:
        """How many owners there are (N)."""
        return round(float(np.sum(self.counts)))


def require_owners(
    records: Sequence[int], availability: Sequence[float], deviations: Sequence[float], differences: Sequence[float]
) -> None:
    """Refuse owners that a forecast cannot be made for."""
    lengths = {len(records), len(availability), len(deviations), len(differences)}
    if len(lengths) != 1 or not records:
        raise BadInput(
            f"{len(records)} sizes, {len(availability)} availabilities and {len(deviations)} deviations of noise",
            remedy="give one of each for every owner, and at least one owner",
            value=len(records),
        )
    for size in records:
        if size < 1:
            raise BadInput(f"an owner with {size} records", remedy="leave empty owners out", value=size)
    for deviation in (*deviations, *differences):
        if not (math.isfinite(deviation) and deviation >= 0):
            raise BadInput(f"a deviation of {deviation}", remedy="give finite numbers from 0", value=deviation)
    if not math.isclose(math.fsum(availability), 1.0, rel_tol=1e-9) or min(availability) <= 0:
        raise BadInput(
            f"availabilities that sum to {math.fsum(availability):g}",
            remedy="give probabilities above 0 that sum to 1",
            value=math.fsum(availability),
        )
