"""Server-sent events: that something has changed, and not what; whoever looks on asks for the page again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeAlias

from starlette.responses import StreamingResponse

Mark: TypeAlias = tuple[tuple[int, int], ...]

_SECONDS_BETWEEN_LOOKS = 0.5
_LOOKS_BETWEEN_CHANGES = 4
_LOOKS_BETWEEN_SIGNS = 30
SECONDS_TO_SEE_THE_END = 3.0


class Ending(threading.Event):
    """Set when what is watched has ended; it knows how many watch."""

    def __init__(self) -> None:
        super().__init__()
        self.watchers = 0


def mark_of(*paths: Path) -> Mark:
    """What changes when one of the files does: size and time of each."""
    found = []
    for path in paths:
        try:
            stat = path.stat()
            found.append((stat.st_mtime_ns, stat.st_size))
        except OSError:
            found.append((0, 0))
    return tuple(found)


def stream(look: Callable[[], Mark], ending: Ending) -> StreamingResponse:
    """Tells at most every two seconds that something has changed, and at last that it is over."""
    headers = {"x-accel-buffering": "no"}
    return StreamingResponse(_changes(look, ending), media_type="text/event-stream", headers=headers)


async def _changes(look: Callable[[], Mark], ending: Ending) -> AsyncIterator[str]:
    seen, since_change, number = look(), _LOOKS_BETWEEN_CHANGES, 0
    ending.watchers += 1
    try:
        yield "retry: 2000\n\n"
        while not ending.is_set():
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            number, since_change = number + 1, since_change + 1
            mark = look()
            if mark != seen and since_change >= _LOOKS_BETWEEN_CHANGES:
                seen, since_change = mark, 0
                yield f"event: change\ndata: {number}\n\n"
            elif number % _LOOKS_BETWEEN_SIGNS == 0:
                yield ": still here\n\n"
        yield "event: over\ndata: 0\n\n"
        await asyncio.sleep(SECONDS_TO_SEE_THE_END)  # whoever watches hangs up when it has seen the end
    finally:
        ending.watchers -= 1
