"""What a paper says and what a run shows, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten

from rich.console import Console
from rich.table import Table

_LONGEST = 300


def show(findings: Sequence[tuple[str, str, str, str]], page: Path | None, seconds: float, console: Console) -> None:
    """A line for each finding: the figure, what the paper says, what this run shows, whether it agrees."""
    table = Table(title="what the paper says, and what this run shows", title_justify="left")
    for heading in ("figure", "the paper says", "this run shows", "agrees"):
        table.add_column(heading)
    for figure, paper, ours, verdict in findings:
        table.add_row(figure, paper, shorten(ours, _LONGEST, placeholder=" …"), verdict)
    console.print(table)
    console.print(f"{page} ({seconds:.0f} s)")
