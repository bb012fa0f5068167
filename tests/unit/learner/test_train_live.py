"""A live run that is killed at every point, with and without what the disk was about to keep.

Owners keep what they have answered and refuse an id that comes back with another question, as ledgers do; their noise
cannot be drawn again. So whatever was asked before a crash must be asked the same afterwards, or an answer is lost.
"""

import itertools
import random
import sqlite3
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest

from copriv.learner.checkpoint import Checkpoint
from copriv.learner.learner import Session, train_live
from copriv.privacy.release import Release
from copriv.protocol.messages import Answer, Refusal, Silence
from copriv.rules.paper import PaperRule
from copriv.schedule.trace import Meeting

NAMES = ("a", "b", "c")
RULE = PaperRule(2, (10, 10, 10), (1 / 3,) * 3, 0.1, 1e-5, 1.0)
LEARNING = Session(RULE, NAMES, "t", "r")
HORIZON = 6
RELEASE = Release("q", "laplace", 1.0, 1.0, "L1", 1, "epsilon")


class KillError(Exception):
    """The learner dies here."""


class World:
    """Three owners with their ledgers, a company that picks ahead, and a moment at which the learner dies."""

    def __init__(self, killed_at, silent_at=()):
        self.chance, self.ledgers, self.conflicts = random.Random(3), {name: {} for name in NAMES}, []  # noqa: S311
        self.killed_at, self.silent_at, self.moments, self.gone = killed_at, silent_at, itertools.count(), set()

    def _moment(self):
        moment = next(self.moments)
        if moment == self.killed_at:
            self.gone = set(NAMES)  # after a fall of everything, owners come back one by one
            raise KillError
        return moment

    def ask(self, query):
        if self._moment() in self.silent_at:
            return Silence(query.owner)
        self.gone.discard(query.owner)
        ledger = self.ledgers[query.owner]
        known = ledger.setdefault(query.id, (query.theta, tuple(self.chance.gauss(0, 1) for _ in range(2))))
        if known[0] != query.theta:
            self.conflicts.append(query.id)
            return Refusal(query.id, query.owner, "conflict", "")
        self._moment()
        return Answer(query.id, query.owner, known[1], RELEASE, f"{len(ledger):064x}")

    def ready(self, number):
        return Meeting(float(number), self.chance.randrange(3))

    wait = ahead = ready

    def visit(self, owner, *, absent):
        return Meeting(0.0, owner) if absent or NAMES[owner] not in self.gone else None


class Later:
    """Does what it is given when somebody waits for it, and no sooner."""

    def submit(self, work):
        return SimpleNamespace(result=work)

    def shutdown(self):
        pass


class Lagging(Checkpoint):
    """What is written in the background is on disk no sooner than anybody waits for it: the worst that may happen."""

    def __init__(self, path):
        super().__init__(path)
        self._background = Later()


class Unannounced(Lagging):
    """The unsafe twin: it asks while it is still writing, though nothing on disk says who is next."""

    def intend(self, query, *, sequel=None, announced=False):
        del sequel
        super().intend(query, sequel=None, announced=announced)


def _live(world, path, kind):
    """One life of the learner."""
    checkpoint = kind(path)
    try:
        position = checkpoint.position(RULE)
        for iteration in train_live(LEARNING, world, world, checkpoint, horizon=HORIZON, position=position):
            checkpoint.hold(RULE, iteration)
        checkpoint.flush()
    except KillError:
        checkpoint._writing = None
    finally:
        checkpoint.close()


def _findings(world, path, kind):
    """Run, die, run again; what is wrong in the end."""
    Checkpoint.create(path, run="r", terms="t", schedule="s").close()
    for _ in range(2):
        _live(world, path, kind)
    checkpoint = Checkpoint(path)
    log, position = checkpoint.log(), checkpoint.position(RULE)
    checkpoint.close()
    wrong = [] if [entry.number for entry in log] == list(range(1, HORIZON + 1)) else ["the log has gaps"]
    absorbed = [(entry.owner, entry.query) for entry in log]
    given = [(name, query) for name, ledger in world.ledgers.items() for query in ledger]
    open_queries = [(name, query.id) for name, query in position.unanswered.items()]
    wrong += [f"{each} lost" for each in set(given) - set(absorbed) - set(open_queries)]
    wrong += ["doubled"] if len(set(absorbed)) < len(absorbed) else []
    state = RULE.begin()
    for name, query in absorbed:
        state = RULE.absorb(state, NAMES.index(name), np.asarray(world.ledgers[name][query][1]))
    wrong += [] if np.array_equal(state.central, position.state.central) else ["another model"]
    return wrong + world.conflicts


@pytest.mark.parametrize("kind", [Checkpoint, Lagging])
@pytest.mark.parametrize("silent_at", [(), (2,), (4,), (3, 5)])
def test_nothing_is_lost_or_doubled_wherever_the_learner_dies(tmp_path, kind, silent_at):
    for killed_at in range(2 * HORIZON + 4):
        world = World(killed_at, silent_at)
        assert _findings(world, tmp_path / f"{killed_at}.sqlite", kind) == []


def test_an_intention_that_nothing_announces_loses_answers(tmp_path):
    wrong = [_findings(World(at), tmp_path / f"{at}.sqlite", Unannounced) for at in range(2 * HORIZON)]
    assert any(wrong)


def test_the_sequel_is_asked_the_same_though_its_predecessor_comes_late(tmp_path):
    """After a crash the owner asked last is waited for: only its answer leads to where the sequel was asked."""
    path, world = tmp_path / "c.sqlite", World(killed_at=5, silent_at=range(6, 10))
    assert _findings(world, path, Lagging) == []
    assert next(world.moments) > 10


def test_an_announced_owner_that_has_left_is_not_waited_for(tmp_path):
    path, world = tmp_path / "c.sqlite", World(None)
    world.gone = {"a"}
    world.ready = lambda number: Meeting(0.0, 1 + number % 2)
    assert _findings(world, path, Checkpoint) == []
    assert not world.ledgers["a"]


def test_a_checkpoint_of_the_first_version_is_taken_over(tmp_path):
    path = tmp_path / "c.sqlite"
    Checkpoint.create(path, run="r", terms="t", schedule="s").close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE unanswered DROP COLUMN sequel")
    with closing(Checkpoint(path)) as checkpoint:
        assert checkpoint.position(RULE) is None
