"""A high-water mark: how far a ledger has come, kept outside the ledger.

A ledger that was restored from an old copy is in order in itself; only what was not restored with it can tell. The mark
is a file of two slots. Each holds a sequence number, the head of the entry with that number, and a checksum. A new mark
is one write into the older slot, so a write that is torn leaves the newer one. It is raised after the entry is durable
in its ledger, never before: whatever is lost, a mark is never ahead of a ledger that is whole.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from copriv.errors import LedgerFailure

_HEADER = struct.Struct("<8sQ32s")
_MAGIC = b"coprivM1"
_CHECKSUM = 16
_SLOT = _HEADER.size + _CHECKSUM
_EMPTY = bytes(_SLOT)
_SECONDS_BETWEEN_SYNCS = 1.0

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Mark:
    """The newest entry that was seen: its number and its head, 64 hexadecimal digits."""

    sequence: int
    head: str


class Watermark:
    """The mark of one ledger; several processes may raise it at once.

    Args:
        path: the mark's file; made if there is none.
        clock: tells when the file was last forced to the disk.
    """

    def __init__(self, path: Path, clock: Clock = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._synced = clock()
        self._one_at_a_time = threading.Lock()
        with _failures(path):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._closed = False

    def newest(self) -> Mark | None:
        """How far the ledger has come; None if nothing was ever marked."""
        with self._locked(fcntl.LOCK_SH):
            return self._read()[0]

    def raise_to(self, sequence: int, head: str) -> None:
        """Note that an entry is durable in its ledger. What is older than the mark is ignored.

        Raises:
            LedgerFailure: an entry of this number with another head is marked: there are two copies of the ledger.
        """
        with self._locked(fcntl.LOCK_EX):
            mark, older = self._read()
            if mark is not None and mark.sequence == sequence and mark.head != head:
                raise _another(self._path, sequence)
            if mark is None or mark.sequence < sequence:
                os.pwrite(self._file, _pack(Mark(sequence, head)), older * _SLOT)
        if self._clock() - self._synced >= _SECONDS_BETWEEN_SYNCS:
            self.synchronise()

    def check(self, sequence: int, stood_at: Callable[[int, str], bool]) -> None:
        """Refuse a ledger that is not the one that was marked, or no longer.

        Args:
            sequence: the number of the newest entry that was read.
            stood_at: whether the ledger, as it is now, has this head at a given number; asked after the mark is read.

        Raises:
            LedgerFailure: the ledger is behind its mark, or went another way.
        """
        mark = self.newest()
        if mark is None or stood_at(mark.sequence, mark.head):
            return
        if mark.sequence > sequence:
            raise _behind(self._path, sequence, mark.sequence)
        raise _another(self._path, mark.sequence)

    def synchronise(self) -> None:
        """Force the mark to the disk."""
        with _failures(self._path):
            os.fsync(self._file)
        self._synced = self._clock()

    def close(self) -> None:
        """Force the mark to the disk and let go of it."""
        if self._closed:
            return
        self._closed = True
        try:
            self.synchronise()
        finally:
            os.close(self._file)

    def _read(self) -> tuple[Mark | None, int]:
        """The newest mark, and the slot to be written next."""
        slots = [os.pread(self._file, _SLOT, place * _SLOT) for place in (0, 1)]
        marks = [_unpack(slot) for slot in slots]
        if marks == [None, None]:
            if any(slot not in (b"", _EMPTY) for slot in slots):
                raise _damaged(self._path)
            return None, 0
        newest = max((0, 1), key=lambda place: -1 if (mark := marks[place]) is None else mark.sequence)
        return marks[newest], 1 - newest

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        with self._one_at_a_time, _failures(self._path):
            fcntl.flock(self._file, how)
            try:
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)


def _pack(mark: Mark) -> bytes:
    content = _HEADER.pack(_MAGIC, mark.sequence, bytes.fromhex(mark.head))
    return content + hashlib.blake2b(content, digest_size=_CHECKSUM).digest()


def _unpack(slot: bytes) -> Mark | None:
    """The mark in a slot; None if the slot is empty, torn or damaged."""
    content = slot[: _HEADER.size]
    if len(slot) != _SLOT or slot[_HEADER.size :] != hashlib.blake2b(content, digest_size=_CHECKSUM).digest():
        return None
    magic, sequence, head = _HEADER.unpack(content)
    return Mark(sequence, head.hex()) if magic == _MAGIC else None


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, struct.error) as problem:
        raise LedgerFailure(
            f"the high-water mark {path} cannot be used: {problem}",
            remedy="nothing was sent; free or repair the disk, check that the file can be written, start again",
            value=str(path),
        ) from problem


def _behind(path: Path, sequence: int, marked: int) -> LedgerFailure:
    return LedgerFailure(
        f"the ledger was rolled back: it has {sequence} entries, and it had {marked} before",
        remedy="an old copy was restored, or this is a copy and the other has gone on: use the newest; nothing may be "
        f"answered from this one (mark: {path})",
        value=sequence,
    )


def _another(path: Path, sequence: int) -> LedgerFailure:
    return LedgerFailure(
        f"the ledger was rolled back or copied: its entry {sequence} is not the one that was there before",
        remedy=f"answer from one copy only, the one that was used last; ask whoever backs it up (mark: {path})",
        value=sequence,
    )


def _damaged(path: Path) -> LedgerFailure:
    return LedgerFailure(
        f"the high-water mark {path} is damaged",
        remedy="compare the ledger with its backups and the learner's receipts; if it is the newest, remove the mark",
        value=str(path),
    )
