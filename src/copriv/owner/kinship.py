"""Whether a file shares records with a known one, and how much of either."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from copriv.owner.sketch import Recognised, Sketch
from copriv.owner.split import Split

Relation = Literal["a version of", "a part of", "an extension of", "an overlap with"]

_FEWEST_SHARED = 3
# Ids of two owners that both number their records meet by chance; whole rows do not.
_SMALLEST_SHARE = {"rows": 0.01, "ids": 0.1}
_MOST = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class KnownFile:
    """What a registry keeps of a file; `dataset` is None if it was declared public as a whole."""

    fingerprint: bytes
    dataset: str | None
    path: Path
    rows: int
    sketches: tuple[Sketch, ...]
    split: Split | None


@dataclass(frozen=True, slots=True, eq=False)
class Kin:
    """A known file that shares records with the one at hand.

    Args:
        file: the known file.
        by: what is shared: `rows`, or the ids of a column.
        of_known: the estimated share of the known file that is in this one.
        of_file: the estimated share of this file that is in the known one.
    """

    file: KnownFile
    by: str
    of_known: float
    of_file: float

    @property
    def relation(self) -> Relation:
        """In a word, what the file at hand looks like."""
        if self.of_known >= _MOST:
            return "a version of" if self.of_file >= _MOST else "an extension of"
        return "a part of" if self.of_file >= _MOST else "an overlap with"

    def describe(self) -> str:
        """What is shared, in a sentence."""
        return (
            f"it looks like {self.relation} {self.file.path}: about {self.of_file:.0%} of its {self.by} are there, "
            f"and about {self.of_known:.0%} of those are here"
        )


def find_kin(recognised: Recognised, known: Iterable[KnownFile]) -> tuple[Kin, ...]:
    """The known files that a file shares records with; the nearest first."""
    found = [kin for file in known if (kin := _nearest(recognised, file)) is not None]
    return tuple(sorted(found, key=lambda kin: -max(kin.of_known, kin.of_file)))


def _nearest(recognised: Recognised, file: KnownFile) -> Kin | None:
    found = [kin for sketch in file.sketches if (kin := _compare(recognised, file, sketch)) is not None]
    return max(found, key=lambda kin: max(kin.of_known, kin.of_file), default=None)


def _compare(recognised: Recognised, file: KnownFile, known: Sketch) -> Kin | None:
    mine = recognised.sketch(known.kind, known.columns)
    if mine is None or mine.distinct == 0 or known.hashes.size == 0:
        return None
    shared, comparable = mine.shared_with(known)[0].size, int(np.sum(known.hashes <= mine.reach))
    if comparable == 0:
        return None
    of_known = shared / comparable
    of_file = min(1.0, of_known * known.distinct / mine.distinct)
    if shared < min(_FEWEST_SHARED, comparable) or max(of_known, of_file) < _SMALLEST_SHARE[known.kind]:
        return None
    by = "rows" if known.kind == "rows" else f"values of {known.columns[0]!r}"
    return Kin(file, by, of_known, of_file)
