"""A run on one machine from request to result: read, plan, charge, train, measure. Nothing is printed.

Nothing is written or spent before all input is checked. After every meeting the learner's checkpoint is on disk, so
that a run that was killed can be resumed.
"""

from __future__ import annotations

import math
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from copriv.entropy import secure
from copriv.errors import BadInput
from copriv.forecast.model_errors import Errors, model_errors
from copriv.forecast.one_step import Unshrunk, unshrunk
from copriv.learner.checkpoint import Checkpoint
from copriv.learner.learner import Iteration
from copriv.learner.validation import Validation
from copriv.owner.ledger import Ledger
from copriv.owner.own_models import Centres
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.planning.few_rows import about_few_rows
from copriv.planning.from_terms import plan_from_terms
from copriv.planning.training_plan import Noise, TrainingPlan, design
from copriv.protocol.commitment import weakest
from copriv.protocol.public_rows import PublicRows
from copriv.records.load import Intake
from copriv.runtime.events import Answered, Charged, Done, Note, Progress, Refused, Tell, Warned, counting
from copriv.runtime.local import Consortium, Findings, Watch, assemble, measure, run
from copriv.runtime.local_dataset import DatasetSpending, charge, check_payment
from copriv.runtime.local_folder import hidden_folder, make, require_new, shut
from copriv.runtime.local_ledgers import Ledgers, allow_open_files, dataset_of
from copriv.runtime.local_load import Sources, has_data, has_public, settle_public_rows, settled_features, tell_reading
from copriv.runtime.local_origin import Origin, enrolled_by, origin_of
from copriv.runtime.local_quality import OwnersAtHome, Quality, measure_quality
from copriv.runtime.local_request import Person, Start, TrainRequest
from copriv.runtime.local_rows import registered_seed
from copriv.runtime.local_spec import check_request, make_spec
from copriv.runtime.local_study import add_public_rows, open_study, settle
from copriv.runtime.local_validation import hold_back, validate
from copriv.runtime.oracle import Oracle
from copriv.vectors import FloatArray


@dataclass(frozen=True, slots=True)
class Job:
    """A run about to happen, or about to go on.

    Args:
        request: what it is asked to be.
        sources: tables in memory.
        folder: where ledgers, checkpoint and results lie; None for a simulation that keeps nothing.
        person: who runs it.
        tell: is told what happens.
        resumed: whether it was interrupted before.
    """

    request: TrainRequest
    sources: Sources
    folder: Path | None
    person: Person
    tell: Tell
    resumed: bool = False

    @property
    def noise(self) -> Noise:
        """Secure on records; seeded in a simulation."""
        return "seeded" if self.request.simulate else "secure"

    @property
    def rows_from_elsewhere(self) -> bool:
        """Whether the public rows are not some of the very table that is learnt from."""
        return has_public(self.request, self.sources) or self.request.study is not None

    @property
    def on_record(self) -> bool:
        """Whether real records are asked, which have a budget."""
        return self.noise == "secure" and has_data(self.request, self.sources)

    @property
    def name(self) -> str:
        """What the run is called if nobody has named it."""
        return "simulation" if self.folder is None else self.folder.absolute().name

    def require_folder(self) -> Path:
        """The folder, without which real noise is not drawn."""
        if self.folder is None:
            raise BadInput("a run with secure noise has no folder", remedy="name one, or simulate")
        return self.folder


@dataclass(frozen=True, slots=True)
class LocalRun:
    """A finished run on one machine, its ledgers still open; figures are measured on records, and not private."""

    intake: Intake
    study: TrainingPlan
    consortium: Consortium
    watch: Watch
    findings: Findings
    model: FloatArray
    job: Job
    origin: Origin
    dataset: DatasetSpending | None
    quality: Quality
    seconds: float
    validation: Validation | None = None

    @property
    def noise(self) -> Noise:
        """Secure on records; seeded in a simulation."""
        return self.job.noise

    @property
    def ledgers(self) -> tuple[Ledger, ...]:
        """One an owner."""
        return self.consortium.ledgers

    @property
    def public(self) -> PublicRows:
        """The rows that were taken as public."""
        return self.origin.public

    @property
    def errors(self) -> Errors:
        """How far off the model may be, from owners' noise and public rows; a text says why that is not known."""
        return model_errors(self.study.rule, self.watch.state, self.intake.public)

    @property
    def unshrunk(self) -> Unshrunk:
        """The estimate that is not drawn towards public rows; a text says why there is none."""
        return unshrunk(self.study.rule, self.watch.state)

    @property
    def owners_at_home(self) -> OwnersAtHome:
        """The owners' records and the models that personal ones start from."""
        objective, known = self.study.terms.objective(), self.study.public_model
        centres = Centres(None if known is None else objective.project(known), self.model)
        samples = {owner.name: owner.sample for owner in self.intake.owners}
        return OwnersAtHome(samples, objective, centres, self.intake.dictionary.target)

    def close(self) -> None:
        """Let go of the ledgers."""
        for ledger in self.ledgers:
            ledger.close()


def begin(request: TrainRequest, sources: Sources, given: tuple[str, ...], person: Person, tell: Tell) -> Job:
    """A new run; `given` names what the user has said, to be compared with a study that settles it."""
    if request.study is not None:
        request = settle(request, open_study(request.study), given)
    folder = request.out
    if folder is None and not request.simulate:
        folder = hidden_folder()
    if folder is not None:
        require_new(folder)
    job = Job(request, sources, folder, person, tell)
    seed = _seed_before(job) if job.on_record and request.shuffle and request.seed is None else None
    settled = {"seed": seed or request.seed or 0, "in_memory": sources.data is not None}
    return replace(job, request=msgspec.structs.replace(request, **settled))


def reopen(folder: Path, sources: Sources, person: Person, tell: Tell) -> Job:
    """The job of a run folder whose run was interrupted."""
    if not (folder / "start.json").is_file() or not (folder / "checkpoint.sqlite").is_file():
        raise BadInput(
            f"{folder} holds no interrupted run",
            remedy="name the run folder of one that was not simulated",
            value=str(folder),
        )
    if (folder / "run.json").exists():
        raise BadInput(f"the run in {folder} is finished", remedy="start another one", value=str(folder))
    kept = Start.read(folder)
    if kept.options.in_memory and sources.data is None:
        raise BadInput(
            f"the records of the run in {folder} were in memory, and are not kept",
            remedy="start another run; what was answered has been charged to the records",
            value=str(folder),
        )
    shut(folder)
    request = msgspec.structs.replace(kept.options, seed=kept.seed)
    return Job(request, sources, folder, person, tell, resumed=True)


def run_local(job: Job) -> LocalRun:
    """The whole of a run; whoever calls closes its ledgers."""
    started = time.perf_counter()
    job, intake, study = prepare(job)
    origin = origin_of(job.request, job.sources, job.name, intake, study.terms)
    job.tell(Note(origin.public.words))
    if job.resumed:
        _require_begun(job, study)
    _tell_of_shifts(job, study)
    weak = weakest(study.commitments, [owner.sample.records for owner in intake.owners])
    for words in (weak, about_few_rows(intake.public, study.terms.rule)):
        if words is not None:
            job.tell(Warned(words))
    with ExitStack() as stack:
        consortium, dataset = _assemble(job, intake, study, origin, stack)
        watch, model = _train(job, consortium, study)
        samples = [owner.sample for owner in intake.owners]
        count = counting(job.tell, "comparing with training alone")
        validation = validate(consortium, study, intake, model, _name_of(job))
        findings = measure(study.terms.objective(), samples, study, watch, model, count)
        quality = _judge(job, intake, study, findings, model)
        stack.pop_all()
    seconds = round(time.perf_counter() - started, 3)
    job.tell(Done(len(study.trace), len(watch.refusals), str(job.folder or "")))
    outcome = (watch, findings, model, job, origin, dataset, quality, seconds, validation)
    return LocalRun(intake, study, consortium, *outcome)


def _judge(job: Job, intake: Intake, study: TrainingPlan, findings: Findings, model: FloatArray) -> Quality:
    """What models are worth, on everybody's records and on each owner's own."""
    objective, known = study.terms.objective(), study.public_model
    models = (model, findings.best_model, None if known is None else objective.project(known))
    count = counting(job.tell, "judging models on each owner's own records")
    quality = measure_quality(objective, intake.owners, intake.dictionary.target, models, count)
    if quality.warning is not None:
        job.tell(Warned(quality.warning))
    return quality


def _tell_of_shifts(job: Job, study: TrainingPlan) -> None:
    """What is predicted if the public rows are of another population; rows of the very same table are not."""
    candidate = study.candidate
    if candidate is not None and job.rows_from_elsewhere and (ends := candidate.forecast.elsewhere) is not None:
        job.tell(Note(f"that is if the public rows fit; if they come from elsewhere, ψ up to {ends[1]:.2g} (95 %)"))


def _seed_before(job: Job) -> int | None:
    """The seed that the records were shuffled with before, if they are known: rows once public stay public."""
    seed = registered_seed(job.request, job.sources, job.tell)
    if seed is not None:
        job.tell(Note(f"the rows of this file are shuffled as before: --seed {seed}"))
    return seed


def prepare(job: Job) -> tuple[Job, Intake, TrainingPlan]:
    """The records and the plan, with everything settled that was left open; nothing is written or spent."""
    check_request(job.request)
    intake = job.sources.intake(job.request, job.tell)
    tell_reading(job.request, intake, job.tell)
    settled = settle_public_rows(job.request, job.sources, intake)
    features = settled_features(job.request, intake)
    intake = hold_back(intake, job.request, _agreed_share(job.request))
    job = replace(job, request=msgspec.structs.replace(job.request, public_rows=settled, features=features))
    intake, study = _plan(job, intake)
    job.tell(Note(_describe(study)))
    return job, intake, study


def _agreed_share(request: TrainRequest) -> float | None:
    """The share of records that agreed terms hold back."""
    return None if request.study is None else open_study(request.study).terms.held_back


def _name_of(job: Job) -> str:
    return "simulation" if job.noise != "secure" else _run_of(job.require_folder())


def _plan(job: Job, intake: Intake) -> tuple[Intake, TrainingPlan]:
    """The study as a file has it, or as the public rows suggest."""
    spec, agreed = make_spec(job.request, intake), job.request.study
    if agreed is None:
        job.tell(Progress("choosing rule, clip and step on the public rows"))
        return intake, design(intake, spec)
    job.tell(Progress("setting up the study"))
    known = add_public_rows(intake, agreed)
    return known, plan_from_terms(open_study(agreed).terms, known, spec)


def _describe(study: TrainingPlan) -> str:
    answers = study.commitments[0].calibration.answers
    many = "answer" if answers == 1 else "answers"
    predicted = "" if math.isnan(study.predicted) else f", ψ predicted on public rows {study.predicted:.2g}"
    shares = study.terms.shares
    menu = f" at shares of {shares[0]} to {shares[-1]} % of its training budget, as the rule chooses" if shares else ""
    return f"rule {study.terms.rule!r}, at most {answers} {many} of each owner{menu}{predicted}"


def _assemble(
    job: Job, intake: Intake, study: TrainingPlan, origin: Origin, stack: ExitStack
) -> tuple[Consortium, DatasetSpending | None]:
    """Owners with their ledgers, after the run is charged to their records, if they are real."""
    if not job.on_record:
        return _gather(job, intake, study, origin, None, None, stack), None
    with Registry() as registry:
        resumed = _run_of(job.require_folder()) if job.resumed else None
        payment = check_payment(registry, job.request, job.sources, study, job.person, resumed, job.tell)
        consortium = _gather(job, intake, study, origin, registry, payment.records, stack)
        dataset = charge(payment, _run_of(job.require_folder()), study, origin)
        job.tell(Charged(dataset.ledger, dataset.epsilon, dataset.delta))
        return consortium, dataset


def _gather(
    job: Job,
    intake: Intake,
    study: TrainingPlan,
    origin: Origin,
    registry: Registry | None,
    records: str | None,
    stack: ExitStack,
) -> Consortium:
    """Owners with their ledgers; for a new run, its folder first."""
    if job.folder is not None:
        allow_open_files(len(intake.owners))
    place = job.request.ledgers or (job.folder or Path()) / "ledgers"
    ledgers = Ledgers(place, job.noise, dataset_of(job.request, records), job.resumed, registry)
    if not job.resumed and job.folder is not None:
        if job.request.ledgers is not None:
            ledgers.check(intake, study)
        make(job.folder)
        if job.noise == "secure":
            _keep_start(job.folder, job.request, study)
    enrolled = enrolled_by(job.person.name, study, origin)
    consortium = assemble(intake, study, noise=job.noise, seed=job.request.seed or 0, make_ledger=ledgers.make)
    for ledger in consortium.ledgers:
        stack.callback(ledger.close)
    for ledger in consortium.ledgers:
        if isinstance(ledger, SqliteLedger):
            ledger.enroll(enrolled)
    return consortium


def _run_of(folder: Path) -> str:
    checkpoint = Checkpoint(folder / "checkpoint.sqlite")
    try:
        return str(checkpoint.run)
    finally:
        checkpoint.close()


def _require_begun(job: Job, study: TrainingPlan) -> None:
    """Refuse to go on with another study than the one that was begun, before any ledger hears of it."""
    checkpoint = Checkpoint(job.require_folder() / "checkpoint.sqlite")
    try:
        checkpoint.require(terms=study.terms.digest(), schedule=study.trace.digest())
    finally:
        checkpoint.close()


def _keep_start(folder: Path, request: TrainRequest, study: TrainingPlan) -> None:
    """What a resumed run needs: how this one was started, and a checkpoint before its first meeting."""
    Start(request, request.seed or 0).write(folder)
    Checkpoint.create(
        folder / "checkpoint.sqlite",
        run=f"{secure().getrandbits(64):016x}",
        terms=study.terms.digest(),
        schedule=study.trace.digest(),
    ).close()


def _train(job: Job, consortium: Consortium, study: TrainingPlan) -> tuple[Watch, FloatArray]:
    """Meet owner after owner; with secure noise, from and to the checkpoint."""
    checkpoint = Checkpoint(job.require_folder() / "checkpoint.sqlite") if job.noise == "secure" else None
    total = len(study.trace)
    watch, position = Watch(total), None
    if checkpoint is not None:
        checkpoint.require(terms=study.terms.digest(), schedule=study.trace.digest())
        position = checkpoint.position(study.rule)
        watch = Watch(total, models=checkpoint.models(), refusals=checkpoint.refusals())
        for entry in checkpoint.log():
            watch.log.note(entry.number, entry.owner, entry.outcome)
            if entry.outcome == "answer":
                watch.note(entry.owner, entry.kind, entry.share, entry.before)
    watch.state = study.rule.begin() if position is None else position.state
    model = study.rule.model(watch.state)
    name = "simulation" if checkpoint is None else checkpoint.run
    oracle = Oracle(study.rule, job.tell, watch.foreseen)
    for iteration in run(consortium, study, name, position):
        if checkpoint is not None:
            checkpoint.save(study.rule, iteration, keep_model=watch.keeps(iteration.number))
        model = study.rule.model(iteration.state)
        watch.see(iteration, model)
        _tell_meeting(job.tell, iteration)
        oracle.see(iteration.state)
        job.tell(Progress("training, meeting by meeting", iteration.number, total))
    oracle.end()
    if checkpoint is not None:
        checkpoint.close()
    return watch, model


def _tell_meeting(tell: Tell, iteration: Iteration[Any]) -> None:
    number, owner, refusal = iteration.number, iteration.query.owner, iteration.refusal
    tell(Answered(number, owner) if refusal is None else Refused(number, owner, refusal.reason))
