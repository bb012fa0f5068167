"""A request that waits for the learner's answer: two files in an owner's folder, one of them the owner's new key."""

from __future__ import annotations

from pathlib import Path

KEY, REQUEST = "pending.key", "pending.request"


def only_pending(folder: Path) -> bool:
    """Whether a folder holds a request that waits for its answer, and nothing else."""
    return folder.is_dir() and {path.name for path in folder.iterdir()} == {KEY, REQUEST}


def forget_pending(folder: Path) -> None:
    """The request was answered, and its key has found its place."""
    for name in (KEY, REQUEST):
        (folder / name).unlink(missing_ok=True)
