"""Kill whoever makes a new ledger: it is there complete, or not at all, and it can be made afterwards."""

import time
from contextlib import closing
from itertools import count

import world
from fork_server import KILLED
from toll import Toll

from copriv.errors import CoprivError
from copriv.owner.sqlite_ledger import SqliteLedger


def torment(fork_server, folder, generator, kills, *, tell=lambda: None):
    """Kill a creation that many times; stop at the first broken promise."""
    toll, pace, attempts = Toll(), 0.01, count()
    while toll.faults < kills and toll.clean:
        ledger = folder / f"new-{next(attempts)}.sqlite"
        life = fork_server.start("owner_life:create", ledger=str(ledger))
        started = time.perf_counter()
        life.send(b"go")
        if life.receive(generator.uniform(0, 1.2 * pace)) is not None:
            pace = time.perf_counter() - started
        life.kill()
        _, code = life.end()
        toll.faults += code == KILLED
        toll.violations += [] if code in (KILLED, 0) else [f"the creation ended by itself with code {code}"]
        toll.counts.update(there=int(ledger.exists()), missing=int(not ledger.exists()))
        toll.violations += _inspect(ledger)
        tell()
    return toll


def _inspect(path):
    try:
        if not path.exists():
            world.make_ledger(path)
        with closing(SqliteLedger(path)) as ledger:
            return [] if ledger.verify() == 1 else ["a new ledger has more than its first entry"]
    except CoprivError as problem:
        return [f"a ledger that was killed at its making: {problem}"]
