"""`Report`: the two reports of a run, as text, as files and in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

from copriv.report.internal_page import internal_html
from copriv.report.report_files import write_facts, write_pages
from copriv.report.report_page import report_html
from copriv.report.run_folder import Result
from copriv.runtime.local_folder import make, require_new, shut


@dataclass(frozen=True, repr=False)
class Report:
    """What came of a run, for people: `html` may be passed on, `internal_html` was measured on records and may not."""

    result: Result

    @property
    def html(self) -> str:
        """report.html: one file without script that needs nothing else."""
        return report_html(self.result.passable)

    @property
    def internal_html(self) -> str:
        """report-internal.html: figures that were measured on the records. Not private."""
        return internal_html(self.result.figures, self.result.request, self.result.statement.date)

    def save(self, folder: str | Path) -> Path:
        """Write report.html, report-internal.html and report.json into a new folder for nobody else to read.

        Raises:
            BadInput: the folder exists, or cannot be made.
        """
        place = Path(folder)
        require_new(place)
        make(place)
        write_facts(place, self.result.facts)
        write_pages(place, self.result.passable, self.result.figures, self.result.request)
        shut(place)
        return place

    def __repr__(self) -> str:
        may = "may be passed on" if self.result.statement.private else "simulated, not to be passed on"
        return f"Report({len(self.html):,} characters, {may})"

    def _repr_html_(self) -> str:
        """The page that may be passed on, in a frame of its own."""
        return f'<iframe title="report" srcdoc="{escape(self.html)}" style="width:100%;height:40rem;border:0"></iframe>'
