"""Where a table lies: one file, or a folder of files in the order of their names, and whether they have changed since.

A table that is read more than once must be the same every time. So the size and the time of every file are noted when
it is opened, and compared before and after every pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from copriv.errors import BadTable, RecordsChanged
from copriv.records.folder import files_of

_CHUNK = 1 << 20


class Hash(Protocol):
    """What bytes are added to."""

    def update(self, data: bytes, /) -> None:
        """More bytes."""


class Stamp(NamedTuple):
    """How a file was when it was looked at."""

    path: Path
    size: int
    changed: int


@dataclass(frozen=True, slots=True)
class Stamps:
    """How the files of a table were when it was opened."""

    paths: tuple[Path, ...]
    files: tuple[Stamp, ...]

    def require_unchanged(self) -> None:
        """Refuse files that are not as they were.

        Raises:
            RecordsChanged: a file was written to, replaced, removed or added.
        """
        try:
            now = stamp(*self.paths).files
        except (BadTable, OSError):
            now = ()
        if now != self.files:
            changed = sorted({each.path.name for each in {*now} ^ {*self.files}})
            raise RecordsChanged(
                f"the records in {self.places} have changed since they were first read: {', '.join(changed[:3])}",
                remedy="nothing is answered from them; put them back, or start again and say what they are now",
                value=self.places,
            )

    @property
    def places(self) -> str:
        """Where they lie, in words."""
        return ", ".join(map(str, self.paths))


def stamp(*paths: Path) -> Stamps:
    """How the files, or the files of folders, are now."""
    looked = ((file, file.stat()) for path in paths for file in files_of(path))
    return Stamps(paths, tuple(Stamp(file, found.st_size, found.st_mtime_ns) for file, found in looked))


def hash_files(path: Path, into: Hash) -> None:
    """Add the bytes of a file to a hash; of a folder, every file's name, length and bytes."""
    if path.is_file():
        _hash_file(path, into)
        return
    for file in files_of(path):
        into.update(repr((file.name, file.stat().st_size)).encode())
        _hash_file(file, into)


def _hash_file(path: Path, into: Hash) -> None:
    for chunk in _chunks(path):
        into.update(chunk)


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
