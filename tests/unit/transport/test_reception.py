"""Hellos and claims of owners that lie, shout or change their name for themselves: only they notice."""

import asyncio
import random
from dataclasses import dataclass, replace

import msgspec
import pytest

from copriv.protocol.meeting import VERSION, Claim, Hello, TurnedAway, Welcome, decode_notice, encode_notice
from copriv.transport import subjects
from copriv.transport.connection_policy import ConnectionPolicy
from copriv.transport.reception import Reception

TERMS = "0" * 64


@dataclass(frozen=True)
class Said:
    subject: str
    reply: str
    data: bytes


def hello(owner="east", instance="a1", **changes):
    fields = {
        "records": 50,
        "nano_epsilon": 10**9,
        "delta": 0.0,
        "accountant": "pure",
        "answers": 5,
        "version": VERSION,
    } | changes
    return Hello(terms=TERMS, owner=owner, instance=instance, **fields)


def said(notice, owner=None):
    name = owner or notice.owner
    return Said(subjects.hello(name), f"{subjects.inbox(name)}.7", encode_notice(notice))


def claimed(owner="east", instance="a1", number=0):
    return Said(subjects.claim(owner), "", encode_notice(Claim(TERMS, owner, instance, number)))


class Hall:
    """A reception with a clock that stands still, and everything that it says."""

    def __init__(self, replies=None, clock="always", meeting="request", objects=None):
        self.told, self.spoken, self.probes, self.now = [], [], [], 0.0
        self._replies = replies or (lambda _subject: asyncio.sleep(0, False))
        chance = random.Random(4)  # noqa: S311 - it has to repeat
        self.manners = ConnectionPolicy(
            terms=TERMS,
            meeting=meeting,
            clock=clock,
            deadline=1.0,
            admits=lambda _name: True,
            pick=chance.randrange,
            jitter=chance.random,
            tell=self.told.append,
            objects=objects,
        )
        self.reception = Reception(self.manners, self._speak, self._probe, lambda: self.now)

    async def _speak(self, subject, data):
        self.spoken.append((subject, decode_notice(data)))

    async def _probe(self, subject):
        self.probes.append(subject)
        return await self._replies(subject)

    def kinds(self, owner):
        return [type(notice) for subject, notice in self.spoken if f".{owner}." in subject]


async def settle():
    for _ in range(20):
        await asyncio.sleep(0)


async def until(condition):
    for _ in range(20_000):
        if condition():
            return
        await asyncio.sleep(0.001)
    pytest.fail("it never came about")


def test_one_owner_that_says_hello_with_ever_new_instances_keeps_nobody_waiting():
    """The probe never comes back, and the others are in at once; before, one probe a second held everybody up."""
    never = asyncio.Event

    async def scene():
        hall = Hall(replies=lambda _subject: never().wait())
        await hall.reception.on_hello(said(hello("west")))
        for number in range(200):
            await hall.reception.on_hello(said(hello("west", f"{number:x}")))
            hall.now += 0.1
        for name in ("east", "north"):
            await hall.reception.on_hello(said(hello(name)))
        await settle()
        assert set(hall.reception.present) == {"west", "east", "north"}
        assert len(hall.probes) == 1
        await hall.reception.close()

    asyncio.run(scene())


def test_a_flood_is_answered_only_so_often_and_told_once():
    async def scene():
        hall = Hall()
        for _ in range(10_000):
            await hall.reception.on_hello(said(hello("west")))
        assert len(hall.spoken) == 20
        await hall.reception.on_hello(said(hello("east")))
        assert hall.kinds("east") == [Welcome]
        assert hall.told == ["west is here, with 50 records", "east is here, with 50 records"]
        hall.now = 10.0
        await hall.reception.on_hello(said(hello("west")))
        assert len(hall.spoken) == 22

    asyncio.run(scene())


@pytest.mark.parametrize("clock", ["always", "poisson"])
def test_claims_are_bounded_for_each_owner(clock):
    async def scene():
        hall = Hall(clock=clock, meeting="request" if clock == "poisson" else "broadcast")
        for name in ("east", "west"):
            await hall.reception.on_hello(said(hello(name, rate=1.0)))
        hall.reception.begin(dict(hall.reception.present))
        for _ in range(1000):
            await hall.reception.on_claim(claimed("west"))
        await hall.reception.on_claim(claimed("east"))
        met = [hall.reception.choose(1) for _ in range(30)]
        assert met.count("west") <= 16
        assert met.count("east") == 1
        hall.now = 3.0
        for _ in range(100):
            await hall.reception.on_claim(claimed("west"))
        later = [hall.reception.choose(2) for _ in range(100)]
        assert later.count("west") <= (10 if clock == "poisson" else 16)

    asyncio.run(scene())


WRONG = {
    "terms": "0" * 63,
    "owner": "we st",
    "instance": "a\r\nPUB x 1\r\n",
    "records": 0,
    "nano_epsilon": 0,
    "delta": float("nan"),
    "accountant": "none",
    "answers": 10**10,
    "rate": float("inf"),
}


@pytest.mark.parametrize("field", WRONG)
def test_a_hello_out_of_range_is_turned_away_and_its_owner_is_not_there(field):
    async def scene():
        hall = Hall()
        wrong = msgspec.structs.replace(hello("west"), **{field: WRONG[field]})
        await hall.reception.on_hello(said(wrong, "west"))
        assert "west" not in hall.reception.present
        assert hall.kinds("west") == [TurnedAway]
        assert hall.told == ["west is turned away: its hello is not one of this protocol"]

    asyncio.run(scene())


@pytest.mark.parametrize("instance", ["", "a b", "a.b", "a\r\n", "a*", ">", "A1", "g", "0" * 65, "a\n", "\x1b[2J"])
def test_only_a_plain_instance_becomes_part_of_a_subject(instance):
    async def scene():
        hall = Hall()
        await hall.reception.on_hello(said(hello("west", "a1")))
        await hall.reception.on_hello(said(hello("west", instance)))
        await settle()
        assert hall.reception.present["west"].instance == "a1"
        assert hall.probes == []

    asyncio.run(scene())


def test_an_objection_is_worked_out_aside_and_only_so_often():
    """What an owner promises may take seconds to work out: others come in meanwhile, and figures change a few times."""
    import threading

    free, judged = threading.Event(), []

    def objects(who):
        judged.append(who.records)
        assert who.owner == "east" or free.wait(20)
        return None if who.records == 50 else f"it has {who.records} records"

    async def scene():
        hall = Hall(objects=objects)
        await hall.reception.on_hello(said(hello("west", records=51)))
        await hall.reception.on_hello(said(hello("east")))
        await until(lambda: "east" in hall.reception.present)
        free.set()
        for records in range(52, 90):
            await until(lambda: hall.reception._account("west").visit is None)
            hall.now += 1
            await hall.reception.on_hello(said(hello("west", records=records)))
        assert len(judged) <= 9
        assert "west" not in hall.reception.present
        assert hall.told[-1].endswith("again and again")
        await hall.reception.close()

    asyncio.run(scene())


def test_what_goes_wrong_aside_is_told_and_ends_nothing():
    def objects(_who):
        raise RuntimeError("[/x]\x1b")

    async def scene():
        hall = Hall(objects=objects)
        await hall.reception.on_hello(said(hello("west")))
        await until(lambda: hall.reception._account("west").visit is None)
        assert "could not be considered" in hall.told[-1]
        assert hall.told[-1].isprintable()

    asyncio.run(scene())


def test_an_expelled_owner_is_told_and_never_met():
    async def scene():
        hall = Hall()
        for name in ("east", "west"):
            await hall.reception.on_hello(said(hello(name)))
        everybody = dict(hall.reception.present)
        hall.reception.begin(everybody)
        hall.reception.expel("west")
        hall.reception.begin({"east": everybody["east"]})
        await hall.reception.on_hello(said(hello("west", "b2")))
        assert "expelled" in hall.spoken[-1][1].text
        assert {hall.reception.choose(1) for _ in range(20)} == {"east"}

    asyncio.run(scene())


def test_of_several_that_are_there_who_was_met_least_is_met_first():
    async def scene():
        hall, names = Hall(), ("east", "north", "west")
        for name in names:
            await hall.reception.on_hello(said(hello(name)))
        hall.reception.begin(dict(hall.reception.present))
        met = [hall.reception.choose(number) for number in range(60)]
        assert any(set(met[k : k + 3]) != set(names) for k in range(0, 60, 3))  # anybody, in any order
        hall.reception.prefer({"north": 2})
        assert {hall.reception.choose(0) for _ in range(2)} <= {"east", "west"}
        assert {hall.reception.choose(0) for _ in range(2)} <= {"east", "west"}
        met = [hall.reception.choose(number) for number in range(30)]
        assert all(set(met[k : k + 3]) == set(names) for k in range(0, 30, 3))  # in rounds
        hall.reception.dismiss("east")
        assert "east" not in {hall.reception.choose(0) for _ in range(10)}

    asyncio.run(scene())


def test_who_stays_silent_again_and_again_is_met_less_and_less_often():
    async def scene():
        hall, pauses = Hall(), []
        await hall.reception.on_hello(said(hello("west")))
        hall.reception.begin(dict(hall.reception.present))
        for _ in range(8):
            hall.reception.note_silence("west")
            hall.now += 0.3
            await hall.reception.on_hello(said(hello("west")))
            began = hall.now
            while hall.reception.choose(1) is None:
                hall.now += 0.5
            pauses.append(hall.now - began)
        assert pauses[:2] == [0.0, 0.0]
        assert pauses[2:] == sorted(pauses[2:])
        assert pauses[-1] > 20
        hall.reception.note_reply("west")
        hall.reception.note_silence("west")
        await hall.reception.on_hello(said(hello("west")))
        assert hall.reception.choose(1) == "west"

    asyncio.run(scene())


def test_a_process_that_was_sent_away_comes_back_under_a_new_word_later_and_later():
    async def scene():
        hall, waits = Hall(), []
        await hall.reception.on_hello(said(hello("west", "0")))
        hall.reception.begin(dict(hall.reception.present))
        for life in range(1, 7):
            hall.reception.send_away("west")
            began = hall.now
            while hall.reception.choose(1) is None:
                await hall.reception.on_hello(said(hello("west", f"{life}")))
                await settle()
                hall.now += 0.25
            waits.append(hall.now - began)
        assert waits[0] <= 0.5
        assert waits == sorted(waits)
        assert waits[-1] >= 31

    asyncio.run(scene())


def test_the_twin_that_probes_while_it_listens_is_caught():
    """The old way, one probe after the other before anything else is heard: nobody else gets in."""

    class Attentive(Reception):
        async def on_hello(self, message):
            await super().on_hello(message)
            visits = [account.visit for account in self._accounts.values() if account.visit]
            await asyncio.gather(*visits)

    async def scene():
        hall = Hall(replies=lambda _subject: asyncio.Event().wait())
        hall.reception = Attentive(hall.manners, hall._speak, hall._probe)
        listening = asyncio.create_task(_listen(hall))
        await settle()
        assert "east" not in hall.reception.present
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)

    async def _listen(hall):
        for notice in (hello("west", "1"), hello("west", "2"), hello("east")):
            await hall.reception.on_hello(said(notice))

    asyncio.run(scene())


def test_a_second_process_is_turned_away_while_the_first_replies():
    async def scene():
        hall = Hall(replies=lambda _subject: asyncio.sleep(0, True))
        await hall.reception.on_hello(said(hello("west", "1")))
        await hall.reception.on_hello(said(hello("west", "2")))
        await settle()
        assert hall.kinds("west") == [Welcome, TurnedAway]
        assert hall.reception.present["west"].instance == "1"

    asyncio.run(scene())


def test_a_reply_elsewhere_is_not_given():
    async def scene():
        hall = Hall()
        await hall.reception.on_hello(replace(said(hello("west")), reply="copriv.inbox.owner.east.1"))
        assert (hall.spoken, hall.reception.present) == ([], {})

    asyncio.run(scene())


def test_another_version_of_the_protocol_is_turned_away():
    async def visit():
        hall = Hall()
        await hall.reception.on_hello(said(hello(version=1)))
        return hall

    hall = asyncio.run(visit())
    assert hall.reception.present == {}
    assert "version 1" in hall.told[0]
