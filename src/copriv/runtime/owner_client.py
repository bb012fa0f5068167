"""What `copriv owner serve` does: dial out, answer, remember, and take the model that comes of it.

Nothing is printed: whoever starts it is told what happens, event by event.
"""

from __future__ import annotations

import asyncio
import fcntl
import math
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from copriv.entropy import secure
from copriv.errors import CoprivError
from copriv.owner.joining import require_registered
from copriv.owner.owner import Owner
from copriv.owner.pause import is_paused
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.timed_ledger import TimedLedger
from copriv.owner.workspace import Enrollment, OwnerWorkspace, prepare
from copriv.protocol.meeting import VERSION, Hello
from copriv.protocol.terms import Terms
from copriv.records.cluster import PLAIN_MACHINE, Machine
from copriv.records.streamed import StreamedRecords
from copriv.runtime.events import counting
from copriv.runtime.network_events import TellNetwork
from copriv.runtime.owner_log import OwnerLog
from copriv.transport import subjects
from copriv.transport.certificates import require_valid
from copriv.transport.credentials import read_credentials
from copriv.transport.link import Link
from copriv.transport.nats_owner import Handle, OwnerEndpoint, at_once, serve
from copriv.transport.renewal import Renewals


def serve_study(home: OwnerWorkspace, tell: TellNetwork, machine: Machine | None = None) -> tuple[float, ...]:
    """Answer from an owner's folder until the study ends, and return its model.

    Raises:
        RecordsChanged: the files of the records are not what they were; nothing was said.
        BadInput: the terms are not approved, or the records have another ledger.
        CoprivError: an owner serves from the folder already, the learner turns it away, or its model is none.
        LedgerFailure: the ledger cannot be used; nothing was said.
    """
    home.require_approved()
    require_valid(read_credentials(home.folder / "owner.key").certificate, datetime.now(UTC))
    with (
        (machine or PLAIN_MACHINE).opened() as resources,
        _only_one(home.folder),
        closing(home.open_ledger()) as ledger,
    ):
        with Registry() as registry:
            require_registered(registry, Path(home.enrollment.data), ledger, Path(home.enrollment.ledger))
        prepared = prepare(home.enrollment, home.study, counting(tell, "reading your records"), resources)
        timed = TimedLedger(ledger)
        owner = home.open_owner(timed, prepared)
        if isinstance(prepared.sample, StreamedRecords):
            model = _serve_streamed(home, owner, prepared.sample, timed, tell)
        else:
            model = asyncio.run(answer(home, owner, prepared.sample.records, OwnerLog(home, ledger, tell, timed)))
    _require_model(home.study.terms, model)
    return model


def _serve_streamed(
    home: OwnerWorkspace, owner: Owner, records: StreamedRecords, timed: TimedLedger, tell: TellNetwork
) -> tuple[float, ...]:
    """The same from records that are read again for every answer, which may take minutes.

    So the session goes on beside it, with its own look at the ledger.
    """
    handle = unchanged_first(records, owner.handle)
    with closing(SqliteLedger(Path(home.enrollment.ledger))) as beside:
        log = OwnerLog(home, beside, tell, timed)
        return asyncio.run(answer(home, owner, records.records, log, handle))


def unchanged_first(records: StreamedRecords, handle: Callable[[bytes], bytes]) -> Handle:
    """Replies that take long, each in a thread of its own; files that have changed are noticed before any charge."""

    async def reply(data: bytes) -> bytes:
        records.require_unchanged()
        return await asyncio.to_thread(handle, data)

    return reply


async def answer(
    home: OwnerWorkspace, owner: Owner, records: int, log: OwnerLog, handle: Handle | None = None
) -> tuple[float, ...]:
    """Answer until the study ends, and return its model; by `handle`, if it is not the owner's own."""
    terms, chance, link = home.study.terms, secure(), link_of(home)
    desk = OwnerEndpoint(
        hello=hello_of(home.enrollment, terms, records, f"{chance.getrandbits(64):016x}", log.ledger.state().id),
        handle=handle or at_once(owner.handle),
        meeting=terms.meeting,
        clock=terms.clock,
        wait=lambda: chance.expovariate(home.enrollment.rate),
        jitter=chance.random,
        tell=log.tell,
        contact=log.contact,
        witnesses=log.ledger.witnesses,
        attend=Renewals(home.enrollment.owner, link, chance.random, log.tell).attend,
        paused=lambda: is_paused(home.folder),
    )
    return await serve(desk, link)


def hello_of(enrollment: Enrollment, terms: Terms, records: int, instance: str, ledger: str) -> Hello:
    """What the learner may know of an owner."""
    return Hello(
        terms=terms.digest(),
        owner=enrollment.owner,
        instance=instance,
        records=records,
        nano_epsilon=enrollment.nano_epsilon,
        delta=enrollment.delta,
        accountant=enrollment.accountant,
        answers=enrollment.answers,
        rate=enrollment.rate if terms.clock == "poisson" else 0.0,
        ledger=ledger,
        version=VERSION,
    )


def link_of(home: OwnerWorkspace) -> Link:
    """How an owner reaches the broker."""
    enrollment, folder = home.enrollment, home.folder
    files = (folder / "owner.key", folder / "authority.pem")
    return Link(enrollment.host, enrollment.port, *files, subjects.inbox(enrollment.owner))


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    with (folder / "serve.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise CoprivError(
                f"an owner serves from {folder} already", remedy="let it run, or stop it first", value=str(folder)
            ) from problem
        yield


def _require_model(terms: Terms, theta: tuple[float, ...]) -> None:
    """Refuse what is not a model of the study."""
    if len(theta) != terms.parameters or not all(map(math.isfinite, theta)):
        raise CoprivError(
            f"the study has ended, and what the learner gave as its model is not {terms.parameters} numbers",
            remedy="ask whoever runs the learner",
            value=len(theta),
        )
