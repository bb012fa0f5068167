"""A hundred thousand messages that no honest owner sends: none ends the learner or spoils its model or its screen.

They go through the learner's own decoding and checking. Along the way an honest owner says hello, claims and answers,
and is heard every time.
"""

import asyncio
import io
import re
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np
import pytest
import world
from hearsay import Hearsay
from rich.console import Console
from rich.progress import Progress

from copriv.learner.admission import objection
from copriv.learner.learner import Session
from copriv.learner.roster import Roster, rule_of
from copriv.learner.scrutiny import demands_of
from copriv.privacy.release import describe
from copriv.protocol.commitment import commitment_of, make_commitment
from copriv.protocol.meeting import VERSION, Hello, encode_notice
from copriv.protocol.messages import Answer, Query
from copriv.protocol.plain_terms import plain_terms
from copriv.report.narrator import Narrator
from copriv.rules.setting import NoiseModel
from copriv.runtime.learner_training import Trouble, refused
from copriv.transport import reception, subjects
from copriv.transport.connection_policy import ConnectionPolicy
from copriv.transport.nats_learner import read_reply
from copriv.transport.reception import Reception

NOTICES, REPLIES = 40_000, 60_000
PARTS = 4
HONEST, LIAR = "north", "west"
PLAIN = re.compile(r"[0-9a-f]{1,64}\Z")
RULES = ("paper", "averaged", "statistics", "newton")


# --- replies ---------------------------------------------------------------------------------------


def terms_of(rule):
    return plain_terms(horizon=100, rule=rule, answers=1 if rule == "statistics" else 24)


def hello_of(name, terms):
    return Hello(terms.digest(), name, "a1", world.RECORDS, 10**9, 0.0, "pure", terms.answers, version=VERSION)


@lru_cache
def learning_of(rule, strict=True):
    """A study with one honest owner and one liar, as the learner sets it up."""
    terms = terms_of(rule)
    roster = Roster(tuple(hello_of(name, terms) for name in (HONEST, LIAR)))
    commitment = make_commitment(terms, world.GUARANTEE, records=world.RECORDS, answers=terms.answers)
    deviation = commitment.calibration.mechanism.noise_std
    made = rule_of(
        terms, roster, NoiseModel((deviation,) * 2, commitment.clip, commitment.norm, world.sample_of("south"))
    )
    demands = demands_of(commitment.parts, parameters=terms.parameters, records=world.RECORDS) if strict else {}
    return Session(made, roster.names, terms.digest(), "run", {HONEST: demands, LIAR: demands}), commitment


def honest_answer(commitment, query, size):
    """Small enough for every bound, and from 0 up, as moments are."""
    release = describe(query.id, commitment.calibration, commitment.sensitivity)
    return Answer(query.id, query.owner, (0.01,) * size, release, "0f" * 32)


class Screen:
    """What people see: the notes of the training command, on a console that understands markup if it is let."""

    def __init__(self):
        self.file = io.StringIO()
        console = Console(file=self.file, width=10_000, force_terminal=False)
        roster = Roster(tuple(hello_of(name, terms_of("paper")) for name in (HONEST, LIAR)))
        self._narrator, self._seen = Narrator(console, Progress(console=console, disable=True), None), set()
        self._trouble = Trouble(_Nobody(), self._narrator, roster)

    def note(self, refusal):
        """Words that were printed once are not printed again: that would take most of the time, and show nothing."""
        words = (refusal.owner, refusal.reason, refusal.text)
        if words not in self._seen:
            self._seen.add(words)
            self._narrator(refused(1, refusal))
        self._trouble.count(refusal.owner, refusal.reason)

    def findings(self):
        text = self.file.getvalue().split("\n")
        return [f"raw: {words!r}" for words in text if not words.isprintable()]


class _Nobody:
    def dismiss(self, _owner):
        pass

    send_away = dismiss


def listen(rule, seed, count, strict=True):
    """What goes wrong while a learner gets so many replies of a liar, with one of an honest owner in a hundred."""
    learning, commitment = learning_of(rule, strict)
    hearsay, screen, wrong = Hearsay(seed, terms_of(rule).digest(), LIAR), Screen(), []
    position, accepted, taken, garbage = learning.start(), 0, 0, 0
    for turn in range(count):
        owner = 0 if turn % 100 == 0 else 1
        query = learning.question(position, owner)
        answer = honest_answer(commitment, query, learning.rule.answer_size)
        plain_answer = msgspec.to_builtins(answer)
        data = msgspec.msgpack.encode(plain_answer) if owner == 0 else hearsay.reply(plain_answer)
        position, checked = learning.take(position, owner, query, read_reply(query, data))
        if isinstance(checked, Answer):
            accepted, taken = accepted + 1, taken + owner
        else:
            garbage += checked.reason == "garbage"
            screen.note(checked)
            wrong += ["an honest owner is refused"] if owner == 0 else []
        if turn % 50 == 0 or accepted > 60:
            wrong += [] if np.all(np.isfinite(learning.rule.model(position.state))) else ["a model that is not finite"]
        if accepted > 60:
            position, accepted = learning.start(), 0
        wrong += ["the reply is for another query"] if (checked.id, checked.owner) != (query.id, query.owner) else []
    wrong += [] if garbage > count / 2 and taken > count / 100 else [f"too easy: {garbage} garbage, {taken} taken"]
    return wrong + screen.findings()


@pytest.mark.parametrize("rule", RULES)
def test_no_reply_ends_the_learner_or_spoils_its_model(rule):
    assert listen(rule, seed=RULES.index(rule), count=REPLIES // PARTS) == []


def test_a_learner_that_believes_its_owners_is_caught(monkeypatch):
    """The twin checks neither numbers nor noise, nor whether its model is finite."""

    def take(self, position, owner, query, reply):
        wrong = not isinstance(reply, Answer) or len(reply.values) != self.rule.answer_size
        return (position, reply) if wrong else (self.absorb(position, owner, query, reply), reply)

    monkeypatch.setattr(Session, "take", take)
    with np.errstate(all="ignore"):
        wrong = listen("averaged", seed=1, count=3000, strict=False)
    assert "a model that is not finite" in wrong or "the reply is for another query" in wrong


# --- hellos and claims -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    subject: str
    reply: str
    data: bytes


class Hall:
    """The learner's reception, and what it says, on a clock that is turned by hand."""

    def __init__(self):
        self.told, self.subjects, self.now, terms = [], [], 0.0, terms_of("paper")
        manners = ConnectionPolicy(
            terms=terms.digest(),
            meeting="broadcast",
            clock="always",
            deadline=1.0,
            admits=lambda _name: True,
            pick=lambda _count: 0,
            jitter=lambda: 0.5,
            tell=self.told.append,
            objects=lambda hello: objection(hello, terms, 100, lambda who: commitment_of(who, terms)),
        )
        self.reception = Reception(manners, self._speak, self._probe, lambda: self.now)

    async def _speak(self, subject, _data):
        self.subjects.append(subject)

    async def _probe(self, subject):
        self.subjects.append(subject)
        return False

    async def hear(self, notice, owner=LIAR, kind="hello"):
        """One message on an owner's subject; what it sets off is waited for."""
        subject = subjects.hello(owner) if kind == "hello" else subjects.claim(owner)
        said = Said(subject, f"{subjects.inbox(owner)}.7", notice)
        await (self.reception.on_hello if kind == "hello" else self.reception.on_claim)(said)
        self.now += 0.25
        if (visit := self.reception._account(owner).visit) is not None:
            await visit

    async def honest(self, number, *, begun):
        """An honest owner says hello and claims a meeting; whether it is heard at once."""
        terms = terms_of("paper").digest()
        welcomed = len(self.subjects)
        await self.hear(encode_notice(hello_of(HONEST, terms_of("paper"))), HONEST)
        claim = {"type": "claim", "terms": terms, "owner": HONEST, "instance": "a1", "number": number}
        await self.hear(msgspec.msgpack.encode(claim), HONEST, "claim")
        if not begun:
            return len(self.subjects) > welcomed and HONEST in self.reception.present
        if not self.reception.places:
            self.reception.begin({name: hello_of(name, terms_of("paper")) for name in (HONEST, LIAR)})
        met = {self.reception.choose(number) for _ in range(40)}
        return len(self.subjects) > welcomed and HONEST in met

    def findings(self):
        wrong = [f"raw: {words!r}" for words in self.told if not words.isprintable() or len(words) > 1000]
        wrong += [f"subject: {subject!r}" for subject in self.subjects if re.search(r"[^A-Za-z0-9._-]", subject)]
        found = self.reception.present.values()
        return wrong + [f"there: {hello}" for hello in found if not PLAIN.match(hello.instance) or hello.records > 100]


async def receive(seed, count, *, begun):
    """What goes wrong with so many hellos and claims; before a study has begun, every fifty at a new reception."""
    wrong, halls = [], []
    hearsay = Hearsay(seed, terms_of("paper").digest(), LIAR)
    for turn in range(count):
        if not halls or (turn % 50 == 0 and not begun):
            halls.append(Hall())
        if (turn % 400 == 0 or not begun) and not await halls[-1].honest(1 + turn, begun=begun):
            wrong.append("an honest owner is not heard")
        await halls[-1].hear(hearsay.notice(), kind=hearsay.chance.choice(("hello", "hello", "claim")))
    welcomed = sum(LIAR in hall.reception.present for hall in halls)
    for hall in halls:
        await hall.reception.close()
        wrong += hall.findings()
    return wrong + ([] if welcomed else ["nothing valid was among them"])


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize("seed", range(PARTS // 2))
def test_no_hello_or_claim_ends_the_learner_or_keeps_others_out(seed, begun):
    assert asyncio.run(receive(seed, NOTICES // PARTS, begun=begun)) == []


def test_a_reception_that_reads_anything_is_caught(monkeypatch):
    """The twin makes a hello of whatever has the right fields."""

    def read(data):
        try:
            fields = msgspec.msgpack.decode(data)
            return Hello(**{name: value for name, value in fields.items() if name != "type"})
        except Exception:  # noqa: BLE001 - it is only a twin
            return None

    monkeypatch.setattr(reception, "_read", read)
    monkeypatch.setattr(reception, "plain", lambda words, **_most: words)
    try:
        wrong = asyncio.run(receive(0, 4000, begun=True))
    except Exception as problem:  # noqa: BLE001 - a crash is a finding, too
        wrong = [repr(problem)]
    assert wrong


# --- over a real broker ----------------------------------------------------------------------------


def test_a_liar_behind_a_real_broker_says_a_thousand_things(tmp_path):
    """Hellos and claims at full speed, and a reply to every query: the honest owner is asked and answers throughout."""
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[1] / "consortium"))
    from liars import babbling
    from stage import RECORDS, TERMS, make_owner, stage

    from copriv.runtime import rehearsal

    told = []
    with stage(tmp_path) as (quarters, crowd, _):
        honest, liar = make_owner("north"), make_owner("west")
        crowd.enter(honest)
        hearsay = Hearsay(9, TERMS.digest(), "west")
        desk = rehearsal.desk_of(rehearsal.Guest(liar, RECORDS), TERMS)
        crowd.enter(liar, desk=_spoiled(desk, liar, hearsay))
        with rehearsal.learner_of(quarters, TERMS, tell=told.append, deadline=5) as learner:
            present = learner.gather(lambda present: len(present) == 2)
            learner.begin(dict(present))
            with babbling(rehearsal.link_of(quarters, "west"), Hearsay(8, TERMS.digest(), "west"), count=700):
                for turn in range(300):
                    reply = learner.ask(Query(f"q{turn}", TERMS.digest(), "west", (0.0,) * 4))
                    assert getattr(reply, "text", "").isprintable()
                    if turn % 30 == 0:
                        found = learner.ask(Query(f"q{turn}", TERMS.digest(), "north", (0.0,) * 4))
                        assert isinstance(found, Answer)
            learner.end((0.0,) * 4, seconds=0.2)
    assert all(words.isprintable() for words in told)
    assert len(honest.ledger.state().queries) == 10


def _spoiled(desk, owner, hearsay):
    from dataclasses import replace

    from copriv.transport.nats_owner import at_once

    def handle(data):
        reply = owner.handle(data)
        return hearsay.reply(msgspec.msgpack.decode(reply)) if data else reply

    return replace(desk, handle=at_once(handle))
