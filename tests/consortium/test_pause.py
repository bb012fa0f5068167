"""A paused owner: nothing leaves, not even what was being worked out; when it is back, that goes out for free."""

import threading
from dataclasses import replace

import pytest
import stage

from copriv.protocol.messages import Answer, Query, Silence
from copriv.runtime import rehearsal
from copriv.runtime.rehearsal import Guest, learner_of
from copriv.transport import nats_owner

QUERY = Query("run:1", stage.TERMS.digest(), "east", (0.0,) * stage.TERMS.parameters)


@pytest.fixture
def scene(tmp_path):
    """An owner that somebody pauses in the middle of its first answer."""
    paused, worked_out = threading.Event(), []
    with stage.stage(tmp_path, names=("east",)) as (quarters, crowd, _):
        owner = stage.make_owner("east")

        async def handle(data):
            worked_out.append(owner.handle(data))
            if len(worked_out) == 1:
                paused.set()
            return worked_out[-1]

        desk = replace(
            rehearsal.desk_of(Guest(owner, stage.RECORDS, ledger=owner.ledger), stage.TERMS),
            handle=handle,
            paused=paused.is_set,
        )
        crowd.enter(owner, desk=desk)
        with learner_of(quarters, stage.TERMS, deadline=1.0) as learner:
            present = learner.gather(lambda present: "east" in present)
            learner.begin(dict(present))
            yield learner, owner, paused, worked_out


def test_what_is_being_worked_out_is_held_back_and_kept(scene):
    learner, owner, paused, worked_out = scene
    assert isinstance(learner.ask(QUERY), Silence)
    assert len(worked_out) == 1
    before = owner.ledger.state()
    assert isinstance(learner.ask(QUERY), Silence)
    assert owner.ledger.state() == before
    paused.clear()
    learner.gather(lambda present: "east" in present)
    reply = learner.ask(QUERY)
    assert isinstance(reply, Answer)
    assert worked_out[1:] == worked_out[:1]
    assert owner.ledger.state().spent == before.spent


class Hasty(nats_owner._Visit):
    """The twin that looks for the mark before an answer only."""

    async def _answer(self, message):
        if not self.desk.paused():
            await self.session.publish(message.reply, await self.desk.handle(message.data))


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr(nats_owner, "_Visit", Hasty)


def test_a_twin_that_looks_too_early_is_caught(hasty, scene):
    learner, *_ = scene
    assert isinstance(learner.ask(QUERY), Answer)
