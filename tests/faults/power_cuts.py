"""Cut the power at any operation of the disk: every answer that was sent before is still there, byte for byte."""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import power
import world
from toll import Toll

from copriv.errors import CoprivError
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.protocol.messages import Answer
from copriv.protocol.wire import decode_query, decode_reply

CUTS_A_RECORDING = 20
SYNCHRONOUS = {None: "FULL", "off": "OFF"}


def torment(folder, generator, cuts, *, twin=None, tell=lambda: None):
    """Cut the power that many times, recording after recording; stop at the first broken promise."""
    toll = Toll()
    while toll.faults < cuts and toll.clean:
        log, before = record(folder / f"power-{toll.faults}.sqlite", generator, twin)
        toll.counts.update(recordings=1, operations=len(log), syncs=sum(isinstance(o, power.Sync) for o in log))
        for _ in range(min(CUTS_A_RECORDING, cuts - toll.faults)):
            toll.faults += 1
            toll.violations += _cut_once(log[: generator.integers(len(log) + 1)], before, generator, toll)
            tell()
            if not toll.clean:
                break
    return toll


def record(path, generator, twin):
    """An owner's life on a recording disk: all of its budget, closed and opened a few times on the way."""
    world.make_ledger(path)
    log, before = [], {path.name: path.read_bytes()}
    pragmas = ("journal_mode = WAL", f"synchronous = {SYNCHRONOUS[twin]}")
    receipt = None
    with power.recording(log, pragmas, waits=twin is None) as connect:
        for session in range(3):
            with closing(SqliteLedger(path, connect)) as ledger:
                receipt = _serve(world.make_owner(ledger), session, receipt, log, generator)
    return log, before


def _serve(owner, session, receipt, log, generator):
    for number in range(world.ANSWERS // 3):
        query = world.make_query(f"s{session}:{number}", generator.uniform(-1, 1, size=4), receipt)
        reply = owner.handle(query)
        log.append(power.Sent(query, reply))
        receipt = decode_reply(reply).receipt
    return receipt


def _cut_once(log, before, generator, toll):
    sent = [event for event in log if isinstance(event, power.Sent)]
    toll.counts.update(sent=len(sent))
    with TemporaryDirectory() as folder:
        for name, data in power.cut(log, before, generator).items():
            (Path(folder) / name).write_bytes(data)
        try:
            with closing(SqliteLedger(Path(folder) / next(iter(before)))) as ledger:
                ledger.verify()
                return list(_compare(ledger, sent))
        except CoprivError as problem:
            return [f"the ledger cannot be read after a power cut: {problem}"]


def _compare(ledger, sent):
    """What was sent is charged and comes back the same, and life goes on."""
    owner, charged = world.make_owner(ledger), dict(ledger.state().queries)
    for event in sent:
        name = decode_query(event.query).id
        if name not in charged:
            yield f"{name} was sent, and its charge is gone"
        elif owner.handle(event.query) != event.reply:
            yield f"{name} was sent, and its answer is gone"
    if len(charged) < world.ANSWERS and not isinstance(decode_reply(owner.handle(world.make_query("next"))), Answer):
        yield "the owner does not go on after a power cut"
