"""A run folder: made once, never overwritten."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from copriv.errors import BadInput
from copriv.report.figures import Figures, Run
from copriv.report.model_file import ModelFile, Promised, write_model
from copriv.report.picture import draw
from copriv.report.statement import state, write_statement
from copriv.vectors import FloatArray

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
        folder.mkdir(parents=True, mode=PRIVATE)
    except FileExistsError:
        require_new(folder)
    except OSError as problem:
        raise BadInput(
            f"{folder} cannot be created: {problem.strerror}", remedy="choose another --out", value=str(folder)
        ) from problem


def ledger_path(place: Path, owner: str) -> Path:
    """Where an owner's ledger lies: named as far as a file name allows, and told from others of a similar name.

    >>> ledger_path(Path("ledgers"), "St. Mary's, 2nd Ave").name
    'st-mary-s-2nd-ave-515f836c.sqlite'
    """
    slug = re.sub(r"[^a-z0-9]+", "-", owner.lower()).strip("-")[:60]
    return place / f"{slug}-{hashlib.sha256(owner.encode()).hexdigest()[:8]}.sqlite"


def write(folder: Path, run: Run, figures: Figures, theta: FloatArray) -> None:
    """The model, the privacy statement, the schedule, the picture and, last, the figures."""
    model = ModelFile(
        tuple(theta.tolist()), run.study.terms, run.intake.dictionary, tuple(_promised(figures)), run.noise
    )
    write_model(model, folder / "model.json")
    (folder / "schedule.json").write_bytes(run.study.trace.to_json() + b"\n")
    write_statement(state(run, datetime.now(UTC).isoformat(timespec="seconds")), folder)
    draw(figures, folder)
    (folder / "run.json").write_bytes(msgspec.json.format(msgspec.json.encode(figures)) + b"\n")
    shut(folder)


def shut(folder: Path) -> None:
    """Let nobody else read a run folder, also one that an earlier version has made."""
    folder.chmod(PRIVATE)
    for path in folder.iterdir():
        if path.is_file():
            path.chmod(0o600)


def _promised(figures: Figures) -> Sequence[Promised]:
    return [Promised(entry.owner, entry.promised, entry.delta) for entry in figures.spent]
