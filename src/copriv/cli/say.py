"""How a command tells its result: to other programs, or to people."""

from __future__ import annotations

from collections.abc import Iterable

import typer


def say(told: object, lines: str | Iterable[str], *, as_json: bool) -> None:
    """Print one JSON object, or lines."""
    if as_json:
        import msgspec

        typer.echo(msgspec.json.encode(told).decode())
        return
    for line in [lines] if isinstance(lines, str) else lines:
        typer.echo(line)
