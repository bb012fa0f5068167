"""A rule that chooses from a menu: along a schedule, with whoever comes, killed at any meeting, and without a liar."""

import dataclasses
import itertools
import sqlite3
from contextlib import closing

import msgspec
import numpy as np
import pytest
from tests import menu_study as study
from tests.choosing_rule import ENTRY, FINER, LOOK, REST, SQUARES

from copriv.errors import BadInput
from copriv.learner.checkpoint import Checkpoint
from copriv.learner.expulsion import rebuild
from copriv.learner.learner import Session, train, train_live
from copriv.learner.scrutiny import check, demand_of, demands_of
from copriv.protocol.messages import Answer, Query, Refusal
from copriv.rules.registry import resolve
from copriv.rules.rule import answer_size
from copriv.schedule.poisson import in_rounds
from copriv.schedule.trace import Meeting
from copriv.transport.in_process import InProcessTransport

NAMES = study.NAMES
PLANNED = [("gradient", LOOK), ("second_moments", SQUARES), ("gradient", REST)]


def session(terms=study.TERMS, **changes):
    demands = {
        name: demands_of(study.commitment_of(place).parts, parameters=4, records=study.SIZES[place])
        for place, name in enumerate(NAMES)
    }
    return dataclasses.replace(Session(study.rule(terms), NAMES, terms.digest(), "run", demands), **changes)


class Owners:
    """Three owners with their ledgers; remembers what was asked."""

    def __init__(self, terms=study.TERMS):
        made = [study.make_owner(place, terms) for place in range(3)]
        self.ledgers = {owner.name: ledger for owner, ledger in made}
        self.transport, self.asked = InProcessTransport([owner for owner, _ in made]), []

    def ask(self, query):
        self.asked.append(query)
        return self.transport.ask(query)

    def asked_of(self, name):
        return [(query.kind, query.share) for query in self.asked if query.owner == name]

    def spent(self):
        return [ledger.state().spent for ledger in self.ledgers.values()]


def rounds(answers):
    return in_rounds((answers,) * 3, np.random.default_rng(5)).meetings


def test_every_owner_is_asked_for_its_shares_and_further_meetings_pass():
    owners = Owners()
    done = list(train(session(), rounds(5), owners))
    assert [owners.asked_of(name) for name in NAMES] == [PLANNED] * 3
    assert len(done) == 9
    assert [iteration.number for iteration in done] == list(range(1, 10))
    assert all(isinstance(iteration.reply, Answer) for iteration in done)


def test_rounds_meet_everybody_before_anybody_again():
    met = [meeting.owner for meeting in in_rounds((3, 1, 2), np.random.default_rng(1))]
    assert sorted(met[:3]) == [0, 1, 2]
    assert sorted(met[3:5]) == [0, 2]
    assert met[5:] == [0]
    with pytest.raises(BadInput):
        in_rounds((), np.random.default_rng(1))


def test_a_meeting_that_passes_in_between_counts():
    meetings = [Meeting(float(k), 0) for k in range(4)] + [Meeting(9.0, 1)]
    *_, last = train(session(), meetings, Owners())
    assert (last.number, last.query.id, last.query.owner) == (5, "run:5", "north")


@pytest.mark.parametrize("kept", [0, 1, 4, 7, 9])
def test_a_run_that_was_killed_goes_on_with_what_it_meant_to_ask(tmp_path, kept):
    owners, meetings = Owners(), rounds(4)
    with closing(Checkpoint.create(tmp_path / "c.sqlite", run="run", terms="t", schedule="s")) as checkpoint:
        for iteration in itertools.islice(train(session(), meetings, owners), kept):
            checkpoint.save(session().rule, iteration)
        position = checkpoint.position(session().rule)
        *_, killed = list(train(session(), meetings, owners, position)) or [None]
        *_, again = list(train(session(), meetings, owners, position)) or [None]
    assert (killed and killed.state.tobytes()) == (again and again.state.tobytes())
    assert [len(ledger.state().queries) for ledger in owners.ledgers.values()] == [3, 3, 3]


class Pool(Owners):
    """Owners that come when they want: in a pattern, until they are finished."""

    def __init__(self, pattern):
        super().__init__()
        self.pattern, self.finished = itertools.cycle(pattern), []

    def ready(self, number):
        if len(self.finished) == 3:
            return None
        place = next(place for place in self.pattern if NAMES[place] not in self.finished)
        return Meeting(float(number), place)

    wait = ahead = ready

    def visit(self, owner, *, absent):
        return None if NAMES[owner] in self.finished and not absent else Meeting(0.0, owner)


@pytest.mark.parametrize("pattern", [(0, 1, 2), (0, 0, 0, 0, 1, 2), (2, 2, 1, 0)])
def test_an_owner_whom_nothing_is_left_to_ask_is_met_no_more(tmp_path, pattern):
    pool, learning = Pool(pattern), session()
    with closing(Checkpoint.create(tmp_path / "c.sqlite", run="run", terms="t", schedule="s")) as checkpoint:
        for iteration in train_live(learning, pool, pool, checkpoint, horizon=30, finish=pool.finished.append):
            checkpoint.hold(learning.rule, iteration)
        checkpoint.flush()
        log, told = checkpoint.log(), checkpoint.answers()
    assert sorted(pool.finished) == sorted(NAMES)
    assert [pool.asked_of(name) for name in NAMES] == [PLANNED] * 3
    assert [entry.number for entry in log] == list(range(1, 10))
    assert [(entry.kind, entry.share) for entry in log] == [(query.kind, query.share) for query in pool.asked]
    everybody = rebuild(learning.rule, NAMES, told)
    assert np.array_equal(learning.rule.model(everybody), learning.rule.model(iteration.state))


def test_a_query_that_is_open_keeps_its_kind_and_share(tmp_path):
    learning, owners = session(), Owners()
    with closing(Checkpoint.create(tmp_path / "c.sqlite", run="run", terms="t", schedule="s")) as checkpoint:
        *_, last = train(learning, rounds(1), owners)
        checkpoint.save(learning.rule, last)
        position = checkpoint.position(learning.rule)
        query = learning.question(position, 1)
        checkpoint.intend(query, sequel=None)
        assert (query.kind, query.share) == ("second_moments", SQUARES)
        assert checkpoint.position(learning.rule).unanswered == {"north": query}


def test_an_answer_at_another_share_is_garbage():
    owner, _ = study.make_owner(1)
    learning = session()
    query = learning.question(learning.start(), 1)
    cheap = owner.answer(msgspec.structs.replace(query, share=SQUARES))
    demand = learning.demands["north"]["gradient", LOOK]
    assert check(query, cheap, answer_size("gradient", 4), demand).reason == "garbage"


def test_an_answer_is_made_finer_and_only_the_difference_is_paid():
    owners = Owners(study.REFINED)
    done = list(train(session(study.REFINED), rounds(5), owners))
    assert all(isinstance(iteration.reply, Answer) for iteration in done)
    steps = [(query.share, query.before) for query in owners.asked if query.owner == "north"]
    assert steps == [(LOOK, 0), (SQUARES, 0), (FINER, LOOK), (LOOK, 0)]
    paid = [iteration.reply.release.nano for iteration in done if iteration.query.owner == "north"]
    assert paid == [200_000_000, 150_000_000, 450_000_000, 200_000_000]
    assert owners.spent() == [10**9] * 3


def test_what_was_made_finer_survives_in_the_checkpoint(tmp_path):
    owners, learning = Owners(study.REFINED), session(study.REFINED)
    with closing(Checkpoint.create(tmp_path / "c.sqlite", run="run", terms="t", schedule="s")) as checkpoint:
        for iteration in train(learning, rounds(4), owners):
            checkpoint.save(learning.rule, iteration)
        log, told = checkpoint.log(), checkpoint.answers()
    assert [(entry.share, entry.before) for entry in log] == [(query.share, query.before) for query in owners.asked]
    assert {entry.level for entry in log if entry.before} == {REST}
    everybody = rebuild(learning.rule, NAMES, told)
    assert np.array_equal(learning.rule.model(everybody), learning.rule.model(iteration.state))


def test_a_checkpoint_from_before_there_were_levels_is_taken_over(tmp_path):
    owners, learning, path = Owners(), session(), tmp_path / "c.sqlite"
    with closing(Checkpoint.create(path, run="run", terms="t", schedule="s")) as checkpoint:
        *_, last = train(learning, rounds(1), owners)
        checkpoint.save(learning.rule, last)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE reply DROP COLUMN level_before")
        connection.commit()
    with closing(Checkpoint(path)) as checkpoint:
        assert [entry.before for entry in checkpoint.log()] == [0]
        assert [told.ask.before for told in checkpoint.answers()] == [0]


def test_a_finer_answer_has_the_noise_of_its_level_and_the_price_of_the_step():
    """Liars: the coarse answer again, the whole price, the noise of the step alone, and another level's answer."""
    owner, _ = study.make_owner(1, study.REFINED)
    demands = session(study.REFINED).demands["north"]
    first = Query("a", study.REFINED.digest(), "north", (0.0,) * 4, None, "gradient", LOOK)
    coarse = owner.answer(first)
    query = msgspec.structs.replace(first, id="b", share=FINER, before=LOOK)
    fine, demand = owner.answer(query), demand_of(demands, query)
    assert check(query, fine, 4, demand) == fine
    assert demand_of(demands, first).release.nano == coarse.release.nano
    step = {"id": "b", "release": msgspec.structs.replace(coarse.release, query="b")}
    lies = [
        msgspec.structs.replace(coarse, **step),
        msgspec.structs.replace(fine, release=msgspec.structs.replace(fine.release, nano=650_000_000)),
        msgspec.structs.replace(fine, release=msgspec.structs.replace(fine.release, scale=2 * fine.release.scale)),
        owner.answer(msgspec.structs.replace(first, id="c", share=SQUARES)),
    ]
    for lie in lies:
        assert check(query, msgspec.structs.replace(lie, id="b"), 4, demand).reason == "garbage"
    missing = Refusal("b", "north", "unfounded", "no such answer")
    assert check(query, missing, 4, demand) == missing


def test_a_rule_that_does_not_choose_is_not_set_up_with_a_menu():
    terms = msgspec.structs.replace(study.TERMS, rule="averaged")
    with pytest.raises(BadInput, match="does not choose"):
        resolve("averaged").make(terms, None)
    with pytest.raises(BadInput, match="menu"):
        dataclasses.replace(ENTRY, chooses=False)
