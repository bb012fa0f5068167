"""A hundred thousand messages that no honest learner sends: none of them breaks, charges or charms an owner."""

from contextlib import closing

import msgspec
import numpy as np
import pytest
import world
from garbage import Garbage

from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.sqlite_ledger import SqliteLedger, connect
from copriv.protocol.messages import Answer, Refusal
from copriv.protocol.wire import decode_reply

MESSAGES = 100_000
ANSWERS = 2_000


class Recording:
    """Stands for records: its numbers depend on a secret, and so do the words when it breaks."""

    def __init__(self, secret):
        self.secret, self.seen = secret, 0

    def respond(self, theta, _kind, _share):
        self.seen += 1
        if theta[0] > 0.9 * world.TERMS.limit:
            raise ArithmeticError(f"record 17 is {self.secret}")
        return np.asarray(theta) + self.secret


def _owner(secret, ledger=None):
    ledger = MemoryLedger(world.genesis_of(world.NAMES[0])) if ledger is None else ledger
    responder = Recording(secret)
    return Owner(world.NAMES[0], world.TERMS, world.commitment(ANSWERS), responder, ledger), responder, ledger


def test_no_message_breaks_an_owner_charges_for_a_refusal_or_reveals_a_record():
    """The same messages to two owners with different records: every refusal is the same, byte for byte."""
    one, responder, ledger = _owner(0.25)
    other, _, other_ledger = _owner(-123.5)
    garbage, charge = Garbage(1, "a5" * 32), world.commitment(ANSWERS).calibration.charge.nano
    paid, reasons = set(), set()
    for _ in range(MESSAGES):
        message, before = garbage.message(), ledger.state().spent
        data, other_data = one.handle(message), other.handle(message)
        reply = decode_reply(data)
        if isinstance(reply, Answer) or reply.reason == "failed":
            assert ledger.state().spent - before == charge * (reply.id not in paid)
            paid.add(reply.id)
        else:
            assert ledger.state().spent == before
        if isinstance(reply, Refusal):
            assert data == other_data
            reasons.add(reply.reason)
        else:
            assert decode_reply(other_data).id == reply.id
    assert reasons == {"oversized", "malformed", "terms", "outside", "rollback", "conflict", "failed", "exhausted"}
    assert len(paid) == ANSWERS <= responder.seen
    assert ledger.state().spent == other_ledger.state().spent == ANSWERS * charge


def test_a_ledger_on_disk_gives_the_same_bytes_for_the_same_messages(tmp_path):
    """What a number or a text does to a database, it must not do to an owner."""
    path = world.make_ledger(tmp_path / "ledger.sqlite")
    with closing(SqliteLedger(path, _in_a_hurry)) as ledger:
        on_disk, in_memory = _owner(0.25, ledger)[0], _owner(0.25)[0]
        garbage = Garbage(2, "a5" * 32)
        for _ in range(MESSAGES // 10):
            message = garbage.message()
            assert _without_receipt(on_disk.handle(message)) == _without_receipt(in_memory.handle(message))
        assert ledger.verify() > 100


def _without_receipt(data):
    reply = decode_reply(data)
    return msgspec.structs.replace(reply, receipt="") if isinstance(reply, Answer) else reply


def _in_a_hurry(path):
    connection = connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


@pytest.mark.parametrize("kind", ["zeros", "a query and more", "random"])
def test_what_is_too_large_is_not_even_parsed(monkeypatch, kind):
    def parse(_data):
        pytest.fail("a hundred megabytes were parsed")

    monkeypatch.setattr("copriv.owner.owner.decode_query", parse)
    start = {"zeros": b"", "a query and more": world.make_query("q"), "random": np.random.default_rng(3).bytes(1000)}[
        kind
    ]
    owner, responder, ledger = _owner(0.25)
    reply = decode_reply(owner.handle(start.ljust(10**8, b"\0")))
    assert reply.reason == "oversized"
    assert (responder.seen, ledger.state().spent) == (0, 0)
