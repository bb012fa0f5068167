"""The folder of a run: made once, never overwritten, for nobody else to read."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from pathlib import Path

from copriv.entropy import token
from copriv.errors import BadInput
from copriv.owner.registry_store import default_folder

PRIVATE = 0o700


def require_new(folder: Path) -> None:
    """Refuse a folder that exists, before any work is done for it."""
    if folder.exists():
        raise BadInput(
            f"{folder} exists, and a run folder is never overwritten",
            remedy="choose another --out, or remove it yourself",
            value=str(folder),
        )


def make(folder: Path) -> None:
    """Create the folder, for nobody but its owner: it holds figures that were measured on records."""
    try:
        if folder.parent == _hidden_runs():
            make_private(folder.parent)
        folder.mkdir(parents=True, mode=PRIVATE)
    except FileExistsError:
        require_new(folder)
    except OSError as problem:
        raise BadInput(
            f"{folder} cannot be created: {problem.strerror}", remedy="choose another --out", value=str(folder)
        ) from problem


def make_private(folder: Path) -> None:
    """A folder for nobody but its owner, made if there is none; those above it are made as folders are by default."""
    folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
    if folder.stat().st_mode & 0o077:
        folder.chmod(PRIVATE)


def shut(folder: Path) -> None:
    """Let nobody else read a run folder, also one that an earlier version has made."""
    folder.chmod(PRIVATE)
    for path in folder.iterdir():
        if path.is_file():
            path.chmod(0o600)


def hidden_folder() -> Path:
    """A new place for a run without a named folder: beside the registry, where its ledgers outlive a session."""
    return _hidden_runs() / f"{time_now()}-{token()[:8]}"


def _hidden_runs() -> Path:
    return default_folder() / "runs"


def time_now() -> str:
    """The time as the name of a folder."""
    return datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")


def ledger_path(place: Path, owner: str) -> Path:
    """Where an owner's ledger lies: named as far as a file name allows, and told from others of a similar name.

    >>> ledger_path(Path("ledgers"), "St. Mary's, 2nd Ave").name
    'st-mary-s-2nd-ave-515f836c.sqlite'
    """
    slug = re.sub(r"[^a-z0-9]+", "-", owner.lower()).strip("-")[:60]
    return place / f"{slug}-{hashlib.sha256(owner.encode()).hexdigest()[:8]}.sqlite"
