"""What a person should not overlook, on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from copriv.protocol.text import plain

_LONGEST = 400


def warn(words: str | None, console: Console) -> None:
    """Say it, if there is anything to say; whatever else is printed, as JSON, say."""
    if words is not None:
        console.print(Text(f"warning: {plain(words, _LONGEST)}", style="bold"), soft_wrap=True)
