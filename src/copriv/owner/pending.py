"""An owner's folder that is not complete yet: a request that waits for its answer, or a join that was killed.

Whatever a killed join has left may be joined again: its ledger is taken over as it is, everything else is written anew.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from copriv.errors import BadInput

KEY, REQUEST = "pending.key", "pending.request"

_LEDGER = r"ledger\.sqlite"
_LOGS = r"(-wal|-shm|-journal)?"
_FIXED = rf"pending\.key|pending\.request|owner\.key|authority\.pem|study\.toml|{_LEDGER}{_LOGS}"
_DRAFTED = rf"\.(pending\.key|pending\.request|owner\.key|authority\.pem|study\.toml|engagement\.json|{_LEDGER})"
_DRAFT = re.compile(rf"{_DRAFTED}\.\d+\.new{_LOGS}")
_WRITTEN = re.compile(_FIXED)


def unfinished(folder: Path) -> bool:
    """Whether a folder holds no owner yet, and nothing but what a request and a join write before there is one."""
    return folder.is_dir() and all(
        _WRITTEN.fullmatch(path.name) or _DRAFT.fullmatch(path.name) for path in folder.iterdir()
    )


@contextmanager
def joining_alone(folder: Path) -> Iterator[None]:
    """Keep a second join out of a folder; what a killed one has not finished writing is thrown away."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise BadInput(
                f"somebody is joining in {folder} just now", remedy="wait until it is done", value=str(folder)
            ) from problem
        if not unfinished(folder):
            raise taken(folder)
        for path in folder.iterdir():
            if _DRAFT.fullmatch(path.name):
                path.unlink()
        yield
    finally:
        os.close(handle)


def taken(folder: Path) -> BadInput:
    """A folder that holds an owner, or something else."""
    return BadInput(
        f"{folder} exists, and an owner's folder is never overwritten",
        remedy="choose another --folder; one that has joined goes on with `copriv owner approve`",
        value=str(folder),
    )


def forget_pending(folder: Path) -> None:
    """The request was answered, and its key has found its place."""
    for name in (KEY, REQUEST):
        (folder / name).unlink(missing_ok=True)
