"""The life of a learner process: open the checkpoint, go on where it stands, save after every meeting.

It tells the outside what it does: `r` when it is ready, `k` and a number after every saved meeting, `d` and the state
at the end. With owners elsewhere it also says `q` and a query, and waits for the reply.
"""

from pathlib import Path

import twins
import world
from fuse import Fuse, FusedTransport

import copriv.learner.checkpoint as checkpoints
from copriv.learner.learner import Session, train
from copriv.owner.sqlite_ledger import SqliteLedger, connect
from copriv.protocol.wire import decode_reply, encode
from copriv.schedule.trace import Trace
from copriv.transport.in_process import InProcessTransport

PLACES = (
    "before ask",
    "after ask",
    "before save",
    "after begin immediate",
    "after insert position",
    "after insert reply",
    "after insert newest_receipt",
    "before commit",
    "after commit",
    "after save",
)


class Elsewhere:
    """Owners in another process, behind the channel."""

    def __init__(self, channel):
        self._channel = channel

    def ask(self, query):
        self._channel.send_bytes(b"q" + encode(query))
        return decode_reply(self._channel.recv_bytes())


def learn(channel, folder, run, life, *, elsewhere, menu=False, place=None, countdown=1, twin=None):
    """One life of a run; it ends when the schedule does, or earlier."""
    fuse, rule, folder = Fuse(place, countdown), world.REFINING if menu else world.RULE, Path(folder)
    terms = world.MENU if menu else world.TERMS
    checkpoints._connect = fuse.connecting(checkpoints._connect)
    checkpoint = checkpoints.Checkpoint(folder / "checkpoint.sqlite")
    transport = Elsewhere(channel) if elsewhere else InProcessTransport(_owners(folder, fuse, menu))
    position = checkpoint.position(rule)
    channel.send_bytes(b"r")
    state = rule.begin() if position is None else position.state
    study = Session(rule, world.NAMES, terms.digest(), twins.name_run(run, life, twin), fill=terms.fill)
    meetings = Trace.from_json((folder / "schedule.json").read_bytes()).meetings
    for iteration in train(study, meetings, FusedTransport(transport, fuse), position):
        fuse.around("save", lambda done=iteration, before=state: twins.save(checkpoint, rule, done, before, twin))
        state = iteration.state
        channel.send_bytes(b"k" + str(iteration.number).encode())
    channel.send_bytes(b"d" + rule.pack(state))
    channel.recv_bytes()


def _owners(folder, fuse, menu):
    for name in world.NAMES:
        yield world.make_owner(SqliteLedger(folder / f"{name}.sqlite", fuse.connecting(connect)), name, menu=menu)
