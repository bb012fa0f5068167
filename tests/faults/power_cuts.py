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
# What an owner with a menu is asked in each of three sessions: 84 per cent of its budget. The second answer makes the
# first one finer, at the same model.
SOME = [("gradient", 3, 0), ("gradient", 2, 3), ("second_moments", 15, 0), ("gradient", 5, 0), ("positives", 3, 0)]
SYNCHRONOUS = {None: "FULL", "off": "OFF"}


def torment(folder, generator, cuts, *, twin=None, tell=lambda: None):
    """Cut the power that many times, recording after recording; stop at the first broken promise."""
    toll = Toll()
    while toll.faults < cuts and toll.clean:
        menu = toll.counts["recordings"] % 2 == 1
        log, before = record(folder / f"power-{toll.faults}.sqlite", generator, twin, menu=menu)
        toll.counts.update(recordings=1, operations=len(log), syncs=sum(isinstance(o, power.Sync) for o in log))
        for _ in range(min(CUTS_A_RECORDING, cuts - toll.faults)):
            toll.faults += 1
            toll.violations += _cut_once(log[: generator.integers(len(log) + 1)], before, generator, toll, menu=menu)
            tell()
            if not toll.clean:
                break
    return toll


def torment_beginnings(folder, generator, recordings):
    """Cut the power only where the log begins anew, over entries that the main file has already."""
    toll = Toll()
    for number in range(recordings):
        log, before = record(folder / f"anew-{number}.sqlite", generator, None)
        for place in _beginnings(log):
            toll.faults += 1
            toll.violations += _cut_once(log[:place], before, generator, toll, menu=False)
            if not toll.clean:
                return toll
    return toll


def _beginnings(log):
    """Every place after the head of a log was written, until the log is waited for and the main file written."""
    anew = False
    for place, operation in enumerate(log):
        if isinstance(operation, power.Write) and operation.file.endswith("-wal") and operation.offset == 0:
            anew = True
        elif isinstance(operation, power.Write) and not operation.file.endswith("-wal"):
            anew = False
        if anew:
            yield place + 1


def record(path, generator, twin, *, menu=False):
    """An owner's life on a recording disk: most of its budget, closed and opened a few times on the way."""
    world.make_ledger(path)
    log, before = [], {path.name: path.read_bytes()}
    pragmas = ("journal_mode = WAL", f"synchronous = {SYNCHRONOUS[twin]}")
    receipt = None
    with power.recording(log, pragmas, waits=twin is None) as connect:
        for session in range(3):
            with closing(SqliteLedger(path, connect)) as ledger:
                receipt = _serve(world.make_owner(ledger, menu=menu), session, receipt, log, generator)
    return log, before


def _serve(owner, session, receipt, log, generator):
    theta = None
    for number, choice in enumerate(SOME if owner.commitment.menu else [world.NO_CHOICE] * (world.ANSWERS // 3)):
        theta = theta if choice[2] else generator.uniform(-1, 1, size=4)
        query = world.make_query(f"s{session}:{number}", theta, receipt, choice=choice)
        reply = owner.handle(query)
        log.append(power.Sent(query, reply))
        receipt = decode_reply(reply).receipt
    return receipt


def _cut_once(log, before, generator, toll, *, menu):
    sent = [event for event in log if isinstance(event, power.Sent)]
    toll.counts.update(sent=len(sent))
    with TemporaryDirectory() as folder:
        for name, data in power.cut(log, before, generator).items():
            (Path(folder) / name).write_bytes(data)
        try:
            with closing(SqliteLedger(Path(folder) / next(iter(before)))) as ledger:
                ledger.verify()
                return list(_compare(ledger, sent, menu=menu))
        except CoprivError as problem:
            return [f"the ledger cannot be read after a power cut: {problem}"]


def _compare(ledger, sent, *, menu):
    """What was sent is charged and comes back the same, and life goes on."""
    owner, charged = world.make_owner(ledger, menu=menu), dict(ledger.state().queries)
    going_on = world.make_query("next", choice=("gradient", world.SHARES[0], 0) if menu else world.NO_CHOICE)
    for event in sent:
        name = decode_query(event.query).id
        if name not in charged:
            yield f"{name} was sent, and its charge is gone"
        elif owner.handle(event.query) != event.reply:
            yield f"{name} was sent, and its answer is gone"
    if len(charged) < world.ANSWERS and not isinstance(decode_reply(owner.handle(going_on)), Answer):
        yield "the owner does not go on after a power cut"
