"""What a ledger keeps of an answer: what left, and, where it can be made finer, what may leave once it is paid for.

Finer levels are sealed: `read_stored`, which everybody uses who shows what left, does not know them, and they show
their numbers to nobody by accident. A random word lies with them, so that no hash of a stored answer tells of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np

from copriv.entropy import token
from copriv.privacy.release import Release
from copriv.protocol.query_budget import QueryBudget
from copriv.vectors import FloatArray

_DOUBLES = "<f8"


class Sealed(msgspec.Struct, frozen=True, array_like=True):
    """An answer at a finer level than was paid for: it stays where it is."""

    share: int
    scale: float
    numbers: bytes

    def __repr__(self) -> str:
        return f"Sealed({self.share} %)"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """What a pretty printer shows: as little as `repr`."""
        return [("share", self.share)]


class Payload(msgspec.Struct, frozen=True, array_like=True):
    """What is stored of an answer; with the id, the name and the receipt it is the answer again, byte for byte.

    Kind, share and the level before say what was asked; they are not part of the answer, and older ledgers do not have
    them. `finer` has the levels above the one that left, each with its scale; `blind` is random. `paid` is what this
    question was charged in all for what left, in billionths; 0 where nothing is sealed.
    """

    values: tuple[float, ...]
    release: Release
    kind: str = ""
    share: int = 0
    before: int = 0
    finer: tuple[Sealed, ...] = ()
    blind: str = ""
    paid: int = 0

    @classmethod
    def of(
        cls,
        values: FloatArray,
        part: QueryBudget,
        release: Release,
        finer: Iterable[tuple[QueryBudget, FloatArray]] = (),
    ) -> Payload:
        """An answer that is drawn anew, with the levels above it."""
        sealed = tuple(
            Sealed(level.share, level.calibration.mechanism.scale, numbers.astype(_DOUBLES).tobytes())
            for level, numbers in finer
        )
        return _seal(cls(tuple(values.tolist()), release, part.kind, part.share), sealed, release.nano)

    def leads_to(self, part: QueryBudget, coarse: QueryBudget) -> bool:
        """Whether this is an answer at the coarse level, and has the level that is asked for sealed in it.

        An owner may have changed its promise since; then the stack has other noise than what would be paid for.
        """
        scale = part.calibration.mechanism.scale
        return (
            self.paid >= coarse.calibration.charge.nano
            and self.release.scale == coarse.calibration.mechanism.scale
            and self.release.sensitivity == coarse.sensitivity.value == part.sensitivity.value
            and any((sealed.share, sealed.scale) == (part.level, scale) for sealed in self.finer)
        )

    def refined(self, part: QueryBudget, release: Release) -> Payload:
        """The answer at a finer level, with the levels above that one."""
        found = next(sealed for sealed in self.finer if sealed.share == part.level)
        rest = tuple(sealed for sealed in self.finer if sealed.share > part.level)
        values = tuple(np.frombuffer(found.numbers, dtype=_DOUBLES).tolist())
        told = Payload(values, release, part.kind, part.share, part.before)
        return _seal(told, rest, self.paid + release.nano)


def _seal(told: Payload, finer: tuple[Sealed, ...], paid: int) -> Payload:
    return msgspec.structs.replace(told, finer=finer, blind=token(), paid=paid) if finer else told


class Left(NamedTuple):
    """What left with an answer: its numbers, the record of their release, and what was asked (as far as was kept)."""

    values: tuple[float, ...]
    release: Release
    kind: str
    share: int
    before: int


def pack(payload: Payload) -> bytes:
    """What is stored."""
    return msgspec.msgpack.encode(payload)


def unpack(data: bytes) -> Payload:
    """What was stored; for whoever answers."""
    return msgspec.msgpack.decode(data, type=Payload)


def read_stored(payload: bytes) -> Left | None:
    """What left with an answer, and nothing finer; None if this is no answer of an owner."""
    try:
        stored = unpack(payload)
    except msgspec.DecodeError:
        return None
    return Left(stored.values, stored.release, stored.kind, stored.share, stored.before)
