"""What a person should not overlook, on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from copriv.protocol.text import plain

_LONGEST, _LONGEST_NOTE = 400, 2_000


def warn(words: str | None, console: Console) -> None:
    """Say it, if there is anything to say; whatever else is printed, as JSON, say."""
    if words is not None:
        console.print(Text(f"warning: {plain(words, _LONGEST)}", style="bold"), soft_wrap=True)


def note(words: str, console: Console) -> None:
    """Say what is good to know; names in it are text."""
    console.print(Text(f"note: {plain(words, _LONGEST_NOTE)}", style="dim"), soft_wrap=True)
