"""A process with owners in it: `python -m benchmarks.owners_elsewhere QUARTERS RECORDS NAME …`.

Real records, secure noise, a durable ledger for each owner and a link of its own to the broker. Each owner also echoes
whatever comes on one more subject, as bare request and reply. One line of JSON on standard output, when all are there:
the memory of the process before and after.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import numpy as np

from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import make_commitment
from copriv.protocol.terms import Terms
from copriv.runtime.rehearsal import Guest, desk_of, link_of
from copriv.transport import subjects
from copriv.transport.learner_workspace import LearnerWorkspace
from copriv.transport.link import connect
from copriv.transport.nats_owner import serve

ECHO = "echo"


def make_owner(folder: Path, name: str, terms: Terms, records: int) -> Owner:
    """An owner with a ledger on disk, new or as it was."""
    generator = np.random.default_rng(sum(name.encode()))
    rows = generator.normal(size=(records, terms.parameters)) / 10
    sample = Sample.of_rows(rows, np.clip(generator.normal(size=records), -1, 1))
    guarantee = Guarantee.of(1000)
    commitment = make_commitment(terms, guarantee, records=records, answers=terms.answers)
    path = folder / f"{name}.sqlite"
    ledger = SqliteLedger(path) if path.exists() else SqliteLedger.create(path, begin(name, "records", guarantee))
    return Owner(name, terms, commitment, PrivateResponder(sample, commitment), ledger)


async def host(quarters: LearnerWorkspace, names: list[str], records: int) -> None:
    """Serve for all of them, until the study ends."""
    before, terms = _memory(), quarters.study().terms
    owners = [make_owner(quarters.folder, name, terms, records) for name in names]
    here = asyncio.Semaphore(0)
    work = [_live(quarters, Guest(owner, records), terms, here) for owner in owners]
    tasks = [asyncio.create_task(each) for each in work]
    for _ in tasks:
        await here.acquire()
    sys.stdout.write(json.dumps({"before": before, "after": _memory(), "owners": len(owners)}) + "\n")
    sys.stdout.flush()
    await asyncio.gather(*tasks)


async def _live(quarters: LearnerWorkspace, guest: Guest, terms: Terms, here: asyncio.Semaphore) -> None:
    link = link_of(quarters, guest.owner.name)

    async def echo(message: object) -> None:
        await message.respond(message.data)  # type: ignore[attr-defined]

    if len(quarters.invited()) > 10:
        here.release()
        await serve(desk_of(guest, terms), link)
        return
    async with connect(link, link.context()) as session:
        await session.client.subscribe(subjects.query(guest.owner.name, ECHO), cb=echo)
        await session.client.flush()
        here.release()
        await serve(desk_of(guest, terms), link)


def _memory() -> int:
    """Bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    asyncio.run(host(LearnerWorkspace(Path(sys.argv[1])), sys.argv[3:], int(sys.argv[2])))
