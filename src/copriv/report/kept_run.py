"""What a run folder has kept, read again: to write its reports anew, and to copy what may be passed on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from copriv.errors import BadInput
from copriv.learner.checkpoint import Checkpoint
from copriv.report.equivalent import STUDY_COMMAND, STUDY_PYTHON, command_of, python_of
from copriv.report.figures import Figures
from copriv.report.gather_facts import converging, models_in, refused_in, timeline_of
from copriv.report.inference import INFERENCE, Inference, read_inference
from copriv.report.model_file import read_model
from copriv.report.network_run import JointFigures
from copriv.report.report_facts import FORMAT, Predicted, ReportFacts
from copriv.report.report_files import FACTS, Written, write_facts, write_pages
from copriv.report.report_page import Passable
from copriv.report.statement import Statement
from copriv.runtime.local import MeetingLog
from copriv.runtime.local_folder import shut
from copriv.runtime.local_request import Start, TrainRequest

Kept = TypeVar("Kept")

_NONE_KEPT = Inference(none="the version of copriv that has trained this model kept no such coefficients")


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A finished run: where it lies, and whether its owners were elsewhere."""

    folder: Path
    joint: bool


def find_run(run: Path) -> FinishedRun:
    """The run folder that is meant: itself, or that of a learner's folder.

    Raises:
        BadInput: it holds no finished run.
    """
    folder = run / "run" if (run / "members.json").is_file() else run
    if not (folder / "run.json").is_file():
        raise BadInput(
            f"{run} holds no finished run",
            remedy="give a run folder of `copriv train`, or a learner's folder after `copriv learner run`",
            value=str(run),
        )
    return FinishedRun(folder, joint=(folder / "roster.json").is_file())


def write_anew(run: Path) -> Written:
    """Write both reports of a finished run again; those of earlier versions get as much as they have kept.

    Raises:
        BadInput: the run is not finished, or a file is damaged.
    """
    finished = find_run(run)
    folder = finished.folder
    passable = read_passable(finished)
    figures = None if finished.joint else read_kept(folder / "run.json", Figures)
    write_facts(folder, passable.facts)
    written = write_pages(folder, passable, figures, _request(folder))
    shut(folder)
    return written


def read_passable(finished: FinishedRun) -> Passable:
    """What may be passed on of a run, read from the files that may be; of earlier versions, gathered anew."""
    folder = finished.folder
    model, statement = read_model(folder / "model.json"), read_kept(folder / "privacy.json", Statement)
    inference = read_inference(folder / INFERENCE) if (folder / INFERENCE).is_file() else _NONE_KEPT
    if (folder / FACTS).is_file():
        facts = read_kept(folder / FACTS, ReportFacts)
        if facts.format != FORMAT:
            raise BadInput(
                f"{folder / FACTS} is of format {facts.format}",
                remedy="use the version of copriv that has written it",
                value=facts.format,
            )
        return Passable(model, statement, facts, inference)
    log, names = _log(folder), [owner.owner for owner in statement.owners]
    known = dict.fromkeys((*names, *log.owners))
    facts = _of_joint(folder) if finished.joint else _of_local(folder)
    away = converging(models_in(folder), np.asarray(model.theta), None, model.dictionary.target)
    gathered = {"timeline": timeline_of(list(known), log), "refused": refused_in(log), "converging": away}
    return Passable(model, statement, msgspec.structs.replace(facts, **gathered), inference)


def read_kept(path: Path, kind: type[Kept]) -> Kept:
    """A file of a run folder, or why it cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError) as problem:
        raise BadInput(
            f"{path} cannot be passed on: {problem}",
            remedy="it is damaged, or of an earlier version, whose statements are not meant to leave",
            value=str(path),
        ) from problem


def _of_local(folder: Path) -> ReportFacts:
    """What run.json has that was not measured on records: forecasts alone."""
    figures, request = read_kept(folder / "run.json", Figures), _request(folder)
    ahead = None
    if figures.predicted is not None:
        ahead = Predicted(figures.predicted, figures.predicted_interval, figures.predicted_elsewhere)
    facts = ReportFacts(network=False, predicted=ahead, foreseen=figures.foreseen)
    if request is None:
        return facts
    return msgspec.structs.replace(facts, command=command_of(request), python=python_of(request))


def _of_joint(folder: Path) -> ReportFacts:
    told = read_kept(folder / "run.json", JointFigures)
    return ReportFacts(network=True, evaluation=told.evaluation, command=STUDY_COMMAND, python=STUDY_PYTHON)


def _log(folder: Path) -> MeetingLog:
    """Every meeting that a checkpoint has kept."""
    log = MeetingLog()
    if (folder / "checkpoint.sqlite").is_file():
        checkpoint = Checkpoint(folder / "checkpoint.sqlite")
        try:
            for entry in checkpoint.log():
                log.note(entry.number, entry.owner, entry.outcome)
        finally:
            checkpoint.close()
    return log


def _request(folder: Path) -> TrainRequest | None:
    return Start.read(folder).options if (folder / "start.json").is_file() else None
