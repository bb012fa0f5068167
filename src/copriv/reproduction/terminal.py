"""What the paper says and what a run shows, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten

from rich.console import Console
from rich.table import Table

from copriv.reproduction.study import Finding

_LONGEST = 300


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
