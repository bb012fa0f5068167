"""A consortium on one machine, over a real broker with mutual TLS: for rehearsals, tests and benchmarks.

Everything is as it will be, except that learner, broker and owners share a machine. Owners may be made with any
responder, so that a rehearsal can be compared with a run in one process, number by number.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from copriv.entropy import secure
from copriv.owner.ledger import Ledger
from copriv.owner.owner import Owner
from copriv.protocol.meeting import VERSION, Hello
from copriv.protocol.terms import Terms
from copriv.transport import subjects
from copriv.transport.connection_policy import ConnectionPolicy
from copriv.transport.credentials import replace_file, write_credentials
from copriv.transport.learner_workspace import Address, LearnerWorkspace
from copriv.transport.link import Link
from copriv.transport.nats_learner import NatsLearner
from copriv.transport.nats_owner import OwnerEndpoint, at_once, serve
from copriv.transport.renewal_desk import RenewalDesk

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Guest:
    """An owner that takes part in a rehearsal: it, its size, the rate of its clock, and its ledger if that is known."""

    owner: Owner
    records: int
    rate: float = 0.0
    ledger: Ledger | None = None


def free_port() -> int:
    """A port on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def make_quarters(
    folder: Path, study: str, names: Sequence[str], *, now: datetime | None = None, days: float = 2
) -> LearnerWorkspace:
    """A learner's folder with everybody invited, each owner's certificate in a folder of its own.

    Args:
        folder: must not exist.
        study: the text of the study file.
        names: of the owners.
        now: when it is made.
        days: how long certificates last; here alone they may last for seconds.
    """
    now = now or datetime.now(UTC)
    quarters = LearnerWorkspace.create(
        folder, study, address=Address([HOST], HOST, free_port()), now=now, serial=_word(), days=days
    )
    for invitation in quarters.invite({name: _word() for name in names}, now=now, days=days):
        place = folder / "owners" / invitation.owner
        place.mkdir(parents=True)
        write_credentials(place / "owner.key", invitation.pair(None))
        replace_file(place / "authority.pem", invitation.authority.encode())
    return quarters


def link_of(quarters: LearnerWorkspace, name: str) -> Link:
    """How an owner of a rehearsal reaches the broker."""
    place, register = quarters.folder / "owners" / name, quarters.register()
    return Link(register.host, register.port, place / "owner.key", place / "authority.pem", subjects.inbox(name))


def desk_of(guest: Guest, terms: Terms) -> OwnerEndpoint:
    """What an owner of a rehearsal brings."""
    chance, calibration = secure(), guest.owner.commitment.calibration
    hello = Hello(
        terms=terms.digest(),
        owner=guest.owner.name,
        instance=_word(),
        records=guest.records,
        nano_epsilon=calibration.guarantee.nano_epsilon,
        delta=calibration.guarantee.delta,
        accountant=calibration.accountant,
        answers=calibration.answers,
        rate=guest.rate,
        ledger=guest.ledger.state().id if guest.ledger is not None else "",
        version=VERSION,
    )
    return OwnerEndpoint(
        hello=hello,
        handle=at_once(guest.owner.handle),
        meeting=terms.meeting,
        clock=terms.clock,
        wait=lambda: chance.expovariate(guest.rate),
        jitter=chance.random,
        tell=lambda _words: None,
        contact=lambda _reply: None,
        witnesses=(lambda _receipt: True) if guest.ledger is None else guest.ledger.witnesses,
    )


async def serve_all(quarters: LearnerWorkspace, guests: Sequence[Guest], terms: Terms) -> list[tuple[float, ...]]:
    """Serve for many owners in one event loop, until the study ends for all of them."""
    return await asyncio.gather(
        *(serve(desk_of(guest, terms), link_of(quarters, guest.owner.name)) for guest in guests)
    )


@contextmanager
def attended(quarters: LearnerWorkspace, guests: Sequence[Guest], terms: Terms) -> Iterator[None]:
    """Owners that serve in a thread of this process."""
    runner = asyncio.Runner()
    loop = runner.get_loop()
    work = loop.create_task(serve_all(quarters, guests, terms))

    def live() -> None:
        with runner, suppress(asyncio.CancelledError):
            loop.run_until_complete(work)

    thread = threading.Thread(target=live)
    thread.start()
    try:
        yield
    finally:
        with suppress(RuntimeError):  # it has ended by itself
            loop.call_soon_threadsafe(work.cancel)
        thread.join()


@contextmanager
def learner_of(
    quarters: LearnerWorkspace,
    terms: Terms,
    *,
    deadline: float = 30.0,
    tell: Callable[[str], None] = lambda _words: None,
    objects: Callable[[Hello], str | None] | None = None,
    recall: Callable[[str], str | None] = lambda _ledger: None,
) -> Iterator[NatsLearner]:
    """The learner's side, connected; it objects to nobody unless it is told how."""
    chance = secure()
    manners = ConnectionPolicy(
        terms=terms.digest(),
        meeting=terms.meeting,
        clock=terms.clock,
        deadline=deadline,
        admits=quarters.admits,
        pick=chance.randrange,
        jitter=chance.random,
        tell=tell,
        settle=RenewalDesk(quarters, tell).open,
        objects=objects,
        recall=recall,
    )
    learner = NatsLearner(quarters.link(), manners, _word())
    try:
        learner.open()
        yield learner
    finally:
        learner.close()


def _word() -> str:
    return f"{secure().getrandbits(64):016x}"
