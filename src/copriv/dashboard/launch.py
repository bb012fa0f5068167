"""A page beside a process that works: in a process of its own, which ends with the one that has started it.

It reads what that process keeps on the disk, so that looking on takes nothing from the work but a share of the machine.
What it has to know comes through a pipe and not by its arguments, which others can see.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from copriv.dashboard.server import Address

Kind: TypeAlias = Literal["learner", "owner"]
_SECONDS_TO_END = 10.0


class Order(msgspec.Struct, frozen=True):
    """What the process of a page has to know.

    Args:
        kind: which page.
        folder: what it is about.
        descriptor: of the socket that is bound.
        token: if it needs one.
        hosts: names under which it may be asked for; None for any.
    """

    kind: Kind
    folder: str
    descriptor: int
    token: str | None
    hosts: tuple[str, ...] | None


@contextmanager
def beside(kind: Kind, folder: Path, address: Address) -> Iterator[None]:
    """A page for as long as the block lasts, and a moment longer, so that whoever looks on sees the end."""
    descriptor, hosts = address.socket.fileno(), address.hosts
    known = None if hosts is None else tuple(sorted(hosts))
    order = Order(kind, str(folder.absolute()), descriptor, address.token, known)
    command = [sys.executable, "-m", "copriv.dashboard"]
    with address.socket:
        process = subprocess.Popen(  # noqa: S603 - our own module
            command, stdin=subprocess.PIPE, pass_fds=(descriptor,), start_new_session=True
        )
    try:
        if process.stdin is not None:
            with suppress(OSError):  # a page that has ended by itself has said why
                process.stdin.write(msgspec.json.encode(order) + b"\n")
                process.stdin.flush()
        yield
    finally:
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
