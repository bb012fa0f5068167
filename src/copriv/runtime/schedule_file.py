"""A schedule that was recorded, from the file of a run folder."""

from __future__ import annotations

from pathlib import Path

from copriv.errors import BadInput
from copriv.schedule.trace import Trace


def read_trace(path: Path) -> Trace:
    """A recorded schedule."""
    if not path.is_file():
        raise BadInput(f"there is no schedule {path}", remedy="give the schedule.json of a run folder", value=str(path))
    return Trace.from_json(path.read_bytes())
