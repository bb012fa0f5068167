"""The two reports of a run, as files: report.html may be passed on, report-internal.html may not.

Which figure is in which: docs/how-to/read-a-report.md.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from copriv.report.figures import Figures
from copriv.report.internal_page import internal_html
from copriv.report.report_facts import ReportFacts
from copriv.report.report_page import Passable, report_html
from copriv.runtime.local_request import TrainRequest

REPORT, INTERNAL, FACTS = "report.html", "report-internal.html", "report.json"


class Written(msgspec.Struct):
    """Where the reports of a run are; there is no internal one where nothing was measured on records."""

    report: str
    internal: str | None
    private: bool

    def lines(self) -> list[str]:
        """The same for people."""
        folder = str(Path(self.report).parent)
        return report_lines(folder, private=self.private, internal=self.internal is not None)


def report_lines(folder: str, *, private: bool, internal: bool = True) -> list[str]:
    """Where the reports of a run are, and which of them may be passed on; nothing of a run without a folder."""
    if not folder:
        return []
    may = "may be passed on" if private else "simulated: must not be passed on"
    told = [f"report: {Path(folder, REPORT)} ({may})"]
    return [*told, f"        {Path(folder, INTERNAL)} (measured on records: not private)"] if internal else told


def write_pages(
    folder: Path, passable: Passable, figures: Figures | None = None, request: TrainRequest | None = None
) -> Written:
    """Write report.html and, where figures were measured on records, report-internal.html."""
    (folder / REPORT).write_text(report_html(passable), encoding="utf-8")
    private, internal = passable.statement.private, folder / INTERNAL
    if figures is None:
        return Written(str(folder / REPORT), None, private)
    _write_closed(internal, internal_html(figures, request, passable.statement.date))
    return Written(str(folder / REPORT), str(internal), private)


def write_facts(folder: Path, facts: ReportFacts) -> None:
    """Write report.json."""
    (folder / FACTS).write_bytes(msgspec.json.format(msgspec.json.encode(facts)) + b"\n")


def _write_closed(path: Path, text: str) -> None:
    """A file that only its user can read, from its first byte on."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
