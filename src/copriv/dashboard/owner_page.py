"""An owner's own page: what left its house, what it cost, and a button that stops it.

It is shown to this machine alone, with a token, because others may work on the machine. Nothing on it is sent anywhere.
"""

from __future__ import annotations

import getpass
import hmac
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from copriv.dashboard.guard import sealed
from copriv.dashboard.live import Ending, stream
from copriv.dashboard.owner_view import OwnerView
from copriv.dashboard.pages import as_json, aside, complaint, make_app, render
from copriv.errors import BadInput
from copriv.runtime.owner_status import pause_owner, resume_owner
from copriv.runtime.prometheus import MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette
    from starlette.requests import Request

_MOST_BYTES = 4096


def owner_app(folder: Path, token: str, ending: Ending) -> Starlette:
    """The pages of an owner's folder; forms carry a word that only this page knows."""
    view, word = OwnerView(folder), sealed(token, "form")

    def page(request: Request) -> Response:
        return render("owner.html", shown=view.show(_page(request)), word=word)

    def data(request: Request) -> Response:
        return as_json(view.show(_page(request)))

    def metrics(_request: Request) -> Response:
        return PlainTextResponse(view.metrics(), media_type=MEDIA_TYPE)

    async def events(_request: Request) -> Response:
        return stream(view.mark, ending)

    def stop() -> None:
        pause_owner(view.home.folder, _user())

    def go_on() -> None:
        resume_owner(view.home.folder)

    view.show()
    return make_app(
        "/owner",
        Route("/owner", aside(page)),
        Route("/owner.json", aside(data)),
        Route("/metrics", aside(metrics)),
        Route("/events", events),
        Route("/owner/pause", _act(stop, word), methods=["POST"]),
        Route("/owner/resume", _act(go_on, word), methods=["POST"]),
        Route("/owner/fit", _act(view.compare, word), methods=["POST"]),
    )


def _act(work: Callable[[], None], word: str) -> Callable[[Request], object]:
    """Do something, if the form is one of this page, and show the page again."""

    async def answer(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MOST_BYTES:
                return PlainTextResponse("That is no form of this page.\n", 413)
        given = parse_qs(body.decode("latin-1")).get("word", [""])[0]
        if not hmac.compare_digest(given.encode(), word.encode()):
            return PlainTextResponse("That is no form of this page: load it again.\n", 403)
        try:
            await run_in_threadpool(work)
        except OSError as problem:
            return complaint(problem)
        return RedirectResponse("/owner", 303)

    return answer


def _page(request: Request) -> int:
    text = request.query_params.get("page", "1")
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 0):
        raise BadInput(f"page={text[:20]}", remedy="give a whole number of at least 1", value=text[:20])
    return int(text[:9])


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown user"
