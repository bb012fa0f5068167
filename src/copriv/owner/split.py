"""Which rows of a file are public: rows once declared public stay public, rows once private stay private.

For the very same file this is exact, row by row. For other files that share rows with it, it is judged by the rows that
both sketches hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from copriv.errors import BadInput
from copriv.owner.sketch import Sketch
from copriv.vectors import IntArray

if TYPE_CHECKING:
    from copriv.owner.kinship import KnownFile

Mask = npt.NDArray[np.bool_]

_FEWEST = 3
_SMALLEST_SHARE = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The public and the private rows of one file.

    Args:
        public: for each row, whether it is declared public.
        private: for each row, whether it is used as private.
        options: the options of `copriv train` that repeat this split.
        seed: of the shuffle, if the rows were shuffled.
    """

    public: Mask
    private: Mask
    options: str
    seed: int | None = None


def split_rows(rows: int, public: IntArray, options: str, seed: int | None = None) -> Split:
    """A split of a file: these rows are public, and all others are private."""
    chosen = np.zeros(rows, dtype=np.bool_)
    chosen[public] = True
    return Split(chosen, ~chosen, options, seed)


def all_public(rows: int) -> Split:
    """A file that was declared public as a whole."""
    return Split(np.ones(rows, dtype=np.bool_), np.zeros(rows, dtype=np.bool_), "--public FILE")


def require_same_split(known: Split, wanted: Split) -> None:
    """Refuse to take private rows of the very same file as public, or public ones as private."""
    for words, turned in (
        ("private rows as public", int(np.sum(known.private & wanted.public))),
        ("public rows as private", int(np.sum(known.public & wanted.private))),
    ):
        if turned:
            raise BadInput(
                f"this would take {turned:,} {words}, and rows stay what they were declared first",
                remedy=f"divide the file as before: {known.options}; or put the private rows into a file of their own",
                value=turned,
            )


def require_no_conflict(sketches: Iterable[Sketch], wanted: Split, known: KnownFile) -> None:
    """Refuse to take rows that a file shares with a known one for something else than they are there."""
    declared = all_public(known.rows) if known.dataset is None else known.split
    if declared is None:
        return
    for mine in sketches:
        theirs = next((each for each in known.sketches if _same_columns(each, mine)), None)
        if theirs is not None and mine.kind == "rows":
            _require_agreement(mine, theirs, wanted, declared, known)


def _same_columns(one: Sketch, other: Sketch) -> bool:
    return (one.kind, one.columns) == (other.kind, other.columns)


def _require_agreement(mine: Sketch, theirs: Sketch, wanted: Split, declared: Split, known: KnownFile) -> None:
    here, there = mine.shared_with(theirs)
    places, known_places = mine.places[here], theirs.places[there]
    for words, turned in (
        ("private there and would be public here", wanted.public[places] & declared.private[known_places]),
        ("public there and would be private here", wanted.private[places] & declared.public[known_places]),
    ):
        count = int(np.sum(turned))
        if count >= min(_FEWEST, here.size) and count >= max(1.0, _SMALLEST_SHARE * here.size):
            raise BadInput(
                f"rows of {known.path} are {words} (about {count / here.size:.0%} of those that both files have)",
                remedy="leave them out, or take them as before (as public: put them into a file for --public); "
                "--unrelated if these are other people's records",
                value=str(known.path),
            )


def pack(mask: Mask) -> bytes:
    """A mask as it is kept: one bit a row."""
    return np.packbits(mask).tobytes()


def bits(packed: bytes, rows: int) -> Mask:
    """A mask that was kept."""
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=rows).astype(np.bool_)
