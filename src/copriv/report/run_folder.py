"""What a run on one machine comes to, and the files that keep it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from copriv.report.coefficient_errors import coefficient_errors
from copriv.report.figures import Figures, figures
from copriv.report.gather_facts import local_facts
from copriv.report.inference import NOTHING_INFERRED, Inference, infer_coefficients, write_inference
from copriv.report.model_file import ModelFile, Promised, write_model
from copriv.report.picture import draw
from copriv.report.report_facts import ReportFacts
from copriv.report.report_files import write_facts, write_pages
from copriv.report.report_page import Passable
from copriv.report.statement import Statement, state, write_statement
from copriv.runtime.local_folder import shut
from copriv.runtime.local_request import TrainRequest
from copriv.runtime.local_run import LocalRun
from copriv.schedule.trace import Trace


@dataclass(frozen=True, slots=True)
class Result:
    """The model, the privacy statement and the schedule, which may be passed on; the figures, which may not."""

    model: ModelFile
    statement: Statement
    schedule: Trace
    figures: Figures
    facts: ReportFacts
    request: TrainRequest | None = None
    inference: Inference = NOTHING_INFERRED

    @property
    def passable(self) -> Passable:
        """What report.html is drawn from."""
        return Passable(self.model, self.statement, self.facts, self.inference)


def result_of(run: LocalRun) -> Result:
    """What a finished run comes to; its ledgers must still be open."""
    told = figures(run)
    theta = tuple(run.model.tolist())
    errors = coefficient_errors(run.intake.dictionary, run.errors)
    promised = tuple(_promised(told))
    model = ModelFile(theta, run.study.terms, run.intake.dictionary, promised, run.noise, errors=errors)
    statement = state(run, datetime.now(UTC).isoformat(timespec="seconds"))
    inference = infer_coefficients(run.intake.dictionary, run.unshrunk, run.consortium.names, run.noise)
    return Result(model, statement, run.study.trace, told, local_facts(run), run.job.request, inference)


def write(folder: Path, result: Result) -> None:
    """The model, the privacy statement, the schedule, the reports and, last, the figures; pictures come before."""
    (folder / "model.json").unlink(missing_ok=True)  # of a run that was killed before its figures were written
    write_model(result.model, folder / "model.json")
    (folder / "schedule.json").write_bytes(result.schedule.to_json() + b"\n")
    write_statement(result.statement, folder)
    write_facts(folder, result.facts)
    write_inference(result.inference, folder)
    write_pages(folder, result.passable, result.figures, result.request)
    (folder / "run.json").write_bytes(msgspec.json.format(msgspec.json.encode(result.figures)) + b"\n")
    shut(folder)


def write_with_picture(folder: Path, result: Result) -> None:
    """All files of a run folder."""
    draw(result.figures, folder)
    write(folder, result)


def _promised(figures: Figures) -> Sequence[Promised]:
    return [Promised(entry.owner, entry.promised, entry.delta, figures.guarantee.unit) for entry in figures.spent]
