"""What `copriv learner run` does: broker, owners, training, report. Killed at any point, it goes on where it stood."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from copriv.cli.learner_training import Trained, Trainer, keep_receipt
from copriv.cli.progress import bar, heed_termination
from copriv.cli.warning import warn
from copriv.entropy import secure
from copriv.errors import BadInput, CoprivError
from copriv.learner.admission import most_records, objection
from copriv.learner.checkpoint import Checkpoint, Expelled
from copriv.learner.evaluation import Evaluation, combine
from copriv.learner.public_rows import read_sample
from copriv.learner.receipt_store import ReceiptStore
from copriv.learner.roster import Roster
from copriv.learner.scrutiny import check
from copriv.owner.registry_store import default_folder
from copriv.protocol.meeting import Hello
from copriv.protocol.messages import Answer, Query, Silence
from copriv.protocol.terms import Terms
from copriv.report.model_file import read_model
from copriv.report.network_run import JointFigures, JointRun, commitment_of, joint_figures, write_joint
from copriv.runtime.local_folder import PRIVATE
from copriv.runtime.schedule_file import read_trace
from copriv.schedule.trace import Trace
from copriv.transport.connection_policy import ConnectionPolicy
from copriv.transport.learner_workspace import LearnerWorkspace
from copriv.transport.nats_learner import NatsLearner
from copriv.transport.renewal_desk import RenewalDesk
from copriv.transport.upkeep import kept_up

_PATIENCE_FOR_EVALUATION = 3


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of `copriv learner run`, as given."""

    folder: Path
    at_least: int | None
    wait: float
    deadline: float
    connect: bool
    schedule: Path | None


def run_learner(options: RunOptions, *, as_json: bool) -> None:
    """The whole of `copriv learner run`."""
    started = time.perf_counter()
    heed_termination()
    quarters = LearnerWorkspace(options.folder)
    _require_sensible(options, quarters)
    trace = None if options.schedule is None else read_trace(options.schedule)
    console, finished = Console(stderr=True), quarters.folder / "run" / "run.json"
    with (
        _only_one(quarters.folder),
        closing(ReceiptStore(default_folder() / "receipts.sqlite")) as receipts,
        _broker(quarters, options),
        _company(quarters, options, console, receipts) as there,
    ):
        job = Job(quarters, there, console, receipts)
        roster = job.assemble(options, trace)
        if finished.is_file():
            told = job.hand_out(roster, options.wait)
        else:
            told = job.finish(job.train(roster, trace), started)
    if as_json:
        typer.echo(msgspec.json.encode(told).decode())
    else:
        _show(told, Console())


@dataclass(frozen=True, slots=True)
class Job:
    """A run about to happen, or about to go on."""

    quarters: LearnerWorkspace
    company: NatsLearner
    console: Console
    receipts: ReceiptStore

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.quarters.folder / "run"

    @property
    def terms(self) -> Terms:
        """The study's terms."""
        return self.quarters.study().terms

    def assemble(self, options: RunOptions, trace: Trace | None) -> Roster:
        """The owners of this run: those it began with, or those that come now."""
        kept = self.folder / "roster.json"
        if kept.is_file():
            roster = Roster.from_json(kept.read_bytes())
            self.console.print(f"going on with {len(roster.owners)} owners", style="dim", highlight=False)
        else:
            roster = Roster.of(self._gather(options))
            if trace is not None and trace.owners != len(roster.owners):
                raise BadInput(
                    f"the recorded schedule is for {trace.owners} owners, and {len(roster.owners)} are here",
                    remedy="replay it with as many owners as it was recorded with",
                    value=trace.owners,
                )
            self.folder.mkdir(mode=PRIVATE, exist_ok=True)
            draft = self.folder / ".roster.json.new"
            draft.write_bytes(roster.to_json())
            draft.rename(kept)
        return roster

    def _gather(self, options: RunOptions) -> Mapping[str, Hello]:
        invited = self.quarters.invited()
        needed = len(invited) if options.at_least is None else options.at_least
        until = time.monotonic() + options.wait
        with bar(self.console, "waiting for owners") as tell:

            def enough(present: Mapping[str, Hello]) -> bool:
                tell(len(present), len(invited))
                patient = options.at_least is not None and time.monotonic() < until
                return len(present) >= needed and (len(present) >= len(invited) or not patient)

            return self.company.gather(enough)

    def train(self, roster: Roster, trace: Trace | None) -> Trained:
        """Meet owner after owner, from and to the checkpoint."""
        path = self.quarters.folder / "public.npz"
        public = read_sample(path.read_bytes()) if path.is_file() else None
        checkpoint = self._checkpoint(roster)
        return Trainer(self.terms, self.company, self.console, checkpoint, roster, public, trace, self.receipts).run()

    def _checkpoint(self, roster: Roster) -> Checkpoint:
        path, terms = self.folder / "checkpoint.sqlite", self.terms.digest()
        if not path.is_file():
            path.with_name(f".{path.name}.new").unlink(missing_ok=True)
            run = f"{secure().getrandbits(64):016x}"
            return Checkpoint.create(path, run=run, terms=terms, schedule=roster.digest())
        checkpoint = Checkpoint(path)
        checkpoint.require(terms=terms, schedule=roster.digest())
        return checkpoint

    def finish(self, trained: Trained, started: float) -> JointFigures:
        """Evaluate if the terms allow it, write the run folder, and give everybody the model."""
        model = trained.learning.rule.model(trained.position.state)
        answers, caught = self._evaluate(trained, tuple(model.tolist()))
        sizes = {hello.owner: hello.records for hello in trained.roster.owners}
        evaluation: Evaluation | None = combine(answers, sizes) if answers else None
        run = JointRun(
            study=self.quarters.study(),
            roster=trained.roster,
            expelled=(*trained.expelled, *caught),
            log=trained.checkpoint.log(),
            model=model,
            evaluation=evaluation,
            evaluated={answer.owner: answer.release.nano for answer in answers},
            seconds=round(time.perf_counter() - started, 3),
            folder=self.folder,
        )
        trained.checkpoint.close()
        told = joint_figures(run)
        write_joint(run, told)
        self.company.end(model.tolist())
        return told

    def hand_out(self, roster: Roster, seconds: float) -> JointFigures:
        """The study is finished: give its model to owners that were not there at the end."""
        model = read_model(self.folder / "model.json")
        self.console.print("the study is finished; handing out its model", style="dim", highlight=False)
        told = msgspec.json.decode((self.folder / "run.json").read_bytes(), type=JointFigures)
        left = roster.without({out.owner for out in told.expelled})
        for out in told.expelled:
            self.company.expel(out.owner, {})
        self.company.begin({hello.owner: hello for hello in left.owners})
        self.company.end(model.theta, everybody=left.names, seconds=seconds)
        return told

    def _evaluate(self, trained: Trained, model: tuple[float, ...]) -> tuple[list[Answer], list[Expelled]]:
        """Ask every owner that is there for its average loss at the model: a paid query of its own.

        Whoever lies now is named and not counted. The model stays: the others have paid for judging this very one.
        """
        learning, answers, caught = trained.learning, list[Answer](), list[Expelled]()
        if self.terms.evaluations == 0:
            return answers, caught
        for name in [name for name in learning.owners if name in self.company.present and self.quarters.admits(name)]:
            receipt = trained.position.receipts.get(name)
            query = Query(f"{learning.run}:evaluation", learning.terms, name, model, receipt, "loss")
            for _ in range(_PATIENCE_FOR_EVALUATION):
                reply = self.company.ask(query)
                if not isinstance(reply, Silence):
                    break
            else:
                continue
            checked = check(query, reply, 1, learning.demands[name].get("loss"))
            if isinstance(checked, Answer):
                answers.append(checked)
                keep_receipt(self.receipts, trained.roster, checked)
            elif checked.reason == "garbage":
                caught.append(Expelled(name, 0, f"in the evaluation, its answers for training stay: {checked.text}"))
                self.company.dismiss(name)
        return answers, caught


def _require_sensible(options: RunOptions, quarters: LearnerWorkspace) -> None:
    if options.deadline <= 0 or options.wait < 0:
        raise BadInput(
            f"a deadline of {options.deadline:g} and a wait of {options.wait:g} seconds",
            remedy="give a deadline above 0 and a wait of at least 0",
            value=options.deadline,
        )
    invited = len(quarters.invited())
    if invited == 0:
        raise BadInput(
            "nobody is invited", remedy="approve the requests of owners first: copriv learner approve REQUEST", value=0
        )
    if options.at_least is not None and not 1 <= options.at_least <= invited:
        raise BadInput(
            f"--at-least is {options.at_least}",
            remedy=f"give between 1 and {invited}, the number of invited owners",
            value=options.at_least,
        )


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    with (folder / "run.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise CoprivError(
                f"a learner is at work in {folder} already", remedy="let it finish, or stop it first", value=str(folder)
            ) from problem
        yield


@contextmanager
def _broker(quarters: LearnerWorkspace, options: RunOptions) -> Iterator[None]:
    """The broker of the folder for as long as this run lasts, also if a killed learner has left it; or somebody's."""
    try:
        yield
    finally:
        if not options.connect:
            quarters.end_broker()


@contextmanager
def _company(
    quarters: LearnerWorkspace, options: RunOptions, console: Console, receipts: ReceiptStore
) -> Iterator[NatsLearner]:
    chance, terms = secure(), quarters.study().terms

    def say(words: str) -> None:
        console.print(words, style="dim", highlight=False, markup=False)

    manners = ConnectionPolicy(
        terms=terms.digest(),
        meeting=terms.meeting,
        clock=terms.clock,
        deadline=options.deadline,
        admits=quarters.admits,
        pick=chance.randrange,
        jitter=chance.random,
        tell=say,
        objects=lambda hello: _objection(quarters, terms, hello),
        revive=(lambda: None) if options.connect else quarters.keep_broker,
        settle=RenewalDesk(quarters, say).open,
        recall=receipts.newest,
    )
    with kept_up(quarters, say, elsewhere=options.connect):
        company = NatsLearner(quarters.link(), manners, f"{chance.getrandbits(64):016x}")
        try:
            company.open()
            yield company
        finally:
            company.close()


def _objection(quarters: LearnerWorkspace, terms: Terms, hello: Hello) -> str | None:
    """Why an owner has no place in the study."""
    most = quarters.most_records(hello.owner) or most_records(terms)
    return objection(hello, terms, most, lambda owner: commitment_of(owner, terms))


def _show(told: JointFigures, console: Console) -> None:
    table = Table(title=escape(f"{told.study}: what each owner spent"), title_justify="left")
    table.add_column("owner")
    for heading in ("records", "answers", "ε spent", "ε promised"):
        table.add_column(heading, justify="right")
    for entry in told.spent:
        answers = f"{entry.answers} of {entry.most_answers}"
        table.add_row(escape(entry.owner), f"{entry.records:,}", answers, f"{entry.epsilon:.3f}", f"{entry.promised:g}")
    console.print(table)
    if told.evaluation is not None:
        found = told.evaluation
        console.print(
            f"average loss on the owners' records, by paid queries: {found.average_loss:.5f} ± "
            f"{found.standard_error:.5f} (standard error of the noise)"
        )
    for out in told.expelled:
        console.print(f"{out.owner} was expelled ({out.taken_out} of its answers taken out): {out.why}", markup=False)
    if told.meetings < told.horizon:
        console.print(
            f"The study ended after {told.meetings:,} of {told.horizon:,} meetings: nobody is left who would answer.",
            style="bold",
        )
    warn(told.weakness, console)
    console.print(
        f"{told.meetings:,} meetings; unit: one {told.guarantee.unit}; adjacency: {told.guarantee.adjacency}; "
        f"δ = {told.guarantee.delta:g}",
        style="dim",
    )
    console.print(f"model, privacy statement and schedule: {told.run_folder}", style="dim", markup=False)
