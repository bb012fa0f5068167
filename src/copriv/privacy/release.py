"""The record of a release: what left an owner, and a fold over such records is the account.

>>> one = Release("q1", "laplace", 2.0, 0.01, "L1", 5_000_000, "epsilon")
>>> total([one, one])
Amount(nano=10000000, measure='epsilon')
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from copriv.errors import BadInput
from copriv.privacy.calibration import Calibration
from copriv.privacy.guarantee import Amount, Measure
from copriv.privacy.sensitivity import Sensitivity


class Release(msgspec.Struct, frozen=True, array_like=True):
    """One noisy answer: by which mechanism it left, how far one record could have moved it, what it cost."""

    query: Annotated[str, Meta(max_length=200)]
    mechanism: Annotated[str, Meta(max_length=40)]
    scale: Annotated[float, Meta(gt=0)]
    sensitivity: Annotated[float, Meta(gt=0)]
    norm: Annotated[str, Meta(max_length=40)]
    nano: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    measure: Measure

    @property
    def charge(self) -> Amount:
        """What the release cost."""
        return Amount(self.nano, self.measure)


def describe(query: str, calibration: Calibration, sensitivity: Sensitivity) -> Release:
    """The record of one answer under a calibration."""
    return Release(
        query=query,
        mechanism=calibration.mechanism.name,
        scale=calibration.mechanism.scale,
        sensitivity=sensitivity.value,
        norm=sensitivity.norm.name,
        nano=calibration.charge.nano,
        measure=calibration.charge.measure,
    )


def total(releases: Iterable[Release]) -> Amount:
    """What releases cost together: whole numbers, added up; one currency at a time."""
    found = list(releases)
    measures = {release.measure for release in found}
    if len(measures) != 1:
        raise BadInput(
            f"an account in {sorted(measures) or 'no'} currencies",
            remedy="add up releases of one mechanism at a time",
            value=sorted(measures),
        )
    return Amount(sum(release.nano for release in found), measures.pop())
