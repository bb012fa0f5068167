"""What can go wrong between buildings, with a real broker: nothing overspends, training goes on, somebody is told."""

import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from stage import NAMES, RECORDS, TERMS, Course, make_owner, stage
from wire import Wire

from copriv.errors import BadInput, CoprivError, LedgerFailure
from copriv.protocol.messages import Answer, Query, Silence
from copriv.protocol.wire import decode_query
from copriv.runtime import rehearsal
from copriv.transport.authority import identity_of, issue_client, make_authority
from copriv.transport.certificates import require_valid
from copriv.transport.credentials import write_credentials
from copriv.transport.link import Unwelcome
from copriv.transport.nats_owner import Dismissed, at_once


def spent_once(owners, log):
    """Every paid answer was absorbed, once."""
    used = [(entry.owner, entry.query) for entry in log if entry.outcome == "answer"]
    given = [(owner.name, query) for owner in owners for query in owner.ledger.state().queries]
    return len(used) == len(set(used)) and sorted(used) == sorted(given)


@pytest.fixture
def wired(tmp_path):
    """Three owners, the last of them behind a wire that can misbehave."""
    with stage(tmp_path) as (quarters, crowd, _):
        wire = Wire(quarters.register().port)
        owners = [make_owner(name) for name in NAMES]
        for owner in owners[:-1]:
            crowd.enter(owner)
        behind = replace(rehearsal.link_of(quarters, "west"), port=wire.port)
        crowd.enter(owners[-1], link=behind)
        with rehearsal.learner_of(quarters, TERMS, deadline=0.5) as learner:
            yield Course(tmp_path, learner), wire, owners
            learner.end((0.0,) * 4, seconds=0.2)
        wire.close()


def test_an_owner_that_stalls_is_passed_over_and_asked_the_same_again(wired):
    course, wire, owners = wired
    course.go(10)
    wire.behave("stalled")
    others = course.go(20)
    assert {iteration.query.owner for iteration in others[-10:]} <= {"east", "north"}
    wire.behave("well")
    course.await_owner("west")
    back = course.go(70)
    assert "west" in {iteration.query.owner for iteration in back}
    log = course.close()
    assert len(log) == 100
    assert spent_once(owners, log)


@pytest.mark.parametrize("mood", ["truncating", "reordering"])
def test_a_wire_that_spoils_bytes_breaks_the_link_and_nothing_else(wired, mood):
    course, wire, owners = wired
    course.go(10)
    wire.behave(mood)
    course.go(20)
    wire.behave("well")
    wire.cut()
    course.await_owner("west")
    assert "west" in {iteration.query.owner for iteration in course.go(70)}
    assert spent_once(owners, course.close())


def test_a_cut_wire_is_dialled_again(wired):
    course, wire, owners = wired
    for _ in range(5):
        course.go(10)
        wire.cut()
    course.await_owner("west")
    course.go(50)
    log = course.close()
    assert [entry.number for entry in log] == list(range(1, 101))
    assert spent_once(owners, log)


@pytest.mark.parametrize("remembers", [True, False])
def test_a_learner_that_dies_with_an_answer_in_its_hands(tmp_path, remembers):
    """It goes on and loses nothing; its twin, which keeps no intention on record, loses a paid answer and is caught.

    After the crash, 60 meetings with three owners miss the one that was asked with probability 3e-11.
    """
    with stage(tmp_path) as (quarters, crowd, _):
        owners = [make_owner(name) for name in NAMES]
        for owner in owners:
            crowd.enter(owner)
        with rehearsal.learner_of(quarters, TERMS) as learner:
            course = Course(tmp_path, learner, keeps_intentions=remembers)
            course.go(5)
            asked = next(course.meetings).query.owner
            course.crash()
            if not remembers:
                learner.dismiss(asked)  # somebody else is there when it comes back
            course.go(60)
            learner.end((0.0,) * 4)
        assert spent_once(owners, course.close()) == remembers


def test_garbage_is_refused_reported_and_survived(tmp_path):
    with stage(tmp_path) as (quarters, crowd, _):
        for name in NAMES[:-1]:
            crowd.enter(make_owner(name))
        liar = make_owner("west")
        desk = replace(rehearsal.desk_of(rehearsal.Guest(liar, RECORDS), TERMS), handle=at_once(_garbage(liar)))
        crowd.enter(liar, desk=desk)
        with rehearsal.learner_of(quarters, TERMS) as learner:
            course = Course(tmp_path, learner)
            taken = course.go(100)
            learner.end((0.0,) * 4)
        refused = [iteration for iteration in taken if iteration.refusal]
        assert refused
        assert {(iteration.query.owner, iteration.refusal.reason) for iteration in refused} == {("west", "garbage")}
        assert taken[-1].state.meetings == 100 - len(refused)
        course.close()


def _garbage(owner):
    """Another kind of nonsense every time."""
    turns = iter(range(10**6))

    def handle(data):
        query = decode_query(data)
        answer = msgspec.msgpack.decode(owner.handle(data), type=Answer)
        nonsense = (
            b"\xff\x00not a message",
            b"",
            msgspec.msgpack.encode(msgspec.structs.replace(answer, values=(float("nan"),) * len(query.theta))),
            msgspec.msgpack.encode(msgspec.structs.replace(answer, values=(1.0,))),
            msgspec.msgpack.encode(msgspec.structs.replace(answer, id="another")),
            msgspec.msgpack.encode(msgspec.structs.replace(answer, owner="east")),
        )
        return nonsense[next(turns) % len(nonsense)]

    return handle


def test_a_second_process_of_an_owner_is_turned_away(tmp_path):
    with stage(tmp_path) as (quarters, crowd, _):
        first, second = make_owner("east"), make_owner("east")
        crowd.enter(first)
        with rehearsal.learner_of(quarters, TERMS) as learner:
            learner.gather(lambda present: "east" in present)
            crowd.enter(second)
            learner.gather(lambda _present: isinstance(crowd.endings.get("east"), Dismissed))
            assert "another process" in crowd.endings["east"].problem
            learner.begin({"east": learner.present["east"]})
            assert isinstance(learner.ask(Query("q", TERMS.digest(), "east", (0.0,) * 4)), Answer)
            learner.end((0.0,) * 4)
        assert len(first.ledger.state().queries) == 1
        assert second.ledger.state().spent == 0


def test_a_process_that_is_gone_is_replaced(tmp_path):
    with stage(tmp_path) as (quarters, crowd, _):
        leave = crowd.enter(make_owner("east"))
        with rehearsal.learner_of(quarters, TERMS) as learner:
            learner.gather(lambda present: "east" in present)
            gone = learner.present["east"].instance
            leave()
            crowd.enter(make_owner("east"))
            learner.gather(lambda present: present["east"].instance != gone)
            learner.end((0.0,) * 4)


def test_a_second_learner_does_not_start(tmp_path):
    with stage(tmp_path) as (quarters, _, _), rehearsal.learner_of(quarters, TERMS) as learner:
        found = []

        def intrude():
            try:
                with rehearsal.learner_of(quarters, TERMS):
                    found.append("let in")
            except CoprivError as problem:
                found.append(problem.problem)

        intruder = threading.Thread(target=intrude)
        intruder.start()
        learner.gather(lambda _present: bool(found))
        intruder.join()
    assert found == ["another learner is at work on this study"]


def test_other_terms_are_turned_away(tmp_path):
    with stage(tmp_path) as (quarters, crowd, _):
        other = msgspec.structs.replace(TERMS, clip=0.6)
        crowd.enter(make_owner("east", other), terms=other)
        with rehearsal.learner_of(quarters, TERMS) as learner:
            learner.gather(lambda _present: "east" in crowd.endings)
    assert "approved terms" in crowd.endings["east"].problem


def test_who_comes_late_or_with_other_figures_has_no_place(tmp_path):
    with stage(tmp_path) as (quarters, crowd, _):
        crowd.enter(make_owner("east"))
        with rehearsal.learner_of(quarters, TERMS) as learner:
            present = learner.gather(lambda present: "east" in present)
            learner.begin(dict(present))
            crowd.enter(make_owner("north"))
            learner.gather(lambda _present: "north" in crowd.endings)
            assert "begun without it" in crowd.endings["north"].problem
            learner.end((0.0,) * 4)


def test_a_revoked_owner_is_gone_at_once_and_training_goes_on(tmp_path):
    with stage(tmp_path) as (quarters, crowd, _):
        owners = [make_owner(name) for name in NAMES]
        for owner in owners:
            crowd.enter(owner)
        with rehearsal.learner_of(quarters, TERMS) as learner:
            course = Course(tmp_path, learner)
            course.go(20)
            assert quarters.revoke("west")
            spent = owners[-1].ledger.state().spent
            after = course.go(60)
            learner.end((0.0,) * 4)
        assert {iteration.query.owner for iteration in after} == {"east", "north"}
        assert owners[-1].ledger.state().spent == spent
        course.close()


def test_a_ledger_that_fails_ends_the_owner_and_says_nothing(tmp_path):
    with stage(tmp_path) as (quarters, crowd, _):
        owner = make_owner("east")

        def fail(*_arguments):
            raise LedgerFailure("the disk is full", remedy="free it")

        owner.ledger.store = fail
        crowd.enter(owner)
        with rehearsal.learner_of(quarters, TERMS, deadline=1) as learner:
            learner.begin(dict(learner.gather(lambda present: "east" in present)))
            assert isinstance(learner.ask(Query("q", TERMS.digest(), "east", (0.0,) * 4)), Silence)
    assert isinstance(crowd.endings["east"], LedgerFailure)


def test_a_broker_that_is_killed_and_started_again_loses_nobody(tmp_path):
    with stage(tmp_path) as (quarters, crowd, broker):
        owners = [make_owner(name) for name in NAMES]
        for owner in owners:
            crowd.enter(owner)
        with rehearsal.learner_of(quarters, TERMS) as learner:
            course = Course(tmp_path, learner)
            course.go(30)
            broker._process.kill()
            broker._process.wait()
            with quarters.start_broker():
                course.go(70)
                learner.end((0.0,) * 4)
                log = course.close()
                crowd.close()
    assert [entry.number for entry in log] == list(range(1, 101))
    assert spent_once(owners, log)


def test_strangers_are_told_why(tmp_path):
    """Another authority's certificate, and one that was revoked: a sentence, not a stack of frames."""
    with stage(tmp_path) as (quarters, crowd, _):
        place = quarters.folder / "owners" / "east"
        foreign = issue_client(make_authority(datetime.now(UTC)), identity_of("owner", "east", "1"), datetime.now(UTC))
        write_credentials(place / "owner.key", foreign)
        quarters.revoke("north")
        for name in ("east", "north"):
            crowd.enter(make_owner(name))
        while not {"east", "north"} <= set(crowd.endings):
            time.sleep(0.02)
    for name in ("east", "north"):
        assert isinstance(crowd.endings[name], Unwelcome)
        assert "does not accept our certificate" in crowd.endings[name].problem


def test_clocks_may_differ_by_hours_and_not_by_years():
    """A learner whose clock is half a day ahead still invites owners; an expired certificate is named with its date."""
    ahead = datetime.now(UTC) + timedelta(hours=12)
    pair = issue_client(make_authority(ahead), identity_of("owner", "east", "1"), ahead, days=30)
    require_valid(pair.certificate, datetime.now(UTC))
    with pytest.raises(BadInput, match="expired on"):
        require_valid(pair.certificate, ahead + timedelta(days=31))
    with pytest.raises(BadInput, match="clock"):
        require_valid(pair.certificate, ahead - timedelta(days=400))
