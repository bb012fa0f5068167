"""Which records an owner keeps back from training, to validate models on.

A record's place in its table decides, by a keyed hash of the place and nothing else: u(key, place) < share. Replacing a
record keeps its place, so that it moves no record from one side to the other, and both numbers of records depend on n
and the key alone. Records that are added at the end move none of the earlier ones. Of records that arrived in blocks
each block has its own places, so that whatever else a study reads, a record is on the same side. The key is drawn once
and stays with the owner, so that nobody who writes the table can choose who is validated on.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from copriv.errors import BadInput
from copriv.losses.sample import Sample

_PLACES = 1024
_BYTES = 8
MOST = 0.9
_ONE_TABLE: Mapping[str, int] = MappingProxyType({})


class Divided(NamedTuple):
    """An owner's records: those that train, and those that validate."""

    training: Sample
    held_back: Sample


def held_back(records: int, share: float, key: bytes) -> npt.NDArray[np.bool_]:
    """Which of so many places are kept back.

    >>> few, many = held_back(900, 0.25, b"secret"), held_back(2000, 0.25, b"secret")
    >>> int(many.sum()), bool((many[:900] == few).all())
    (485, True)
    """
    if not 0 < share <= MOST:
        raise BadInput(
            f"a share of {share:g} of the records is kept back", remedy=f"give one above 0, up to {MOST}", value=share
        )
    pages = [_page(key, page) for page in range(math.ceil(max(records, 1) / _PLACES))]
    return np.concatenate(pages)[:records] < np.uint64(share * 2**64)


def divide(sample: Sample, share: float, key: bytes, blocks: Mapping[str, int] = _ONE_TABLE) -> Divided:
    """An owner's records, divided.

    Args:
        sample: the records.
        share: of them that is kept back.
        key: that decides.
        blocks: how many records arrived in each, in their order, if they arrived in blocks.

    Raises:
        BadInput: there are so few that one side would be empty; that depends on their number and the key alone.
    """
    parts = blocks or {"": sample.records}
    kept = np.concatenate([held_back(records, share, key + name.encode()) for name, records in parts.items()])
    if not kept.any() or kept.all():
        raise BadInput(
            f"{sample.records} records, of which {int(kept.sum())} would be kept back",
            remedy="validate with more records, or without this owner",
            value=sample.records,
        )
    return Divided(sample.take(np.flatnonzero(~kept)), sample.take(np.flatnonzero(kept)))


def _page(key: bytes, page: int) -> npt.NDArray[np.uint64]:
    """Evenly spread numbers for the places of one page."""
    text = b"copriv held back" + len(key).to_bytes(4, "big") + key + page.to_bytes(8, "big")
    return np.frombuffer(hashlib.shake_256(text).digest(_PLACES * _BYTES), dtype=">u8").astype(np.uint64)
