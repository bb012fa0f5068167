"""Templates, static files and errors: what all pages share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from copriv import __version__
from copriv.errors import CoprivError
from copriv.protocol.text import plain

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.requests import Request

_HERE = Path(__file__).parent
_MOST_WORDS = 500
_HUNG_UP = 499  # nobody sees it
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(plain=plain, lasting=lasting, number=number, moment=moment)
    environment.globals["version"] = __version__
    return environment


def render(template: str, **values: object) -> HTMLResponse:
    """A page; whatever somebody else has named is text."""
    return HTMLResponse(_templates().get_template(template).render(values))


def as_json(value: object) -> Response:
    """The same for programs."""
    return Response(msgspec.json.encode(value) + b"\n", media_type="application/json")


def lasting(seconds: float | None) -> str:
    """How long, in the largest unit that fits.

    >>> lasting(0.04), lasting(42.0), lasting(150.0), lasting(90_000.0), lasting(None)
    ('0.0 s', '42 s', '2.5 min', '1.0 d', '–')
    """
    if seconds is None:
        return "–"
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def moment(at: str) -> str:
    """A time as people read it; what is none is shown as it is.

    >>> moment("2026-11-17T11:27:15+00:00"), moment("not noted")
    ('2026-11-17 11:27:15 UTC', 'not noted')
    """
    return plain(at.replace("T", " ", 1).replace("+00:00", " UTC") if at[:1].isdigit() else at)


def number(value: float | None) -> str:
    """A number as people read it.

    >>> number(12345), number(0.12345678), number(None), number(0.000012)
    ('12,345', '0.1235', '–', '1.2e-05')
    """
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def aside(work: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Answer in a thread, so that others are not kept waiting; a problem becomes a sentence."""

    async def answer(request: Request) -> Response:
        try:
            return await run_in_threadpool(work, request)
        except Exception as problem:
            if os.environ.get("COPRIV_TRACEBACK"):
                raise
            return complaint(problem)

    return answer


def in_turn(work: Callable[[Request], Response], most: int = 4) -> Callable[[Request], Awaitable[Response]]:
    """The same for what may take long: a few at once, so that others find a thread; nothing for who has hung up."""
    answer, turns = aside(work), asyncio.Semaphore(most)

    async def wait(request: Request) -> Response:
        async with turns:
            return Response(status_code=_HUNG_UP) if await request.is_disconnected() else await answer(request)

    return wait


def complaint(problem: Exception) -> Response:
    """What went wrong, in a sentence: the user's doing, or ours."""
    if isinstance(problem, CoprivError):
        words, status = f"{problem.problem}; remedy: {problem.remedy}", 400
    else:
        words, status = f"something broke that should not: {type(problem).__name__}: {problem}", 500
    return PlainTextResponse(plain(words, _MOST_WORDS) + "\n", status)


def make_app(first: str, *routes: BaseRoute) -> Starlette:
    """An application of these routes, whose front door leads to the first page."""

    async def front(request: Request) -> Response:
        asked = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"{first}{asked}", 307)

    async def nothing(_request: Request, _problem: Exception) -> Response:
        return PlainTextResponse("There is nothing here.\n", 404)

    handlers: Mapping[Any, Any] = {404: nothing, 405: nothing}
    static = Mount("/static", StaticFiles(directory=_HERE / "static"))
    return Starlette(routes=[Route("/", front), static, *routes], exception_handlers=handlers)
