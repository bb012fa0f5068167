"""A link to the broker: who we are, where it is, and what went wrong if it cannot be reached.

Links are made afresh after every break, with a growing, jittered pause in between, so that a thousand owners do not all
come back in the same moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from copriv.errors import BadInput, CoprivError
from copriv.transport.certificates import NEW_REQUEST

if TYPE_CHECKING:
    from nats.aio.client import Client

_SECONDS_TO_CONNECT = 5
_SECONDS_TO_FLUSH = 1
_SECONDS_TO_HANG_UP = 0.01
_SECONDS_TO_NOTICE = 0.25
_PING_SECONDS = 10
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 10.0
_MOST_COMPLAINTS = 8


class _Moot(logging.Filter):
    """The event loop warns of how its own streams end under TLS; nobody can act on it."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "eof_received" not in str(record.msg)


logging.getLogger("asyncio").addFilter(_Moot())


class Unreachable(CoprivError):
    """The broker cannot be reached now; it may be later."""


class Unwelcome(CoprivError):
    """The broker does not let us in; trying again is of little use, but it may have been restarted with old users."""


@dataclass(frozen=True, slots=True)
class Link:
    """Where the broker is and how we prove who we are.

    Args:
        host: its name or address, as its certificate has it.
        port: its port.
        credentials: the file of our key and its certificate.
        authority: the file of the authorities that we trust: one, or two while one takes over from the other.
        inbox: the prefix of our inbox.
    """

    host: str
    port: int
    credentials: Path
    authority: Path
    inbox: str

    def context(self) -> ssl.SSLContext:
        """Mutual TLS: we show our certificate, as it is on disk now, and check the broker's."""
        for path in (self.credentials, self.authority):
            if not path.is_file():
                raise BadInput(f"there is no {path}", remedy="restore it, or make a new request", value=str(path))
        try:
            context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=self.authority)
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            context.load_cert_chain(self.credentials)
        except (ssl.SSLError, OSError) as problem:
            raise BadInput(
                f"the certificate in {self.credentials} cannot be used: {problem}",
                remedy="restore it, or make a new request",
                value=str(self.credentials),
            ) from problem
        return context


@dataclass(slots=True)
class Session:
    """A link that stands, until it is lost. Whoever waits for a reply then is told at once."""

    client: Client
    lost: asyncio.Event
    waiting: set[asyncio.Task[object]] = field(default_factory=set)

    async def request(self, subject: str, data: bytes, seconds: float) -> bytes | None:
        """The reply to a request; None if nobody is there, nobody replies in time, or the link breaks."""
        import nats.errors

        task = asyncio.current_task()
        if task is None or self.lost.is_set():
            return None
        self.waiting.add(task)
        try:
            return bytes((await self.client.request(subject, data, timeout=seconds)).data)
        except nats.errors.Error:
            self.waiting.discard(task)  # we hear of it here, and need not be woken
            self.notice()
            return None
        except asyncio.CancelledError:
            if self.lost.is_set() and task.uncancel() == 0:
                return None
            raise
        finally:
            self.waiting.discard(task)

    async def publish(self, subject: str, data: bytes) -> None:
        """Say something; if the link is broken, nobody hears it."""
        import nats.errors

        try:
            await self.client.publish(subject, data)
        except nats.errors.Error:
            self.notice()

    def notice(self) -> None:
        """Look for ourselves: a client whose last words could not be sent closes without telling anybody."""
        if self.client.is_closed:
            self.lose()

    def lose(self) -> None:
        """The link is gone; heard of it once, that is enough."""
        if self.lost.is_set():
            return
        self.lost.set()
        for task in self.waiting:
            task.cancel()


@asynccontextmanager
async def connect(link: Link, context: ssl.SSLContext) -> AsyncIterator[Session]:
    """A session with the broker; it ends when the link is lost or the block is left."""
    import nats.errors
    from nats.aio.client import Client

    session = Session(Client(), asyncio.Event())
    complaints: list[Exception] = []

    async def complain(problem: Exception) -> None:
        del complaints[_MOST_COMPLAINTS:]
        complaints.append(problem)

    async def lose() -> None:
        session.lose()

    try:
        async with asyncio.timeout(2 * _SECONDS_TO_CONNECT):
            await session.client.connect(
                f"tls://{link.host}:{link.port}",
                tls=context,
                tls_hostname=link.host,
                tls_handshake_first=True,
                inbox_prefix=link.inbox.encode(),
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=_SECONDS_TO_CONNECT,
                ping_interval=_PING_SECONDS,
                max_outstanding_pings=2,
                error_cb=complain,
                closed_cb=lose,
                disconnected_cb=lose,
            )
    except (OSError, TimeoutError, nats.errors.Error) as problem:
        await _let_go(session.client)
        raise _explain(link, problem, complaints) from problem
    watch = asyncio.create_task(_watch(session))
    try:
        yield session
    finally:
        watch.cancel()
        await _let_go(session.client)


async def _watch(session: Session) -> None:
    """See to it that whoever only listens hears of a lost link, too."""
    while not session.lost.is_set():
        session.notice()
        await asyncio.sleep(_SECONDS_TO_NOTICE)


async def _let_go(client: Client) -> None:
    """Say what is still to be said, then cut the line: a peer that is gone would never confirm that we hang up."""
    import nats.errors

    unheard = (OSError, TimeoutError, nats.errors.Error)
    try:
        if client.is_connected:
            with contextlib.suppress(*unheard):
                for _ in range(2):  # the first may overtake what is still waiting to be sent
                    await client.flush(_SECONDS_TO_FLUSH)
    finally:
        _cut(client)
    with contextlib.suppress(*unheard):  # a client whose handshake was cut never ends by itself
        async with asyncio.timeout(_SECONDS_TO_FLUSH):
            await client.close()
    await asyncio.sleep(_SECONDS_TO_HANG_UP)


def _cut(client: Client) -> None:
    transport = client._transport  # noqa: SLF001 - the client has no other way to its sockets
    for name in ("_io_writer", "_bare_io_writer"):
        writer = getattr(transport, name, None)
        if writer is not None:
            writer.transport.abort()


async def pauses(jitter: Callable[[], float]) -> AsyncIterator[int]:
    """Try again and again: at once, then after pauses that double, each shortened by chance."""
    longest = _FIRST_PAUSE
    for attempt in itertools.count():
        yield attempt
        await asyncio.sleep(longest * (0.5 + 0.5 * jitter()))
        longest = min(2 * longest, _LONGEST_PAUSE)


def _explain(link: Link, last: Exception, complaints: Sequence[Exception]) -> CoprivError:
    """What a person can do about a link that does not come about; the client's last word says less than its first."""
    problem = complaints[0] if complaints else last
    said = str(problem) or type(problem).__name__
    where = f"the broker at {link.host}:{link.port}"
    if isinstance(problem, ssl.SSLCertVerificationError) and "mismatch" in problem.verify_message:
        return Unwelcome(
            f"{where} shows a certificate for another name or address: {problem.verify_message}",
            remedy="reach it under a name that `copriv learner init --host` was given",
            value=link.host,
        )
    if isinstance(problem, ssl.SSLCertVerificationError):
        return Unwelcome(
            f"{where} shows a certificate that this study's authority has not signed: {problem.verify_message}",
            remedy="check the address; if it is right, the authority has changed while you were away: " + NEW_REQUEST,
            value=link.host,
        )
    if isinstance(problem, ssl.SSLError) or "authorization" in said.lower():
        return Unwelcome(
            f"{where} does not accept our certificate: {said}",
            remedy="it has expired or was revoked: " + NEW_REQUEST,
            value=str(link.credentials),
        )
    return Unreachable(f"{where} cannot be reached: {said}", remedy="check the address, or wait", value=link.host)
