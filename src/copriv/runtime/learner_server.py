"""What `copriv learner run` does: broker, owners, training, report. Killed at any point, it goes on where it stood.

Nothing is printed: whoever starts it is told what happens, event by event.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from copriv.entropy import secure
from copriv.errors import BadInput, CoprivError
from copriv.forecast.model_errors import model_errors
from copriv.forecast.one_step import unshrunk
from copriv.learner.admission import most_records, objection
from copriv.learner.checkpoint import Checkpoint
from copriv.learner.evaluation import combine
from copriv.learner.public_rows import read_sample
from copriv.learner.receipt_store import ReceiptStore
from copriv.learner.roster import Roster
from copriv.losses.sample import Sample
from copriv.owner.registry_store import default_folder
from copriv.protocol.commitment import commitment_of
from copriv.protocol.meeting import Hello
from copriv.protocol.terms import Terms
from copriv.records.dictionary import Dictionary
from copriv.records.target import Target
from copriv.runtime.events import Done, Note, Progress
from copriv.runtime.learner_board import Board, lock_of
from copriv.runtime.learner_ending import Ending, add_up
from copriv.runtime.learner_evaluation import Evaluator
from copriv.runtime.learner_outcome import Archive, JointRun, Written
from copriv.runtime.learner_training import Trained, Trainer
from copriv.runtime.network_events import Arrived, Began, Silent, TellNetwork, TurnedAway
from copriv.runtime.oracle import in_the_end
from copriv.schedule.trace import Trace
from copriv.transport.connection_policy import ConnectionPolicy, Sight
from copriv.transport.learner_workspace import LearnerWorkspace
from copriv.transport.nats_learner import NatsLearner
from copriv.transport.renewal_desk import RenewalDesk
from copriv.transport.upkeep import kept_up

_FOR_NOBODY_ELSE = 0o700
_TRIES_FOR_THE_LOCK, _SECONDS_BETWEEN_TRIES = 5, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How a study is run.

    Args:
        folder: the learner's.
        at_least: begin with so many owners; None for all that are invited.
        wait: with `at_least`, seconds to wait for the others, too.
        deadline: seconds that an owner has for an answer.
        connect: use a broker that runs already, and never start one.
        trace: meet owners along this schedule.
    """

    folder: Path
    at_least: int | None = None
    wait: float = 30.0
    deadline: float = 30.0
    connect: bool = False
    trace: Trace | None = None


def run_study(options: ServerOptions, tell: TellNetwork, archive: Archive[Written]) -> Written:
    """Start the broker, wait for the owners, train, and hand out the model; what came of it, as it was written.

    Raises:
        BadInput: an option makes no sense, or nobody is invited.
        CoprivError: a learner is at work in the folder already, or nobody honest is left.
    """
    started = time.perf_counter()
    quarters = LearnerWorkspace(options.folder)
    _require_sensible(options, quarters)
    with (
        _only_one(quarters.folder),
        closing(Board(quarters.folder, quarters.invited(), tell)) as board,
        closing(ReceiptStore(default_folder() / "receipts.sqlite")) as receipts,
        _broker(quarters, options),
        _company(quarters, options, board, receipts) as there,
    ):
        job = Job(quarters, there, board, receipts)
        roster = job.assemble(options)
        if (job.folder / "run.json").is_file():
            return job.hand_out(roster, options.wait, archive)
        return job.finish(job.train(roster, options.trace), started, archive)


@dataclass(frozen=True, slots=True)
class Job:
    """A run about to happen, or about to go on."""

    quarters: LearnerWorkspace
    company: NatsLearner
    tell: TellNetwork
    receipts: ReceiptStore

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.quarters.folder / "run"

    @property
    def terms(self) -> Terms:
        """The study's terms."""
        return self.quarters.study().terms

    def assemble(self, options: ServerOptions) -> Roster:
        """The owners of this run: those it began with, or those that come now."""
        kept, trace = self.folder / "roster.json", options.trace
        if kept.is_file():
            roster = Roster.from_json(kept.read_bytes())
            count = len(roster.owners)
            self.tell(Note(f"going on with {count} owner{'' if count == 1 else 's'}"))
            return roster
        roster = Roster.of(self._gather(options))
        if trace is not None and trace.owners != len(roster.owners):
            raise BadInput(
                f"the recorded schedule is for {trace.owners} owners, and {len(roster.owners)} are here",
                remedy="replay it with as many owners as it was recorded with",
                value=trace.owners,
            )
        self.folder.mkdir(mode=_FOR_NOBODY_ELSE, exist_ok=True)
        draft = self.folder / ".roster.json.new"
        draft.write_bytes(roster.to_json())
        draft.rename(kept)
        return roster

    def _gather(self, options: ServerOptions) -> Mapping[str, Hello]:
        invited = self.quarters.invited()
        needed = len(invited) if options.at_least is None else options.at_least
        until = time.monotonic() + options.wait

        def enough(present: Mapping[str, Hello]) -> bool:
            self.tell(Progress("waiting for owners", len(present), len(invited)))
            patient = options.at_least is not None and time.monotonic() < until
            return len(present) >= needed and (len(present) >= len(invited) or not patient)

        return self.company.gather(enough)

    def train(self, roster: Roster, trace: Trace | None) -> Trained:
        """Meet owner after owner, from and to the checkpoint."""
        checkpoint, public = self._checkpoint(roster), self._public()
        return Trainer(self.terms, self.company, self.tell, checkpoint, roster, public, trace, self.receipts).run()

    def _checkpoint(self, roster: Roster) -> Checkpoint:
        path, terms = self.folder / "checkpoint.sqlite", self.terms.digest()
        if not path.is_file():
            path.with_name(f".{path.name}.new").unlink(missing_ok=True)
            run = f"{secure().getrandbits(64):016x}"
            return Checkpoint.create(path, run=run, terms=terms, schedule=roster.digest())
        checkpoint = Checkpoint(path)
        checkpoint.require(terms=terms, schedule=roster.digest())
        return checkpoint

    def finish(self, trained: Trained, started: float, archive: Archive[Written]) -> Written:
        """Evaluate if the terms allow it, have the run written, and give everybody the model."""
        model = trained.learning.rule.model(trained.position.state)
        ending = Ending(self._evaluator(), self.terms, self._public(), self._target())
        answers, caught = ending.evaluate(trained, tuple(model.tolist()))
        validation, paid, liars = ending.validate(trained, model, {out.owner for out in caught})
        sizes = {hello.owner: hello.records for hello in trained.roster.owners}
        predicted, foreseen = in_the_end(trained.learning.rule, trained.position.state)
        run = JointRun(
            study=self.quarters.study(),
            roster=trained.roster,
            expelled=(*trained.expelled, *caught, *liars),
            log=trained.checkpoint.log(),
            model=model,
            evaluation=combine(answers, sizes) if answers else None,
            evaluated=add_up([{answer.owner: answer.release.nano for answer in answers}, paid]),
            seconds=round(time.perf_counter() - started, 3),
            folder=self.folder,
            errors=model_errors(trained.learning.rule, trained.position.state, None),
            unshrunk=unshrunk(trained.learning.rule, trained.position.state),
            predicted=predicted,
            foreseen=foreseen,
            validation=validation,
        )
        trained.checkpoint.close()
        report = archive.write(run)
        self.company.end(model.tolist())
        self.tell(Done(len(run.meetings()), len(run.refusals()), str(self.folder)))
        return report

    def _evaluator(self) -> Evaluator:
        return Evaluator(self.company, self.quarters.admits, self.receipts, self.tell)

    def _public(self) -> Sample | None:
        path = self.quarters.folder / "public.npz"
        return read_sample(path.read_bytes()) if path.is_file() else None

    def _target(self) -> Target:
        return Dictionary.from_study(self.quarters.study().dictionary).target

    def hand_out(self, roster: Roster, seconds: float, archive: Archive[Written]) -> Written:
        """The study is finished: give its model to owners that were not there at the end."""
        kept = archive.read(self.folder)
        self.tell(Note("the study is finished; handing out its model"))
        left = roster.without(set(kept.expelled))
        self.tell(Began(left.names))
        for owner in kept.expelled:
            self.company.expel(owner, {})
        self.company.begin({hello.owner: hello for hello in left.owners})
        self.company.end(kept.model, everybody=left.names, seconds=seconds)
        self.tell(Done(0, 0, str(self.folder)))
        return kept.report


def _require_sensible(options: ServerOptions, quarters: LearnerWorkspace) -> None:
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
    """Hold the lock of a folder; `copriv learner status` may hold it for a moment, so that one try is not enough."""
    with lock_of(folder).open("w") as lock:
        for attempt in range(_TRIES_FOR_THE_LOCK):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as problem:
                if attempt == _TRIES_FOR_THE_LOCK - 1:
                    raise CoprivError(
                        f"a learner is at work in {folder} already",
                        remedy="let it finish, or stop it first",
                        value=str(folder),
                    ) from problem
                time.sleep(_SECONDS_BETWEEN_TRIES)
        yield


@contextmanager
def _broker(quarters: LearnerWorkspace, options: ServerOptions) -> Iterator[None]:
    """The broker of the folder for as long as this run lasts, also if a killed learner has left it; or somebody's."""
    try:
        yield
    finally:
        if not options.connect:
            quarters.end_broker()


@contextmanager
def _company(
    quarters: LearnerWorkspace, options: ServerOptions, tell: TellNetwork, receipts: ReceiptStore
) -> Iterator[NatsLearner]:
    chance, terms = secure(), quarters.study().terms

    def say(words: str) -> None:
        tell(Note(words))

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
        sees=_seer(tell),
    )
    with kept_up(quarters, say, elsewhere=options.connect):
        company = NatsLearner(quarters.link(), manners, f"{chance.getrandbits(64):016x}")
        try:
            company.open()
            yield company
        finally:
            company.close()


def _seer(tell: TellNetwork) -> Callable[[str, Sight], None]:
    """Tells of owners that come, fall silent or are turned away."""
    kinds: dict[Sight, type[Arrived | Silent | TurnedAway]] = {
        "here": Arrived,
        "silent": Silent,
        "turned away": TurnedAway,
    }
    return lambda owner, sight: tell(kinds[sight](owner))


def _objection(quarters: LearnerWorkspace, terms: Terms, hello: Hello) -> str | None:
    """Why an owner has no place in the study."""
    most = quarters.most_records(hello.owner) or most_records(terms)
    return objection(hello, terms, most, lambda owner: commitment_of(owner, terms))
