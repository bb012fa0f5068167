"""Owners that lie: in what they say of themselves, in what they answer, and in how they go about it.

Each kind keeps to the broker's rules, because the broker lets nothing else pass: it has an invitation and a
certificate of its own, and does the worst with them.
"""

import asyncio
import math
import threading
from contextlib import contextmanager

import msgspec

from copriv.learner.scrutiny import demands_of
from copriv.protocol.meeting import encode_notice
from copriv.protocol.wire import decode_query
from copriv.transport import subjects
from copriv.transport.link import connect


def _changed(**changes):
    return lambda fields, _demand: fields | changes


def _release(place, value):
    """Mechanism, scale, sensitivity, norm, nano and measure are at 1 to 6 of a release."""

    def change(fields, _demand):
        release = list(fields["release"])
        release[place] = value(release[place]) if callable(value) else value
        return fields | {"release": release}

    return change


def _receipt(value):
    return lambda fields, _demand: fields | {"receipt": value}


def _outside(fields, demand):
    values = list(fields["values"])
    values[1] = math.nextafter(demand.highest[1], math.inf)
    return fields | {"values": values}


def _refusal(reason, text):
    return lambda fields, _demand: {
        "type": "refusal",
        "id": fields["id"],
        "owner": fields["owner"],
        "reason": reason,
        "text": text,
    }


ANSWERS = {
    "1e308": _changed(values=[1e308] * 4),
    "not a number": _changed(values=[math.nan] * 4),
    "infinite": _changed(values=[0.0, -math.inf, 0.0, 0.0]),
    "just outside": _outside,
    "too short": _changed(values=[0.1]),
    "too long": _changed(values=[0.1] * 5),
    "another id": _changed(id="another"),
    "another owner": _changed(owner="east"),
    "negative price": _release(5, -1),
    "wrong price": _release(5, lambda nano: nano // 2),
    "no noise": _release(2, 5e-324),
    "other noise": _release(1, "gaussian"),
    "receipt of 2**63": _receipt([2**63, "0" * 64]),
    "no receipt": _receipt(None),
    "malformed receipt": _receipt("\x1b[2J" + "0" * 60),
    "another receipt": _receipt("F" * 64),
    "markup": _refusal("malformed", "[/x] [bold]"),
    "control characters": _refusal("failed", "\x1b]0;owned\x07\r\n"),
    "the learner's own word": _refusal("garbage", "[/x]"),
    "a long text": _refusal("failed", "x" * 501),
    "an unknown reason": _refusal("bored", ""),
    "no message": lambda _fields, _demand: b"\xff\x00not a message",
    "nothing": lambda _fields, _demand: b"",
    "nested without end": lambda _fields, _demand: b"\x91" * 9000,
    "sixteen thousand bytes": lambda fields, _demand: fields | {"values": [0.0] * 1700},
}


def lying(owner, terms, records, kind, after=0):
    """What an owner of this kind replies, after some honest answers."""
    demand = demands_of([owner.commitment.part("gradient")], parameters=terms.parameters, records=records)[
        "gradient", 0
    ]
    asked = set()

    def handle(data):
        reply = owner.handle(data)
        asked.add(decode_query(data).id if data else "")
        if len(asked - {""}) <= after or not data:
            return reply
        told = ANSWERS[kind](msgspec.msgpack.decode(reply), demand)
        return told if isinstance(told, bytes) else msgspec.msgpack.encode(told)

    return handle


HELLOS = {
    "records of 0": {"records": 0},
    "records below 0": {"records": -5},
    "more records than invited": {"records": 10**9},
    "no epsilon": {"nano_epsilon": 0},
    "an epsilon that overflows": {"nano_epsilon": 10**18, "delta": 1e-6, "accountant": "pld"},
    "a delta that takes all memory": {"nano_epsilon": 1, "delta": 0.999, "accountant": "pld"},
    "a delta of NaN": {"delta": math.nan},
    "an unknown accountant": {"accountant": "[/x]"},
    "answers without end": {"answers": 10**9},
    "an instance with a line break": {"instance": "a\r\nPUB copriv.call 3\r\nabc\r\n"},
}


@contextmanager
def _aside(link, speak):
    """A process of its own certificate that speaks until it is told to stop."""
    stop, started = threading.Event(), threading.Event()

    async def live():
        async with connect(link, link.context()) as session:
            started.set()
            await speak(session, lambda: stop.is_set() or session.lost.is_set())

    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    started.wait(20)
    try:
        yield
    finally:
        stop.set()
        thread.join(20)


def shouting(link, hello, odd=True):
    """Says hello under ever new words and claims every meeting, as fast as it can."""

    async def shout(session, is_over):
        name, number = hello.owner, 0
        while not is_over():
            number += 1
            new = msgspec.structs.replace(hello, instance=f"{number:x}") if hello.instance.isalnum() else hello
            inbox = f"{subjects.inbox(name)}.{number}"
            await session.client.publish(subjects.hello(name), encode_notice(new), inbox)
            if odd:
                await session.client.publish(subjects.hello(name), b"\xff" * 300, inbox)
                await session.client.publish(subjects.claim(name), b"\x91" * 900)
            await asyncio.sleep(0.002)

    return _aside(link, shout)


def babbling(link, hearsay, count):
    """Says so many odd things on its own subjects."""

    async def babble(session, is_over):
        name = subjects.sender(link.inbox)
        for number in range(count):
            if is_over():
                return
            subject = subjects.claim(name) if number % 3 == 0 else subjects.hello(name)
            await session.client.publish(subject, hearsay.notice(), f"{subjects.inbox(name)}.{number}")
            if number % 50 == 0:
                await asyncio.sleep(0.005)

    return _aside(link, babble)
