"""Which certificates an owner may hold: the one that it has confirmed, and the newest that it was offered.

A reply can be lost, so what was signed is not yet what is used. No certificate is a secret; the keys are elsewhere.
"""

from __future__ import annotations

from pathlib import Path

from copriv.transport.certificates import split
from copriv.transport.credentials import replace_file


class Issued:
    """A record for each owner, in a file of its own: whatever happens to one leaves the others alone.

    Args:
        folder: the learner's.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "issued"

    def held(self, owner: str) -> tuple[str, ...]:
        """What an owner may hold, the confirmed one first; nothing if it was never recorded."""
        path = self._path(owner)
        return split(path.read_text(encoding="ascii")) if path.is_file() else ()

    def offer(self, owner: str, certificate: str) -> None:
        """A certificate was signed, and may or may not arrive."""
        self._write(owner, (*self.held(owner)[:1], certificate))

    def confirm(self, owner: str, certificate: str) -> None:
        """An owner uses this one, and no other."""
        if self.held(owner) != (certificate,):
            self._write(owner, (certificate,))

    def _write(self, owner: str, certificates: tuple[str, ...]) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        replace_file(self._path(owner), "".join(certificates).encode())

    def _path(self, owner: str) -> Path:
        return self._folder / f"{owner}.pem"
