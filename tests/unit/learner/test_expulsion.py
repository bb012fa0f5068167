"""Whoever is caught lying leaves nothing behind: the state is that of a study without it, also after a kill."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from copriv.errors import CoprivError
from copriv.learner.checkpoint import Checkpoint, Expelled
from copriv.learner.expulsion import rebuild, run_name, still_planned
from copriv.learner.learner import Iteration, Session, train
from copriv.learner.roster import Roster, meetings_of, rule_of
from copriv.learner.scrutiny import garbage
from copriv.privacy.release import Release
from copriv.protocol.meeting import Hello
from copriv.protocol.messages import Answer
from copriv.protocol.plain_terms import plain_terms
from copriv.rules.setting import NoiseModel
from copriv.schedule.trace import Meeting
from copriv.vectors import Norm

NAMES = ("a", "liar", "z")
RELEASE = Release("q", "laplace", 1.0, 1.0, "L1", 1, "epsilon")
RULES = ("paper", "averaged", "statistics", "newton")


def terms_of(rule):
    return plain_terms(parameters=3, horizon=12, rule=rule, answers=4, step=0.05)


def roster_of(names=NAMES):
    sizes = {"a": 40, "liar": 900, "z": 25}
    return Roster(tuple(Hello("0" * 64, name, "1", sizes[name], 10**9, 0.0, "pure", 4) for name in names))


def rule_for(rule, roster, make_sample):
    public = make_sample(records=60, parameters=3)
    return rule_of(terms_of(rule), roster, NoiseModel((0.05,) * len(roster.owners), 0.5, Norm.L1, public))


class Pinned:
    """Owners whose numbers depend on their name, how often they were asked, and nothing else."""

    def __init__(self, size):
        self.size, self.asked, self.given = size, [], {}

    def ask(self, query):
        self.asked.append(query)
        generator = np.random.default_rng([len(self.asked), *query.owner.encode()])
        values = tuple((0.1 * generator.normal(size=self.size)).tolist())
        self.given[query.id] = values
        return Answer(query.id, query.owner, values, RELEASE, "0" * 64)


def meetings(count=9):
    return [Meeting(float(k), k % 3) for k in range(count)]


def run(rule, make_sample, checkpoint):
    full = rule_for(rule, roster_of(), make_sample)
    owners, last = Pinned(full.answer_size), None
    for iteration in train(Session(full, NAMES, "t", checkpoint.run), meetings(), owners):
        checkpoint.save(full, iteration, keep_model=True)
        last = iteration
    return full, owners, last


def caught(last, rule):
    """The next meeting: the liar is caught."""
    query = Session(rule, NAMES, "t", "r").question(_position(last), 1)
    return Iteration(last.number + 1, Meeting(99.0, 1), last.state, query, garbage(query, "is a lie"))


def _position(last):
    from copriv.learner.learner import Position

    return Position(last.number, last.state, {})


@pytest.fixture
def checkpoint(tmp_path):
    with closing(Checkpoint.create(tmp_path / "c.sqlite", run="r", terms="t", schedule="s")) as made:
        yield made


@pytest.mark.parametrize("rule", RULES)
def test_the_state_is_that_of_a_study_without_the_liar(rule, make_sample, checkpoint, tmp_path):
    full, owners, last = run(rule, make_sample, checkpoint)
    honest = roster_of(("a", "z"))
    reduced = rule_for(rule, honest, make_sample)
    rebuilt = rebuild(reduced, honest.names, checkpoint.answers())
    checkpoint.expel(reduced, caught(last, full), rebuilt, "is a lie")
    expected = reduced.begin()
    for query in owners.asked:
        if query.owner != "liar":
            values, asked = np.asarray(owners.given[query.id]), np.asarray(query.theta)
            expected = reduced.absorb(expected, honest.names.index(query.owner), values, asked)
    with closing(Checkpoint(tmp_path / "c.sqlite")) as again:  # as after a kill
        position, found = again.position(reduced), again.expelled()
    assert np.array_equal(reduced.model(position.state), reduced.model(expected))
    assert reduced.pack(position.state) == reduced.pack(expected)
    assert found == [Expelled("liar", 10, "is a lie")]
    assert (position.number, position.pledged) == (10, [])
    # The twin that only stops asking keeps what the liar has said.
    assert not np.array_equal(full.model(last.state), reduced.model(expected))


def test_the_meetings_go_on_and_ids_begin_anew(make_sample, checkpoint, tmp_path):
    full, _, last = run("paper", make_sample, checkpoint)
    honest = roster_of(("a", "z"))
    reduced = rule_for("paper", honest, make_sample)
    checkpoint.expel(reduced, caught(last, full), rebuild(reduced, honest.names, checkpoint.answers()), "why")
    learning = Session(reduced, honest.names, "t", run_name(checkpoint.run, 1))
    owners, planned = Pinned(3), still_planned(meetings(18), NAMES, {"liar": 10})
    for iteration in train(learning, planned, owners, checkpoint.position(reduced)):
        checkpoint.save(reduced, iteration)
    log = checkpoint.log()
    assert [entry.number for entry in log] == list(range(1, 1 + len(planned)))
    assert [query.owner for query in owners.asked] == ["z", "a", "z", "a", "z"]
    assert [entry.outcome for entry in log if entry.owner == "liar"] == ["answer"] * 3 + ["garbage"]
    assert len({entry.query for entry in log}) == len(log)
    assert list(checkpoint.models()) == []


def test_an_open_query_of_another_owner_stays_open_and_the_liars_does_not(make_sample, checkpoint):
    full, _, last = run("paper", make_sample, checkpoint)
    learning = Session(full, NAMES, "t", "r")
    for owner in (0, 1):
        checkpoint.intend(learning.question(_position(last), owner), sequel="z")
    honest = roster_of(("a", "z"))
    reduced = rule_for("paper", honest, make_sample)
    checkpoint.expel(reduced, caught(last, full), rebuild(reduced, honest.names, checkpoint.answers()), "why")
    position = checkpoint.position(reduced)
    assert set(position.unanswered) == {"a"}
    assert position.pledged == []


def test_an_expulsion_is_on_record_whole_or_not_at_all(make_sample, checkpoint):
    full, _, last = run("paper", make_sample, checkpoint)
    reduced = rule_for("paper", roster_of(("a", "z")), make_sample)
    state = rebuild(reduced, ("a", "z"), checkpoint.answers())
    with pytest.raises(TypeError):
        _broken(checkpoint, reduced, caught(last, full), state)
    assert checkpoint.expelled() == []
    assert checkpoint.position(full).number == 9
    assert {entry.outcome for entry in checkpoint.log()} == {"answer"}


def _broken(checkpoint, reduced, iteration, state):
    """A kill between the meeting and the expulsion."""
    write = checkpoint._write

    def fail(*arguments, **options):
        write(*arguments, **options)
        raise TypeError

    checkpoint._write = fail
    checkpoint.expel(reduced, iteration, state, "why")


def test_answers_of_a_version_that_kept_none_cannot_be_taken_out(make_sample, checkpoint, tmp_path):
    full, _, _ = run("paper", make_sample, checkpoint)
    with closing(sqlite3.connect(tmp_path / "c.sqlite")) as connection:
        connection.execute("DROP TABLE expelled")
        for column in ("theta", "answer"):
            connection.execute(f"ALTER TABLE reply DROP COLUMN {column}")
    with closing(Checkpoint(tmp_path / "c.sqlite")) as old:
        assert old.expelled() == []
        assert old.position(full).number == 9
        with pytest.raises(CoprivError, match="did not keep answers"):
            old.answers()


def test_the_horizon_is_that_of_those_that_are_left():
    terms = terms_of("averaged")
    assert meetings_of(terms, roster_of()) - meetings_of(terms, roster_of().without({"liar"})) == 4
