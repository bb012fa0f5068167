"""A page on a port: bound before anything else happens, so that a port that is taken is said at once."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from copriv.dashboard.guard import LOOPBACK, Door, Guard
from copriv.entropy import token
from copriv.errors import BadInput

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_MOST_PORT = 65_535
_SECONDS_TO_END = 1


@dataclass(frozen=True, slots=True)
class Address:
    """Where a page is: a socket that is bound, the token if it needs one, and what to type into a browser."""

    socket: socket.socket
    token: str | None
    host: str
    path: str = "/"

    @property
    def url(self) -> str:
        """What to type into a browser; it holds the token, if there is one."""
        port, asked = self.socket.getsockname()[1], "" if self.token is None else f"?token={self.token}"
        host = "127.0.0.1" if self.host in {"", "0.0.0.0"} else f"[{self.host}]" if ":" in self.host else self.host  # noqa: S104
        return f"http://{host}:{port}{self.path}{asked}"

    @property
    def hosts(self) -> frozenset[str] | None:
        """Names under which this machine may be asked for; None for any, if everybody may come and brings a token."""
        if is_local(self.host):
            return frozenset(LOOPBACK)
        return None if self.host in {"", "0.0.0.0", "::"} else frozenset((*LOOPBACK, self.host.lower()))  # noqa: S104


def is_local(host: str) -> bool:
    """Whether nobody but this machine can reach an address.

    >>> is_local("127.0.0.1"), is_local("0.0.0.0")
    (True, False)
    """
    return host in LOOPBACK


def bind(port: int, host: str = "127.0.0.1", *, secret: bool = False, path: str = "/") -> Address:
    """Take a port; 0 for any that is free. With a token if others may come, or if the page is nobody else's business.

    Raises:
        BadInput: the port is taken or none, or the host is not one of this machine.
    """
    import uvicorn  # noqa: F401 - if it is missing, that is said before anything is begun

    if not 0 <= port <= _MOST_PORT:
        raise BadInput(f"the port {port}", remedy=f"give a number from 0 (any) to {_MOST_PORT}", value=port)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
            bound.listen()  # whoever comes early waits
        except OSError:
            bound.close()
            raise
    except OSError as problem:
        raise BadInput(
            f"no page can be shown at {host}:{port}: {problem.strerror}",
            remedy="choose another port, or 0 for any that is free",
            value=port,
        ) from problem
    return Address(bound, token() if secret or not is_local(host) else None, host, path)


def serve(app: ASGIApp, bound: socket.socket, door: Door, until: Callable[[], bool] = lambda: False) -> None:
    """Show a page until `until` is true, or the process is asked to end."""
    import uvicorn

    config = uvicorn.Config(
        Guard(app, door),
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=_SECONDS_TO_END,
    )
    server = uvicorn.Server(config)

    async def live() -> None:
        work = asyncio.create_task(server.serve(sockets=[bound]))
        while not work.done() and not until():
            await asyncio.wait([work], timeout=0.2)
        server.should_exit = True
        with suppress(asyncio.CancelledError):
            await work

    with suppress(KeyboardInterrupt):
        asyncio.run(live())
