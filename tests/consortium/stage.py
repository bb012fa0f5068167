"""A small consortium over a real broker, for tests that break it: real noise, owners in a thread of this process."""

import asyncio
import threading
from contextlib import contextmanager, suppress

import numpy as np

from copriv.learner.checkpoint import Checkpoint
from copriv.learner.learner import Session, train_live
from copriv.learner.roster import Roster, rule_of
from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import make_commitment
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.study_file import StudyFile, dictionary_digest, write_study
from copriv.runtime import rehearsal
from copriv.transport.nats_owner import serve

NAMES = ("east", "north", "west")
RECORDS = 50
DICTIONARY = {"columns": []}
TERMS = plain_terms(horizon=100, step=0.05, dictionary=dictionary_digest(DICTIONARY), answers=500)


def make_owner(name, terms=TERMS):
    generator = np.random.default_rng(sum(name.encode()))
    rows = generator.normal(size=(RECORDS, terms.parameters)) / 4
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    sample = Sample.of_rows(rows, generator.uniform(-1, 1, size=RECORDS))
    commitment = make_commitment(terms, Guarantee.of(10), records=RECORDS, answers=terms.answers)
    ledger = MemoryLedger(begin(name, "records", Guarantee.of(10)))
    owner = Owner(name, terms, commitment, PrivateResponder(sample, commitment), ledger)
    owner.ledger = ledger
    return owner


class Crowd:
    """Owners that serve in threads of their own, each with its own event loop; they can be asked to leave."""

    def __init__(self, quarters):
        self.quarters, self.endings, self._work = quarters, {}, []

    def enter(self, owner, terms=TERMS, link=None, desk=None):
        """Start serving; how it ends is kept by the owner's name."""
        desk = desk or rehearsal.desk_of(rehearsal.Guest(owner, RECORDS), terms)
        link = link or rehearsal.link_of(self.quarters, owner.name)
        runner = asyncio.Runner()
        task = runner.get_loop().create_task(serve(desk, link))

        def live():
            with runner:
                try:
                    self.endings[owner.name] = runner.get_loop().run_until_complete(task)
                except (Exception, asyncio.CancelledError) as problem:  # noqa: BLE001 - tests look at it
                    self.endings[owner.name] = problem

        thread = threading.Thread(target=live)
        thread.start()
        self._work.append((runner.get_loop(), task, thread))
        return lambda: self._dismiss(runner.get_loop(), task, thread)

    def close(self):
        for work in self._work:
            self._dismiss(*work)

    def _dismiss(self, loop, task, thread):
        if thread.is_alive():
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)
        thread.join(30)


@contextmanager
def stage(folder, terms=TERMS, names=NAMES, **lifetime):
    """A broker, a learner's folder with everybody invited, and a crowd that nobody has joined yet."""
    study = write_study(StudyFile(terms, DICTIONARY))
    quarters = rehearsal.make_quarters(folder / "quarters", study, names, **lifetime)
    with quarters.start_broker() as broker:
        crowd = Crowd(quarters)
        try:
            yield quarters, crowd, broker
        finally:
            crowd.close()


class Forgetful(Checkpoint):
    """The unsafe twin: whom the learner is about to ask is not put on record."""

    def intend(self, _query, **_announcement):
        self.flush()


class Course:
    """A live run, meeting by meeting, with its checkpoint."""

    def __init__(self, folder, learner, names=NAMES, terms=TERMS, keeps_intentions=True):
        present = learner.gather(lambda present: set(names) <= set(present))
        roster = Roster.of({name: present[name] for name in names})
        learner.begin({hello.owner: hello for hello in roster.owners})
        self.rule, self.path, self.learner, self.terms = rule_of(terms, roster), folder / "run.sqlite", learner, terms
        self.kind = Checkpoint if keeps_intentions else Forgetful
        self.learning = Session(self.rule, roster.names, terms.digest(), "run")
        Checkpoint.create(self.path, run="run", terms="t", schedule="s").close()
        self._open()

    def _open(self):
        self.checkpoint = self.kind(self.path)
        self.meetings = train_live(
            self.learning,
            self.learner,
            self.learner,
            self.checkpoint,
            horizon=self.terms.horizon,
            position=self.checkpoint.position(self.rule),
        )

    def crash(self):
        """What is only in memory is gone."""
        self.meetings.close()
        self.checkpoint.close()
        self._open()

    def go(self, count):
        """So many meetings more."""
        taken = []
        for iteration in self.meetings:
            self.checkpoint.hold(self.rule, iteration)
            taken.append(iteration)
            if len(taken) == count:
                break
        return taken

    def await_owner(self, name):
        """Wait until an owner is there."""
        self.learner.gather(lambda present: name in present)

    def close(self):
        self.checkpoint.flush()
        log = self.checkpoint.log()
        self.checkpoint.close()
        return log
