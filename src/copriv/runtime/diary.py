"""What happened in a study, kept in the learner's folder for whoever looks on: one JSON line each, with its time.

Meetings are in the checkpoint and progress is a count, so neither is here. What is left is rare. A diary never ends a
run: one that cannot be written is not written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from copriv.runtime.events import Answered, Met, Progress
from copriv.runtime.network_events import Committed, NetworkEvent, Replied, dated_line

DIARY, VITALS = "events.jsonl", "vitals.json"
# A diary that grows beyond this is put aside once, and the one that was put aside before is gone.
MOST_BYTES = 8 << 20
_ELSEWHERE = (Answered, Met, Progress, Replied)


class Diary:
    """Adds what happens to the file of a folder.

    Args:
        folder: the learner's.
        clock: tells the time.
    """

    def __init__(self, folder: Path, clock: Callable[[], str]) -> None:
        self._folder, self._clock = folder, clock

    def note(self, event: NetworkEvent) -> None:
        """Keep an event, if it is not on record elsewhere; of commits only the last count is kept."""
        if isinstance(event, _ELSEWHERE):
            return
        with suppress(OSError):
            if isinstance(event, Committed):
                write_for_onlookers(self._folder / VITALS, msgspec.json.encode(event))
            else:
                self._append(dated_line(event, self._clock()))

    def _append(self, line: bytes) -> None:
        path = self._folder / DIARY
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            path.replace(path.with_suffix(".old"))
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb", buffering=0) as file:
            file.write(line)


def read_diary(folder: Path) -> Iterator[dict[str, Any]]:
    """What a folder has kept, oldest first; a line that is torn is passed over."""
    for path in ((folder / DIARY).with_suffix(".old"), folder / DIARY):
        with suppress(OSError):
            for line in path.read_bytes().splitlines():
                with suppress(msgspec.DecodeError):
                    yield msgspec.json.decode(line, type=dict[str, Any])


def read_vitals(folder: Path) -> Committed | None:
    """How often the learner of a folder has waited for the disk, and how long; None if it was never noted."""
    try:
        return msgspec.json.decode((folder / VITALS).read_bytes(), type=Committed)
    except (OSError, msgspec.DecodeError):
        return None


def write_for_onlookers(path: Path, content: bytes) -> None:
    """A file that only its own user may read, complete or not there; nobody waits for the disk."""
    draft = path.with_name(f".{path.name}.new")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content + b"\n")
    draft.replace(path)
