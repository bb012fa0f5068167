"""What the paper says and what a run shows, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import Protocol

from rich.console import Console
from rich.table import Table

_LONGEST = 300


class Finding(Protocol):
    """What the paper says of one thing, what a run shows, and whether the two agree."""

    @property
    def paper(self) -> str:
        """What the paper says."""

    @property
    def ours(self) -> str:
        """What a run shows."""

    @property
    def verdict(self) -> str:
        """Whether they agree."""


def findings_table(findings: Sequence[tuple[str, Finding]]) -> Table:
    """A line for each finding of each figure."""
    table = Table(title="what the paper says, and what this run shows", title_justify="left")
    for heading in ("figure", "the paper says", "this run shows", "agrees"):
        table.add_column(heading)
    for figure, finding in findings:
        table.add_row(figure, finding.paper, shorten(finding.ours, _LONGEST, placeholder=" …"), finding.verdict)
    return table


def show(findings: Sequence[tuple[str, Finding]], page: Path | None, seconds: float, console: Console) -> None:
    """The table, and where the page is."""
    console.print(findings_table(findings))
    console.print(f"{page} ({seconds:.0f} s)")
