"""Bars on standard error for whatever takes longer than a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from copriv.protocol.text import plain
from copriv.report.warning import warn
from copriv.runtime import events
from copriv.runtime.events import Event

Tell = Callable[[int, int], None]


@contextmanager
def bar(console: Console, words: str) -> Iterator[Tell]:
    """A bar that is told how much of how much is done; until then it only shows that something is happening."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(words, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


class Teller:
    """Shows the events of a run on standard error: a bar a stage, a line a note.

    Args:
        console: where to.
    """

    def __init__(self, console: Console) -> None:
        self._console, self._stage = console, ""
        self._stack = ExitStack()
        self._count: Tell = _ignore

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        self.pause()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if isinstance(event, events.Progress):
            if event.stage != self._stage:
                self.pause()
                self._stage, self._count = event.stage, self._stack.enter_context(bar(self._console, event.stage))
            if event.total:
                self._count(event.done, event.total)
        elif isinstance(event, events.Note):
            self._console.print(Text(f"note: {plain(event.words, 2_000)}", style="dim"), soft_wrap=True)
        elif isinstance(event, events.Warned):
            warn(event.words, self._console)

    def pause(self) -> None:
        """Take the bar away, to ask somebody, say."""
        self._stack.close()
        self._stage, self._count = "", _ignore


def _ignore(_done: int, _total: int) -> None:
    """Nothing to show."""
