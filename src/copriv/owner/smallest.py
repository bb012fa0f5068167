"""The smallest hashes of a table that is too long to hold all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from copriv.vectors import IntArray

Hashes = npt.NDArray[np.uint64]

_RANGE = 2.0**64


@dataclass(slots=True)
class Smallest:
    """Distinct hashes in rising order, not more than so many, each with the first row that has it.

    Hashes come in the order of their rows. What is above the largest that is kept is dropped at once, and the rest is
    sorted now and then, so that memory is bounded by `most` and not by the table.
    """

    most: int
    hashes: Hashes = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    places: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    cut: bool = False
    _pending: list[tuple[Hashes, IntArray]] = field(default_factory=list)
    _waiting: int = 0

    def add(self, hashes: Hashes, first: int) -> None:
        """The hashes of the next rows, of which the first has this place."""
        low = np.flatnonzero(hashes <= self.hashes[-1]) if self.cut else np.arange(hashes.size)
        self._pending.append((hashes[low], low + first))
        self._waiting += low.size
        if self._waiting > self.most:
            self.settle()

    def settle(self) -> None:
        """Sort in what was added last."""
        hashes, places = zip((self.hashes, self.places), *self._pending, strict=True)
        found, first = np.unique(np.concatenate(hashes), return_index=True)
        self.cut = self.cut or found.size > self.most
        self.hashes, self.places = found[: self.most], np.concatenate(places)[first[: self.most]]
        self._pending, self._waiting = [], 0

    def distinct(self) -> int:
        """How many distinct hashes there were: counted, or estimated by how near the smallest lie to 0."""
        self.settle()
        if not self.cut:
            return int(self.hashes.size)
        return round((self.most - 1) * (_RANGE / float(self.hashes[-1])))
