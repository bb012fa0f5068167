"""A lying owner costs only itself: over a real broker, with honest owners whose noise is real.

Noise is pinned by keeping the honest owners' answers. Absorbed in the order of the log by a rule that has never heard
of the liar, they give the learner's model, bit for bit; and each was paid for once.
"""

from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from liars import ANSWERS, HELLOS, lying, shouting
from stage import NAMES, RECORDS, TERMS, make_owner, stage

from copriv.learner.admission import objection
from copriv.learner.checkpoint import Checkpoint
from copriv.learner.receipt_store import ReceiptStore
from copriv.learner.roster import Roster, rule_of
from copriv.protocol.commitment import commitment_of
from copriv.protocol.meeting import Hello
from copriv.protocol.messages import Answer, Refusal
from copriv.protocol.wire import decode_query, decode_reply, encode
from copriv.report.event_words import words_of
from copriv.runtime import learner_training, rehearsal
from copriv.runtime.learner_training import Trainer
from copriv.transport.nats_owner import at_once

HONEST, LIAR = NAMES[:-1], NAMES[-1]
# Long enough for the liar to be met three times: the chance that it is not is below 1e-8.
SHORT = msgspec.structs.replace(TERMS, horizon=60)
AVERAGED = msgspec.structs.replace(TERMS, rule="averaged", answers=8)


class Scene:
    """A consortium with one liar, its learner, and what everybody has given and said."""

    def __init__(self, folder, terms):
        self.folder, self.terms, self.told, self.given = folder, terms, [], {}
        self.owners = {name: make_owner(name, terms) for name in NAMES}
        self.screen = []

    def desk(self, name, handle=None, **hello):
        rate = 0.0 if self.terms.clock == "always" else 500.0 if name == LIAR else 5.0
        desk = rehearsal.desk_of(rehearsal.Guest(self.owners[name], RECORDS, rate), self.terms)
        hello = msgspec.structs.replace(desk.hello, **hello)
        return replace(desk, handle=at_once(handle or self._remember(name)), hello=hello)

    def _remember(self, name):
        def handle(data):
            reply = self.owners[name].handle(data)
            if data and isinstance(answer := decode_reply(reply), Answer):
                self.given[name, answer.id] = answer.values, decode_query(data).theta
            return reply

        return handle

    def objects(self, hello):
        return objection(hello, self.terms, 10 * RECORDS, lambda who: commitment_of(who, self.terms))

    def hear(self, event):
        self.screen += filter(None, [words_of(event)])

    def train(self, learner, names):
        """From hello to the last meeting; what is left of the checkpoint is looked at afterwards."""
        present = learner.gather(lambda present: set(names) <= set(present))
        roster = Roster.of({name: present[name] for name in names})
        made = Checkpoint.create(self.folder / "c.sqlite", run="run", terms="t", schedule="s")
        with closing(made) as checkpoint, closing(ReceiptStore(self.folder / "receipts.sqlite")) as receipts:
            trained = Trainer(self.terms, learner, self.hear, checkpoint, roster, None, None, receipts).run()
            self.log, self.trained = checkpoint.log(), trained
        self.model = trained.learning.rule.model(trained.position.state)
        learner.end(self.model.tolist(), seconds=0.5)

    def findings(self, *, expelled):
        """Everything that is wrong."""
        wrong = [] if [out.owner for out in self.trained.expelled] == expelled else ["the liar is still there"]
        wrong += [] if self.trained.roster.names == HONEST else [f"left are {self.trained.roster.names}"]
        wrong += [] if np.all(np.isfinite(self.model)) else ["the model is not finite"]
        rule = rule_of(self.terms, self.trained.roster.without({LIAR}))
        state, used = rule.begin(), []
        for entry in self.log:
            if entry.owner != LIAR:
                values, theta = self.given[entry.owner, entry.query]
                used.append((entry.owner, entry.query))
                state = rule.absorb(state, HONEST.index(entry.owner), np.asarray(values), np.asarray(theta))
        wrong += [] if np.array_equal(rule.model(state), self.model) else ["another model"]
        paid = [len(self.owners[name].ledger.state().queries) for name in HONEST]
        absorbed = [sum(owner == name for owner, _ in used) for name in HONEST]
        wrong += [] if paid == absorbed and len(set(used)) == len(used) else ["honest owners paid for nothing"]
        spoken = [*self.told, *self.screen]
        return wrong + [f"raw: {words!r}" for words in spoken if not words.isprintable()]


@contextmanager
def consortium(folder, terms=SHORT, deadline=30.0):
    scene = Scene(folder, terms)
    with stage(folder, terms) as (quarters, crowd, _):
        for name in HONEST:
            crowd.enter(scene.owners[name], terms, desk=scene.desk(name))
        learner = rehearsal.learner_of(
            quarters, terms, deadline=deadline, tell=scene.told.append, objects=scene.objects
        )
        with learner as company:
            yield scene, company, crowd, quarters


def _enter(scene, crowd, kind, after=0):
    handle = lying(scene.owners[LIAR], scene.terms, RECORDS, kind, after)
    crowd.enter(scene.owners[LIAR], scene.terms, desk=scene.desk(LIAR, handle))


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_lie_costs_the_liar_its_place_and_the_others_nothing(tmp_path, kind):
    """The first two answers are honest: they are taken out with the liar."""
    with consortium(tmp_path) as (scene, learner, crowd, _):
        _enter(scene, crowd, kind, after=2)
        scene.train(learner, NAMES)
    assert scene.findings(expelled=[LIAR]) == []
    assert sum(entry.owner != LIAR for entry in scene.log) == SHORT.horizon
    assert [entry.outcome for entry in scene.log if entry.owner == LIAR] == ["answer", "answer", "garbage"]
    assert any("west is expelled" in words for words in scene.screen)


def test_a_rule_that_ends_with_the_last_answer_forgets_the_liars_share(tmp_path):
    with consortium(tmp_path, AVERAGED) as (scene, learner, crowd, _):
        _enter(scene, crowd, "just outside", after=3)
        scene.train(learner, NAMES)
    assert scene.findings(expelled=[LIAR]) == []
    assert sum(entry.owner != LIAR for entry in scene.log) == 2 * AVERAGED.answers


@pytest.mark.parametrize("twin", ["no demands", "not rebuilt"])
def test_a_learner_that_is_careless_is_caught(tmp_path, monkeypatch, twin):
    """Without checking the answers, and without taking out what the liar had said before."""
    if twin == "no demands":
        monkeypatch.setattr(learner_training, "demands_of", lambda *_arguments, **_options: {})
    else:
        monkeypatch.setattr(learner_training, "rebuild", lambda rule, _names, _answers: rule.begin())
    with consortium(tmp_path) as (scene, learner, crowd, _):
        _enter(scene, crowd, "just outside" if twin == "no demands" else "1e308", after=8)
        scene.train(learner, NAMES)
    assert scene.findings(expelled=[LIAR])


@pytest.mark.parametrize("kind", HELLOS)
def test_a_hello_that_cannot_be_true_is_turned_away(tmp_path, kind):
    with consortium(tmp_path) as (scene, learner, _, quarters):
        hello = msgspec.structs.replace(scene.desk(LIAR).hello, **HELLOS[kind])
        with shouting(rehearsal.link_of(quarters, LIAR), hello, odd=False):
            scene.train(learner, HONEST)
        assert LIAR not in learner.present
    assert scene.findings(expelled=[]) == []
    assert [words for words in scene.told if words.startswith("west")] == [
        words for words in scene.told if "turned" in words
    ]


def test_a_flood_of_hellos_and_instances_blocks_nobody(tmp_path):
    with consortium(tmp_path) as (scene, learner, _, quarters):
        loud = shouting(rehearsal.link_of(quarters, LIAR), scene.desk(LIAR).hello)
        with loud:
            scene.train(learner, HONEST)
    assert scene.findings(expelled=[]) == []
    assert len(scene.log) == SHORT.horizon


def test_a_message_beyond_the_brokers_limit_is_silence_and_nothing_else(tmp_path):
    """The broker cuts the link; who does not answer stays on the roster, and the others finish the study."""
    with consortium(tmp_path, deadline=0.3) as (scene, learner, crowd, _):
        handle = lambda data: b"\0" * 10**6 if data else b""  # noqa: E731
        crowd.enter(scene.owners[LIAR], scene.terms, desk=scene.desk(LIAR, handle))
        scene.train(learner, NAMES)
    assert {entry.owner for entry in scene.log} == set(HONEST)
    assert len(scene.log) == SHORT.horizon
    assert np.all(np.isfinite(scene.model))
    paid = sum(len(scene.owners[name].ledger.state().queries) for name in HONEST)
    assert paid == SHORT.horizon


def test_an_expulsion_survives_a_kill(tmp_path):
    """The checkpoint alone says who is out: the next life goes on without asking the liar anything."""
    with consortium(tmp_path) as (scene, learner, crowd, _):
        _enter(scene, crowd, "no message", after=1)
        present = learner.gather(lambda present: set(NAMES) <= set(present))
        roster = Roster.of({name: present[name] for name in NAMES})
        first = Checkpoint.create(tmp_path / "c.sqlite", run="run", terms="t", schedule="s")
        receipts = ReceiptStore(tmp_path / "receipts.sqlite")
        trainer = Trainer(scene.terms, learner, scene.hear, first, roster, None, None, receipts)
        learner.begin({hello.owner: hello for hello in roster.owners})
        silent = learner_training.Trouble(learner, scene.hear, roster)
        assert trainer._stretch(silent) is None
        first.close()
        with closing(Checkpoint(tmp_path / "c.sqlite")) as second:
            trained = Trainer(scene.terms, learner, scene.hear, second, roster, None, None, receipts).run()
            scene.log, scene.trained = second.log(), trained
        receipts.close()
        scene.model = trained.learning.rule.model(trained.position.state)
        learner.end(scene.model.tolist(), seconds=0.5)
    assert scene.findings(expelled=[LIAR]) == []
    assert sum(entry.outcome == "garbage" for entry in scene.log) == 1


def test_with_nobody_left_the_learner_says_so(tmp_path):
    from copriv.errors import CoprivError

    with consortium(tmp_path) as (scene, learner, crowd, _):
        _enter(scene, crowd, "1e308")
        learner.gather(lambda present: set(NAMES) <= set(present))
        with pytest.raises(CoprivError, match="nobody is left: the answer of 'west'"):
            scene.train(learner, (LIAR,))
        learner.end((0.0,) * 4, seconds=0.5)


@pytest.mark.parametrize("clock", ["poisson", "always"])
def test_whoever_only_refuses_does_not_use_up_the_meetings_of_others(tmp_path, clock):
    """It claims faster than anybody and fails every time: the others are asked all the same."""
    terms = msgspec.structs.replace(TERMS, rule="averaged", answers=2, clock=clock)
    with consortium(tmp_path, terms) as (scene, learner, crowd, _):
        crowd.enter(scene.owners[LIAR], terms, desk=scene.desk(LIAR, _failing))
        scene.train(learner, NAMES)
    answered = Counter(entry.owner for entry in scene.log if entry.outcome == "answer")
    assert answered == dict.fromkeys(HONEST, 2)
    assert [len(scene.owners[name].ledger.state().queries) for name in HONEST] == [2, 2]


def _failing(data):
    return encode(Refusal(decode_query(data).id, LIAR, "failed", "no")) if data else b""


@pytest.mark.parametrize("rate", [5e-324, 1e-9, 1e9])
def test_a_clock_that_would_make_shares_vanish_is_turned_away(rate):
    terms = msgspec.structs.replace(TERMS, clock="poisson")
    hello = Hello(terms.digest(), LIAR, "a1", RECORDS, 10**9, 0.0, "pure", 5, rate)
    assert "ticks" in objection(hello, terms, 0, lambda _hello: None)
