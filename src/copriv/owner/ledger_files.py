"""The file of a ledger: which one it is, what lies beside it, and how its name is made to last."""

from __future__ import annotations

import os
from pathlib import Path

from copriv.errors import LedgerRefusal


def require_no_remains(path: Path) -> None:
    """A log without its main file belongs to a ledger that was moved away: it would be read into a new one."""
    for suffix in ("-wal", "-journal"):
        if (beside := path.with_name(path.name + suffix)).exists():
            raise LedgerRefusal(
                f"there is {beside}, the log of a ledger that is gone",
                remedy="put that ledger back, or choose another place",
                value=str(beside),
            )


def identity(path: Path) -> tuple[int, int] | None:
    """Which file it is; None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - asked at every answer
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def discard(draft: Path) -> None:
    """Remove a draft, this one or one that a killed process with the same id has left."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        draft.with_name(draft.name + suffix).unlink(missing_ok=True)


def synchronise_directory(directory: Path) -> None:
    """Make the new file's name itself survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
