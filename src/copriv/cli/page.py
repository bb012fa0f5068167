"""`copriv dashboard`, and pages beside `learner run` and `owner serve`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from copriv.cli.command import argument, option, takes
from copriv.cli.options import AsJson
from copriv.cli.say import say

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from copriv.dashboard.launch import Kind
    from copriv.dashboard.server import Address

PAGE = "Page"
PORT = "Show a page at this port of this machine; 0 for any that is free."
HOST = "The address at which the page is shown; beyond this machine it needs the token that is printed."


@dataclass(frozen=True, kw_only=True)
class DashboardOptions(AsJson):
    """The options of `copriv dashboard`."""

    folder: Annotated[Path, argument("A learner's folder, or that of a run.")]
    port: Annotated[int, option("--port", PAGE, PORT)] = 0
    host: Annotated[str, option("--host", PAGE, HOST)] = "127.0.0.1"


@takes(DashboardOptions)
def dashboard(options: DashboardOptions) -> None:
    """Show a study or a run as a page, live or finished. It only reads; end it with Ctrl-C.

    copriv dashboard learner
    """
    from copriv.dashboard.learner_page import learner_app
    from copriv.dashboard.live import Ending
    from copriv.dashboard.server import bind

    address = bind(options.port, options.host, path="/learner")
    app = learner_app(options.folder, Ending())
    show_page(app, address, {"folder": str(options.folder)}, browse=False, as_json=options.as_json)


def show_page(app: Starlette, address: Address, about: dict[str, str], *, browse: bool, as_json: bool) -> None:
    """Print the address of a page, open it if that is wanted, and show it until it is ended."""
    import webbrowser

    from copriv.cli.person import heed_termination
    from copriv.dashboard.guard import Door
    from copriv.dashboard.server import serve

    heed_termination()
    say({"page": address.url, **about}, f"page: {address.url}", as_json=as_json)
    sys.stdout.flush()
    if browse:
        webbrowser.open(address.url)
    serve(app, address.socket, Door(address.hosts, address.token))


@contextmanager
def page_beside(kind: Kind, folder: Path, port: int | None, host: str = "127.0.0.1") -> Iterator[None]:
    """A page for as long as the block lasts, if a port is given; its address is printed once, and kept nowhere.

    An owner's page is shown to this machine alone, whatever is asked.
    """
    if port is None:
        yield
        return
    from copriv.dashboard.launch import beside
    from copriv.dashboard.server import bind

    own = kind == "owner"
    address = bind(port, "127.0.0.1" if own else host, secret=own, path=f"/{kind}")
    typer.echo(f"page: {address.url}", err=True)
    with beside(kind, folder, address):
        yield
