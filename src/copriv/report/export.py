"""Export: copy what may be passed on of a run, after looking into it, and say what stays and why.

Files are read and written again, so that nothing leaves that does not belong into them, whatever their name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from copriv.errors import BadInput
from copriv.protocol.text import plain
from copriv.report.inference import INFERENCE, read_inference
from copriv.report.kept_run import FinishedRun, find_run, read_kept, read_passable
from copriv.report.model_export import FORMATS, write_format
from copriv.report.model_file import PERSONAL, read_model
from copriv.report.network_run import JointFigures
from copriv.report.pages import render
from copriv.report.report_files import FACTS, INTERNAL, REPORT
from copriv.report.report_page import report_html
from copriv.report.statement import Statement
from copriv.schedule.trace import Trace

_WHY_NOT: Mapping[str, str] = {
    "run.json": "its figures were measured on the records: not private",
    INTERNAL: "its figures were measured on the records: not private",
    "convergence.png": "it shows figures that were measured on the records: not private",
    "convergence.svg": "it shows figures that were measured on the records: not private",
    "checkpoint.sqlite": "it holds every answer and receipt, for resuming only",
    "roster.json": "it is for resuming only",
    "start.json": "it says how the run was started on this machine, for resuming only",
    "ledgers": "ledgers stay with their owners",
    "dossier.html": "it belongs to the files as they are here; `copriv dossier PLACE` makes one of a run",
    "dossier.json": "it belongs to the files as they are here; `copriv dossier PLACE` makes one of a run",
}
FOLDER = "folder"
_UNKNOWN = "it is no part of a run"

Read = Callable[[Path], bytes]


class Exported(msgspec.Struct):
    """What was copied, and what was left and why."""

    folder: str
    copied: list[str]
    left: dict[str, str]

    def lines(self) -> list[str]:
        """The same for people."""
        copied = [f"  copied  {name}" for name in self.copied]
        return [
            f"may be passed on: {self.folder}",
            *copied,
            *(f"  left    {plain(n)}: {w}" for n, w in self.left.items()),
        ]


def _files(finished: FinishedRun) -> Mapping[str, Read]:
    """What may be passed on, and how it is read."""
    both: dict[str, Read] = {
        "model.json": _model,
        "privacy.json": _statement,
        "privacy.html": _page,
        "schedule.json": _schedule,
        FACTS: _facts,
        REPORT: _report,
    }
    if (finished.folder / INFERENCE).is_file():
        both[INFERENCE] = _inference
    if not finished.joint:
        return both
    return both | {"run.json": _figures, "meetings.png": Path.read_bytes, "meetings.svg": Path.read_bytes}


def export_as(run: Path, place: Path, form: str) -> Exported:
    """What may be passed on: all of it in a new folder, or the model alone in a new file for other programs.

    Raises:
        BadInput: there is no such form, or as `export_run` and `write_format` say.
    """
    if form == FOLDER:
        return export_run(run, place)
    if form not in FORMATS:
        known = ", ".join((FOLDER, *FORMATS))
        raise BadInput(f"an export to {form!r}", remedy=f"use one of {known}", value=form)
    write_format(read_model(_find(run).folder / "model.json"), place, form)
    return Exported(str(place), [place.name], {})


def export_run(run: Path, folder: Path) -> Exported:
    """Read everything first, and only then make the folder.

    Raises:
        BadInput: the run is not finished or was simulated, the folder exists, or a file is damaged.
    """
    finished = _find(run)
    if folder.exists():
        raise BadInput(f"{folder} exists, and is never overwritten", remedy="choose another PLACE", value=str(folder))
    contents = {name: read(finished.folder / name) for name, read in _files(finished).items()}
    _write(folder, contents)
    others = sorted(path.name for path in finished.folder.iterdir() if path.name not in contents)
    return Exported(str(folder), list(contents), {name: _WHY_NOT.get(name, _UNKNOWN) for name in others})


def _find(run: Path) -> FinishedRun:
    """The run folder that is meant, if its run is finished and its noise protects."""
    finished = find_run(run)
    noise = read_model(finished.folder / "model.json").noise
    if noise == PERSONAL:
        raise BadInput(f"the model in {run} is personal", remedy="it stays at home: no ε covers it", value=noise)
    if noise != "secure":
        raise BadInput(
            f"the run in {run} was simulated: its noise can be drawn again and protects nobody",
            remedy="train without --simulate; nothing of a simulation on records may be passed on",
            value=noise,
        )
    return finished


def _write(folder: Path, contents: Mapping[str, bytes]) -> None:
    try:
        folder.mkdir(parents=True)
        for name, content in contents.items():
            (folder / name).write_bytes(content)
    except OSError as problem:
        raise BadInput(
            f"{folder} cannot be written: {problem.strerror}", remedy="choose another PLACE", value=str(folder)
        ) from problem


def _model(path: Path) -> bytes:
    return _text(read_model(path))


def _statement(path: Path) -> bytes:
    return _text(read_kept(path, Statement))


def _page(path: Path) -> bytes:
    """The page is drawn again from the statement beside it."""
    return render("privacy.html", read_kept(path.with_name("privacy.json"), Statement)).encode()


def _inference(path: Path) -> bytes:
    return _text(read_inference(path))


def _facts(path: Path) -> bytes:
    return _text(read_passable(find_run(path.parent)).facts)


def _report(path: Path) -> bytes:
    """The report is drawn again from the files beside it that may be passed on."""
    return report_html(read_passable(find_run(path.parent))).encode()


def _schedule(path: Path) -> bytes:
    return Trace.from_json(path.read_bytes()).to_json() + b"\n"


def _figures(path: Path) -> bytes:
    return _text(read_kept(path, JointFigures))


def _text(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value)) + b"\n"
