"""An owner that is paused answers nothing, whoever asks and whatever for, until a person has it go on.

The mark is a file in the owner's folder, so that it outlives a restart. It is looked for before and after every answer
is worked out. While it is there the owner is not connected at all: what others see is that it is away, which depends on
the pause and on nothing else.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

_MARK = "paused.json"


class Pause(msgspec.Struct, frozen=True):
    """Since when an owner is paused, and by whom."""

    at: str = "not noted"
    by: str = "not noted"


def is_paused(folder: Path) -> bool:
    """Whether an owner must not answer. If that cannot be found out, it must not."""
    try:
        (folder / _MARK).lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def read_pause(folder: Path) -> Pause | None:
    """Since when and by whom; None if it is not paused."""
    if not is_paused(folder):
        return None
    try:
        return msgspec.json.decode((folder / _MARK).read_bytes(), type=Pause)
    except (OSError, msgspec.DecodeError):
        return Pause()


def pause(folder: Path, mark: Pause) -> None:
    """Have an owner answer nothing from now on; on the disk when this returns. A pause that stands is left alone."""
    if is_paused(folder):
        return
    draft = folder / f".{_MARK}.new"
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.encode(mark))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / _MARK)
    _synchronise(folder)


def resume(folder: Path) -> None:
    """Have an owner answer again."""
    (folder / _MARK).unlink(missing_ok=True)
    _synchronise(folder)


def _synchronise(folder: Path) -> None:
    """Make the name of the mark, or its absence, survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
