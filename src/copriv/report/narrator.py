"""Events of a run on the terminal, with the time of day, and in a log, one JSON line each."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from copriv.errors import BadInput
from copriv.report.event_words import replied_words, words_of
from copriv.runtime import events
from copriv.runtime.network_events import NetworkEvent, Replied, dated_line

_SECONDS_BETWEEN_REPLIES = 1.0


class Narrator:
    """Prints what people should read, moves bars, and writes everything to a log if there is one."""

    def __init__(self, console: Console, bars: Progress, log: BinaryIO | None) -> None:
        self.console, self._bars, self._log = console, bars, log
        self._tasks: dict[str, TaskID] = {}
        self._stage = ""
        self._one_at_a_time = threading.Lock()
        self._last_reply = -_SECONDS_BETWEEN_REPLIES

    def __call__(self, event: NetworkEvent, /) -> None:
        """This has happened."""
        with self._one_at_a_time:
            if isinstance(event, events.Progress):
                self._move(event.stage, event.done, event.total)
                return
            self._write(event)
            if isinstance(event, Replied):
                self._count(replied_words(event))
            elif words := words_of(event):
                self._say(words)

    def aside(self, ask: Callable[[str], bool] | None) -> Callable[[str], bool] | None:
        """The same question, put to a person while no bar moves."""
        if ask is None:
            return None

        def put(question: str) -> bool:
            self._bars.stop()
            try:
                return ask(question)
            finally:
                self._bars.start()

        return put

    def _write(self, event: NetworkEvent) -> None:
        if self._log is not None:
            self._log.write(dated_line(event, datetime.now(UTC).isoformat(timespec="milliseconds")))

    def _say(self, words: str) -> None:
        line = f"{datetime.now().astimezone():%H:%M:%S} {words}"
        self._bars.console.print(Text(line, style="dim"), soft_wrap=True)

    def _count(self, words: str) -> None:
        """The last reply: on a terminal in a line of its own, elsewhere now and then."""
        if self.console.is_terminal:
            self._bars.update(self._only("replies"), description=words)
        elif time.monotonic() - self._last_reply >= _SECONDS_BETWEEN_REPLIES:
            self._last_reply = time.monotonic()
            self._say(words)

    def _move(self, stage: str, done: int, total: int) -> None:
        self._bars.update(self._only(stage), completed=done, total=total or None)

    def _only(self, stage: str) -> TaskID:
        """The bar of a stage, which alone is shown from now on."""
        if stage != self._stage:
            self._stage = stage
            for task in self._tasks.values():
                self._bars.update(task, visible=False)
            if stage not in self._tasks:
                self._tasks[stage] = self._bars.add_task(stage, total=None)
            self._bars.update(self._tasks[stage], visible=True)
        return self._tasks[stage]


@contextmanager
def narrated(log: Path | None = None) -> Iterator[Narrator]:
    """Somebody who is told what happens, for as long as the block lasts.

    Raises:
        BadInput: the log cannot be opened.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with (
        nullcontext() if log is None else _opened(log) as file,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars,
    ):
        yield Narrator(console, bars, file)


def _opened(path: Path) -> BinaryIO:
    """A log that only its own user may read; lines are added to what is there."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as problem:
        raise BadInput(
            f"the log {path} cannot be opened: {problem.strerror}", remedy="choose another --log", value=str(path)
        ) from problem
    return os.fdopen(descriptor, "wb", buffering=0)
