"""A dossier as files: one HTML page without script, and the same as JSON beside it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from copriv.errors import BadInput
from copriv.report.dossier import Dossier, SignOff, Sources
from copriv.report.dossier_sections import make_dossier
from copriv.report.kept_run import find_run
from copriv.report.pages import day_and_time, render

NAME = "dossier.html"


class DossierWritten(msgspec.Struct):
    """Where a dossier is."""

    dossier: str
    json: str
    figures: int
    private: bool

    def lines(self) -> list[str]:
        """The same for people."""
        may = "may be passed on" if self.private else "simulated: must not be passed on"
        return [
            f"dossier: {self.dossier} ({may}; {self.figures} figures, each with its source)",
            f"         {self.json}",
        ]


def write_dossier(
    run: Path, out: Path | None = None, purpose: str = "", sign_offs: tuple[SignOff, ...] = ()
) -> DossierWritten:
    """Write the dossier of a finished run, by default into its folder.

    Raises:
        BadInput: the run is not finished, or the place cannot be written.
    """
    folder = find_run(run).folder
    found = make_dossier(Sources(folder), purpose, sign_offs)
    page = folder / NAME if out is None else out
    if page.suffix not in {".html", ".htm"}:
        raise BadInput(f"a dossier called {page.name}", remedy="name it with .html", value=str(page))
    beside = page.with_suffix(".json")
    try:
        page.write_text(dossier_html(found), encoding="utf-8")
        beside.write_bytes(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    except OSError as problem:
        raise BadInput(
            f"{page} cannot be written: {problem.strerror}", remedy="choose another --out", value=str(page)
        ) from problem
    return DossierWritten(str(page), str(beside), len(found.entries), found.private)


def dossier_html(dossier: Dossier) -> str:
    """One page that needs nothing else."""
    return render("dossier.html", dossier, date=day_and_time(dossier.date))
