"""What may be passed on of a run, gathered: the one place that decides what report.json holds.

Each function takes a run apart. It may read terms, public rows, what was forecast from them, and what owners have
answered: models on the way, who answered when, what was expected from the answers. It never touches `findings`,
`quality`, notices of reading or seconds: these were measured on records.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from copriv.learner.checkpoint import Checkpoint
from copriv.learner.public_rows import read_sample
from copriv.losses.sample import Sample
from copriv.planning.few_rows import about_few_rows
from copriv.planning.quality_under_terms import KnownPublic, quality_under_terms
from copriv.planning.training_plan import TrainingPlan
from copriv.records.load import Intake
from copriv.records.target import Target
from copriv.report.equivalent import STUDY_COMMAND, STUDY_PYTHON, command_of, python_of
from copriv.report.report_facts import Converging, Judged, Predicted, ReportFacts, Unit
from copriv.report.timeline import Timeline, draw_up
from copriv.runtime.learner_outcome import JointRun
from copriv.runtime.local import MeetingLog
from copriv.runtime.local_run import LocalRun
from copriv.vectors import FloatArray

# Predictions for so many public rows show how far a model still was from the final one.
_ROWS_COMPARED = 2_000


def local_facts(run: LocalRun) -> ReportFacts:
    """Of a run on one machine."""
    predicted = _predicted(run.study, elsewhere=run.job.rows_from_elsewhere)
    sizes = [owner.sample.records for owner in run.intake.owners]
    psi = _newest(predicted, [seen.relative_fitness for seen in run.watch.foreseen])
    target, terms, public = run.intake.dictionary.target, run.study.terms, run.intake.public
    honest = run.intake.features is None or run.intake.features.codes > 0
    known = _known(run.intake)
    return ReportFacts(
        network=False,
        predicted=predicted,
        foreseen=run.watch.foreseen,
        quality=quality_under_terms(terms, public, target, sizes, psi, known) if honest or known else None,
        converging=converging(run.watch.models, run.model, public, target),
        timeline=timeline_of([owner.name for owner in run.intake.owners], run.watch.log),
        refused=refused_in(run.watch.log),
        validation=run.validation,
        few_rows=about_few_rows(public, terms.rule),
        command=command_of(run.job.request),
        python=python_of(run.job.request),
    )


def joint_facts(run: JointRun) -> ReportFacts:
    """Of a study with owners elsewhere."""
    path, target, found = run.folder.parent / "public.npz", run.dictionary().target, run.evaluation
    public = read_sample(path.read_bytes()) if path.is_file() else None
    sizes = [hello.records for hello in run.roster.owners]
    predicted = None if run.predicted is None else Predicted(run.predicted)
    psi = _newest(predicted, [seen.relative_fitness for seen in run.foreseen])
    log = MeetingLog()
    for entry in run.log:
        log.note(entry.number, entry.owner, entry.outcome)
    names = list(dict.fromkeys((*run.roster.names, *log.owners)))
    return ReportFacts(
        network=True,
        predicted=predicted,
        foreseen=list(run.foreseen),
        quality=quality_under_terms(run.terms, public, target, sizes, psi),
        evaluation=None if found is None else Judged(found.loss, found.standard_error, found.owners, found.records),
        converging=converging(models_in(run.folder), run.model, public, target),
        timeline=timeline_of(names, log),
        refused=refused_in(log),
        validation=run.validation,
        few_rows=about_few_rows(public, run.terms.rule),
        command=STUDY_COMMAND,
        python=STUDY_PYTHON,
    )


def converging(
    models: Mapping[int, FloatArray], final: FloatArray, public: Sample | None, target: Target
) -> Converging | None:
    """How far each model was from the final one; None if none was kept."""
    if not models:
        return None
    if public is None:
        length = float(np.linalg.norm(final)) or 1.0
        away = {number: float(np.linalg.norm(model - final)) / length for number, model in models.items()}
        return Converging(sorted(away.items()), "share")
    rows, unit = public.columns[:, :_ROWS_COMPARED], target.scale if target.kind == "number" else 1.0
    away = {number: unit * float(np.sqrt(np.mean(((model - final) @ rows) ** 2))) for number, model in models.items()}
    units: dict[str, Unit] = {"label": "log-odds", "number": "target"}
    return Converging(sorted(away.items()), units.get(target.kind, "logarithm"))


def timeline_of(names: Sequence[str], log: MeetingLog) -> Timeline | None:
    """Who answered when; None of a run without meetings."""
    if not log.numbers:
        return None
    return draw_up(names, log.numbers, log.owners, (outcome == "answer" for outcome in log.outcomes))


def refused_in(log: MeetingLog) -> dict[str, int]:
    """Why meetings came to nothing, and how often."""
    counted = Counter(outcome for outcome in log.outcomes if outcome != "answer")
    return {reason: counted[reason] for reason in sorted(counted)}


def models_in(folder: Path) -> dict[int, FloatArray]:
    """The models on the way that a checkpoint has kept."""
    path = folder / "checkpoint.sqlite"
    if not path.is_file():
        return {}
    checkpoint = Checkpoint(path)
    try:
        return checkpoint.models()
    finally:
        checkpoint.close()


def _predicted(study: TrainingPlan, *, elsewhere: bool) -> Predicted | None:
    if study.candidate is None or math.isnan(study.predicted):
        return None
    ahead = study.candidate.forecast
    return Predicted(study.predicted, ahead.interval, ahead.elsewhere if elsewhere else None, ahead.caveats)


def _newest(predicted: Predicted | None, foreseen: Sequence[float]) -> float | None:
    """ψ as it is expected after the last answer, else before the first."""
    if foreseen:
        return foreseen[-1]
    return None if predicted is None else predicted.relative_fitness


def _known(intake: Intake) -> KnownPublic | None:
    found = intake.public_figures
    return None if found is None else KnownPublic(found, intake.public_distance)
