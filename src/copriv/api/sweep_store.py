"""The folder of a sweep: each finished training is one small file, written whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from copriv.errors import BadInput
from copriv.runtime.local_folder import make_private

_OURS = re.compile(r"cells|runs|sweep[._].*")

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Store:
    """What a folder has of finished trainings; a folder of None keeps nothing."""

    folder: Path | None

    def check(self) -> None:
        """Whether the folder is one, or can be made; nothing is written.

        Raises:
            BadInput: it is something else.
        """
        if self.folder is None:
            return
        there = next(path for path in (self.folder.absolute(), *self.folder.absolute().parents) if path.exists())
        if not there.is_dir() or not os.access(there, os.W_OK):
            raise BadInput(
                f"{self.folder} cannot be a folder for a sweep", remedy="choose another one", value=str(self.folder)
            )

    def make(self, part: str) -> None:
        """A folder in the folder, for nobody else to read; and the folder itself, unless it holds other things too."""
        if self.folder is None:
            return
        if not self.folder.exists() or all(_OURS.fullmatch(path.name) for path in self.folder.iterdir()):
            with suppress(PermissionError):  # somebody else's folder; what is written into it is private all the same
                make_private(self.folder)
        make_private(self.folder / part)

    def read(self, keys: Iterable[str]) -> dict[str, Row]:
        """The rows that are there already."""
        if self.folder is None:
            return {}
        paths = {key: self._path(self.folder, key) for key in keys}
        return {key: msgspec.json.decode(path.read_bytes()) for key, path in paths.items() if path.is_file()}

    def keep(self, key: str, row: Row) -> None:
        """Write a row, on disk before this returns; for nobody else to read: figures are measured on records."""
        if self.folder is None:
            return
        self.make("cells")
        path = self._path(self.folder, key)
        draft = path.with_name(f"{path.name}.{os.getpid()}.new")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(row) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)

    @staticmethod
    def _path(folder: Path, key: str) -> Path:
        return folder / "cells" / f"{key}.json"
