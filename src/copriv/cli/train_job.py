"""What `copriv train` does: read, design, train, measure, tell.

Nothing is written or spent before all input is checked. After every meeting the learner's checkpoint is on disk, so
that a run that was killed can be resumed.
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from copriv.cli.ledgers import Ledgers, allow_open_files, dataset_of
from copriv.cli.progress import bar
from copriv.cli.train_dataset import charge, check_payment
from copriv.cli.train_options import TrainOptions, check_guarantee, make_wishes, take_records
from copriv.cli.train_origin import enroll, origin_of
from copriv.cli.train_rows import registered_seed
from copriv.cli.train_study import add_public_rows, open_study, settle
from copriv.cli.warning import warn
from copriv.entropy import fresh_seed, secure
from copriv.errors import BadInput
from copriv.learner.checkpoint import Checkpoint
from copriv.owner.registry import Registry
from copriv.planning.from_terms import plan_from_terms
from copriv.planning.training_plan import Noise, TrainingPlan, design
from copriv.records.load import Intake
from copriv.report import run_folder
from copriv.report.figures import DatasetSpending, Run, figures, weakest
from copriv.report.table import show
from copriv.runtime.local import Consortium, Watch, assemble, measure, run
from copriv.vectors import FloatArray


class Start(msgspec.Struct, frozen=True):
    """How a run was started, kept in its folder so that it can be resumed."""

    options: TrainOptions
    seed: int


@dataclass(frozen=True, slots=True)
class Job:
    """A run about to happen, or about to go on."""

    options: TrainOptions
    seed: int
    folder: Path
    resumed: bool

    @property
    def noise(self) -> Noise:
        """Secure on records; seeded in a simulation."""
        return "seeded" if self.options.simulate else "secure"

    @property
    def on_record(self) -> bool:
        """Whether real records are asked, whose file has a budget."""
        return self.noise == "secure" and self.options.data is not None


def run_job(options: TrainOptions, resume: Path | None = None, given: tuple[str, ...] = ()) -> None:
    """The whole of `copriv train`; `given` names the options that the user has typed."""
    started = time.perf_counter()
    console = Console(stderr=True)
    job = _begin(options, given, console) if resume is None else _reopen(resume, options)
    check_guarantee(job.options)
    intake, study = _prepare(job, console)
    consortium, dataset = _assemble(job, intake, study, console)
    watch, model = _train(job, consortium, study, console)
    with bar(console, "comparing with training alone") as tell:
        samples = [owner.sample for owner in intake.owners]
        findings = measure(study.terms.objective(), samples, study, watch, model, tell)
    seconds = round(time.perf_counter() - started, 3)
    origin = origin_of(job.options, job.folder, intake, study.terms)
    finished = Run(intake, study, consortium, watch, findings, job.noise, job.seed, str(job.folder), seconds, *origin)
    told = msgspec.structs.replace(figures(finished), dataset=dataset)
    with bar(console, "drawing"):
        run_folder.write(job.folder, finished, told, model)
    for ledger in consortium.ledgers:
        ledger.close()
    if options.as_json:
        typer.echo(msgspec.json.encode(told).decode())
    else:
        show(told, Console())


def _begin(options: TrainOptions, given: tuple[str, ...], console: Console) -> Job:
    if options.study is not None:
        options = settle(options, open_study(options.study), given)
    folder = options.out or Path("runs") / datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
    run_folder.require_new(folder)
    job = Job(options, fresh_seed() if options.seed is None else options.seed, folder, resumed=False)
    return _shuffled_as_before(job, console) if job.on_record and options.shuffle and options.seed is None else job


def _shuffled_as_before(job: Job, console: Console) -> Job:
    """With the seed that the file was shuffled with before, if it is known: rows once public stay public."""
    seed = None if job.options.data is None else registered_seed(job.options.data)
    if seed is None:
        return job
    console.print(f"note: the rows of this file are shuffled as before: --seed {seed}", style="dim", highlight=False)
    return replace(job, seed=seed)


def _reopen(folder: Path, options: TrainOptions) -> Job:
    """The job of a run folder whose run was interrupted."""
    start = folder / "start.json"
    if not start.is_file() or not (folder / "checkpoint.sqlite").is_file():
        raise BadInput(
            f"{folder} holds no interrupted run",
            remedy="name the run folder of one that was not simulated",
            value=str(folder),
        )
    if (folder / "run.json").exists():
        raise BadInput(f"the run in {folder} is finished", remedy="start another one", value=str(folder))
    run_folder.shut(folder)
    kept = msgspec.json.decode(start.read_bytes(), type=Start, dec_hook=_path_from_text)
    return Job(msgspec.structs.replace(kept.options, as_json=options.as_json), kept.seed, folder, resumed=True)


def _prepare(job: Job, console: Console) -> tuple[Intake, TrainingPlan]:
    with bar(console, "reading records") as tell:
        intake = take_records(job.options, job.seed, tell)
    for notice in intake.notices:
        console.print(f"note: {notice}", style="dim", highlight=False, markup=False)
    intake, study = _design(job, intake, console)
    console.print(f"note: {_describe(study)}", style="dim", highlight=False)
    public = origin_of(job.options, job.folder, intake, study.terms).public
    console.print(Text(f"note: {public.words}", style="dim"))
    warn(weakest(study.commitments, [owner.sample.records for owner in intake.owners]), console)
    return intake, study


def _design(job: Job, intake: Intake, console: Console) -> tuple[Intake, TrainingPlan]:
    """The study as a file has it, or as the public rows suggest."""
    wishes, agreed = make_wishes(job.options, intake, job.seed), job.options.study
    if agreed is None:
        with bar(console, "choosing rule, clip and step on the public rows"):
            return intake, design(intake, wishes)
    with bar(console, "setting up the study"):
        known = add_public_rows(intake, agreed)
        return known, plan_from_terms(open_study(agreed).terms, known, wishes)


def _describe(study: TrainingPlan) -> str:
    answers = study.commitments[0].calibration.answers
    predicted = "" if math.isnan(study.predicted) else f", ψ foreseen on public rows {study.predicted:.2g}"
    return f"rule {study.terms.rule!r}, at most {answers} answers of each owner{predicted}"


def _assemble(
    job: Job, intake: Intake, study: TrainingPlan, console: Console
) -> tuple[Consortium, DatasetSpending | None]:
    """Owners with their ledgers, after the run is charged to the file of their records, if they are real."""
    if not job.on_record:
        return _gather(job, intake, study, None), None
    with Registry() as registry:
        resumed = _run_of(job) if job.resumed else None
        payment = check_payment(registry, job.options, job.seed, study, console, resumed)
        consortium = _gather(job, intake, study, registry)
        origin = origin_of(job.options, job.folder, intake, study.terms)
        return consortium, charge(payment, _run_of(job), study, origin)


def _gather(job: Job, intake: Intake, study: TrainingPlan, registry: Registry | None) -> Consortium:
    """Owners with their ledgers; for a new run, its folder first."""
    allow_open_files(len(intake.owners))
    place = job.options.ledgers or job.folder / "ledgers"
    ledgers = Ledgers(place, job.noise, dataset_of(job.options, job.seed), job.resumed, registry)
    if not job.resumed:
        if job.options.ledgers is not None:
            ledgers.check(intake, study)
        run_folder.make(job.folder)
        if job.noise == "secure":
            _keep_start(job, study)
    consortium = assemble(intake, study, noise=job.noise, seed=job.seed, make_ledger=ledgers.make)
    enroll(consortium, study, origin_of(job.options, job.folder, intake, study.terms))
    return consortium


def _run_of(job: Job) -> str:
    checkpoint = Checkpoint(job.folder / "checkpoint.sqlite")
    try:
        return str(checkpoint.run)
    finally:
        checkpoint.close()


def _keep_start(job: Job, study: TrainingPlan) -> None:
    """What a resumed run needs: how this one was started, and a checkpoint before its first meeting."""
    start = Start(job.options, job.seed)
    (job.folder / "start.json").write_bytes(msgspec.json.encode(start, enc_hook=_text_from_path))
    Checkpoint.create(
        job.folder / "checkpoint.sqlite",
        run=f"{secure().getrandbits(64):016x}",
        terms=study.terms.digest(),
        schedule=_schedule_digest(study),
    ).close()


def _train(job: Job, consortium: Consortium, study: TrainingPlan, console: Console) -> tuple[Watch, FloatArray]:
    """Meet owner after owner; with secure noise, from and to the checkpoint."""
    total = len(study.trace)
    watch = Watch(total)
    checkpoint = Checkpoint(job.folder / "checkpoint.sqlite") if job.noise == "secure" else None
    position = None
    if checkpoint is not None:
        checkpoint.require(terms=study.terms.digest(), schedule=_schedule_digest(study))
        position = checkpoint.position(study.rule)
        watch.recall(checkpoint.models(), checkpoint.refusals())
    model = study.rule.model(study.rule.begin() if position is None else position.state)
    with bar(console, "training, meeting by meeting") as tell:
        name = "simulation" if checkpoint is None else checkpoint.run
        for iteration in run(consortium, study, name, position):
            if checkpoint is not None:
                checkpoint.save(study.rule, iteration, keep_model=watch.keeps(iteration.number))
            model = study.rule.model(iteration.state)
            watch.see(iteration, model)
            tell(iteration.number, total)
    if checkpoint is not None:
        checkpoint.close()
    return watch, model


def _schedule_digest(study: TrainingPlan) -> str:
    return hashlib.sha256(study.trace.to_json()).hexdigest()


def _text_from_path(value: object) -> str:
    return str(Path(str(value)).absolute())


def _path_from_text(kind: type, value: object) -> object:
    return Path(str(value)) if issubclass(kind, Path) else value
