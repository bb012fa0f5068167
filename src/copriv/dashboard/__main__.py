"""The process of a page that stands beside another one; see `copriv.dashboard.launch`."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from pathlib import Path

import msgspec

from copriv.dashboard.guard import Door
from copriv.dashboard.launch import Order
from copriv.dashboard.live import SECONDS_TO_SEE_THE_END, Ending
from copriv.dashboard.server import serve
from copriv.errors import CoprivError
from copriv.protocol.text import plain

# Whoever works goes first; a page can wait.
_PATIENCE = 10
_LONGEST = 1000


def main() -> None:
    """Show the page that is ordered, until whoever has ordered it is gone."""
    os.nice(_PATIENCE)
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    ending, over = Ending(), threading.Event()

    def watch() -> None:
        while os.read(0, 1 << 16):
            pass
        ending.set()
        until = time.monotonic() + SECONDS_TO_SEE_THE_END
        while ending.watchers and time.monotonic() < until:
            time.sleep(0.1)
        over.set()

    threading.Thread(target=watch, daemon=True).start()
    hosts = None if order.hosts is None else frozenset(order.hosts)
    if order.kind == "learner":
        from copriv.dashboard.learner_page import learner_app

        app, door = learner_app(Path(order.folder), ending), Door(hosts, order.token)
    else:
        from copriv.dashboard.owner_page import owner_app

        app = owner_app(Path(order.folder), order.token or "", ending)
        door = Door(hosts, order.token, frozenset({"/metrics"}))
    serve(app, socket.socket(fileno=order.descriptor), door, over.is_set)


def guarded() -> int:
    """The same; whatever goes wrong is a sentence, and the work beside goes on."""
    try:
        main()
    except CoprivError as problem:
        sys.stderr.write(plain(f"note: there is no page: {problem.problem}; remedy: {problem.remedy}", _LONGEST) + "\n")
        return 2
    except Exception as problem:
        if os.environ.get("COPRIV_TRACEBACK"):
            raise
        sys.stderr.write(plain(f"note: the page broke: {type(problem).__name__}: {problem}", _LONGEST) + "\n")
        return 70
    return 0


if __name__ == "__main__":
    sys.exit(guarded())
