"""A real broker for hostile owners: who connects, what they say and hear, and what the broker denied them."""

import asyncio
import socket
import ssl
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import cached_property

import nats

from copriv.transport import subjects
from copriv.transport.authority import identity_of, issue_client, issue_server, make_authority, serial_in
from copriv.transport.broker import Broker, Place, config_text

NOW = datetime.now(UTC)
LARGEST = 4096
PATIENCE = 20
HOST = "127.0.0.1"
IDENTITIES = {
    "learner": identity_of("learner", "learner", "01"),
    "alpha": identity_of("owner", "alpha", "02"),
    "beta": identity_of("owner", "beta", "03"),
}
LOOSE = {"publish": {"allow": ["copriv.>"]}, "subscribe": {"allow": ["copriv.>"]}}
REFUSED = (nats.errors.Error, OSError)


def permissions_of(name):
    if name == "learner":
        return subjects.learner_permissions()
    return subjects.owner_permissions(name, serial_in(IDENTITIES[name]))


def users_of(names, **other):
    return {IDENTITIES[name]: other.get(name, permissions_of(name)) for name in names}


def inbox_of(name):
    return subjects.LEARNER_INBOX if name == "learner" else subjects.inbox(name)


class Consortium:
    """A broker with learner, alpha and beta, in a folder of its own."""

    def __init__(self, folder, users=None):
        self.folder = folder
        self.authority = make_authority(NOW)
        self.place = Place(
            HOST, _free_port(), folder / "broker.pem", folder / "broker.key", folder / "authority.pem", folder / "pid"
        )
        self.config, self.log = folder / "broker.conf", folder / "broker.log"
        shown = issue_server(self.authority, [HOST], NOW)
        self.place.certificate.write_text(shown.certificate)
        self.place.key.write_text(shown.key)
        self.place.authority.write_text(self.authority.certificate)
        self.write(users or users_of(IDENTITIES))

    def write(self, users):
        self.config.write_text(config_text(self.place, users, largest=LARGEST))

    def start(self):
        return Broker.start(self.config, self.log, HOST, self.place.port)

    @cached_property
    def pairs(self):
        return {name: issue_client(self.authority, identity, NOW) for name, identity in IDENTITIES.items()}

    def context(self, pair=None):
        context = ssl.create_default_context(cafile=str(self.place.authority))
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        if pair is not None:
            file = self.folder / "client.pem"
            file.write_text(pair.certificate + pair.key)
            context.load_cert_chain(file)
        return context

    @asynccontextmanager
    async def connect(self, name, pair=None, **options):
        async with self.knock(pair or self.pairs[name], inbox_prefix=inbox_of(name), **options) as voice:
            yield voice

    @asynccontextmanager
    async def knock(self, pair, **options):
        voice = Voice()
        options = {
            "servers": f"tls://{HOST}:{self.place.port}",
            "tls": self.context(pair),
            "tls_hostname": HOST,
            "tls_handshake_first": True,
            "allow_reconnect": False,
            "connect_timeout": PATIENCE,
        } | options
        try:
            await voice.client.connect(error_cb=voice.complain, closed_cb=voice.close, **options)
            yield voice
        finally:
            await _let_go(voice.client)

    @asynccontextmanager
    async def everybody(self, *names):
        async with AsyncExitStack() as stack:
            yield [await stack.enter_async_context(self.connect(name)) for name in names]


class Voice:
    """One connected client and everything the broker told it off for."""

    def __init__(self):
        self.client = nats.NATS()
        self.complaints = []
        self.closed = asyncio.Event()

    async def complain(self, problem):
        self.complaints.append(str(problem))

    async def close(self):
        self.closed.set()

    async def settle(self):
        """Everything said so far was judged; twice, because the client's ping overtakes what it has not sent yet."""
        await self.client.flush(PATIENCE)
        await self.client.flush(PATIENCE)

    async def hear(self, subject, **options):
        subscription = await self.client.subscribe(subject, **options)
        await self.settle()
        return subscription

    async def say(self, subject, data=b"forged", **options):
        await self.client.publish(subject, data, **options)
        await self.settle()

    async def answer(self, subject, data):
        async def respond(message):
            await message.respond(data)

        await self.client.subscribe(subject, cb=respond)
        await self.settle()

    def was_denied(self, action, subject):
        """The client repeats complaints in lower case."""
        return any(f'violation for {action} to "{subject.lower()}"' in said for said in self.complaints)


async def _let_go(client):
    """Close a client; one that was refused has left its socket open, and waits for ever when asked to close it."""
    if client.is_connected:
        await client.close()
    elif client._transport:
        for writer in (client._transport._io_writer, client._transport._bare_io_writer):
            writer.transport.abort()
    await asyncio.sleep(0)


def _free_port():
    with socket.create_server((HOST, 0)) as listener:
        return listener.getsockname()[1]


async def taken(subscription):
    """What is waiting for a listener: only what is there, without waiting for more."""
    return [(await subscription.next_msg()).data for _ in range(subscription.pending_msgs)]
