"""The life of an owner process: read a query, answer it, send the answer, until somebody or something kills it."""

from pathlib import Path

import world
from fuse import Fuse, FusedLedger
from twins import disguise

from copriv.owner.sqlite_ledger import SqliteLedger, connect
from copriv.protocol.wire import decode_query

PLACES = (
    "before reserve",
    "after begin immediate",
    "before insert entry",
    "after insert entry",
    "after update ending",
    "after update account",
    "before commit",
    "after commit",
    "before pragma wal_checkpoint(full)",
    "after pragma wal_checkpoint(full)",
    "after reserve",
    "before store",
    "before insert payload",
    "after insert payload",
    "after store",
    "before send",
    "after send",
)


def serve(channel, ledger, place=None, countdown=1, twin=None, answers=world.ANSWERS, menu=False):
    """One owner over one ledger; every message is answered with one message."""
    fuse = Fuse(place, countdown)
    disguised, after_send = disguise(SqliteLedger(Path(ledger), fuse.connecting(connect)), twin)
    owner = world.make_owner(FusedLedger(disguised, fuse), answers=answers, menu=menu)
    channel.send_bytes(b"ready")
    while True:
        reply = owner.handle(channel.recv_bytes())
        fuse.around("send", lambda reply=reply: channel.send_bytes(reply))
        after_send()


def serve_all(channel, folder, menu=False):
    """All owners of the study, each over its own ledger in the folder."""
    ledgers = {name: SqliteLedger(Path(folder) / f"{name}.sqlite") for name in world.NAMES}
    owners = {name: world.make_owner(ledger, name, menu=menu) for name, ledger in ledgers.items()}
    while True:
        data = channel.recv_bytes()
        channel.send_bytes(owners[decode_query(data).owner].handle(data))


def create(channel, ledger):
    """Make a new ledger; to be killed at it."""
    channel.recv_bytes()
    world.make_ledger(Path(ledger))
    channel.send_bytes(b"made")
