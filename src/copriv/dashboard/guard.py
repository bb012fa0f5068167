"""Who may see a page, and what a browser may do with it.

Every response forbids scripts, styles and connections from anywhere else, being framed, and being kept. A request
must name this machine as a browser would that means it: a page of somebody else that has its own name resolved to this
machine is turned away. Where there is a token, the first request brings it in the address, and later ones in a cookie.
A request that changes something must come from the page itself; one that only reads, from the page itself or from
somebody who goes there: a page of somebody else can neither load it in passing nor have it work anything out.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",  # with no-referrer, a browser hides where a form comes from also from us
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/?#\s]+)(?::[0-9]{1,5})?")
_STRANGER = "This page needs the address that was printed when it was started: it ends with ?token=…\n"


@dataclass(frozen=True, slots=True)
class Door:
    """Who is let in.

    Args:
        hosts: names under which this machine may be asked for; None for any, where a token protects.
        token: what a first request has to bring; None if nothing is asked for.
        open_paths: what is shown to whoever can reach this machine, without the token.
    """

    hosts: frozenset[str] | None = frozenset(LOOPBACK)
    token: str | None = None
    open_paths: frozenset[str] = frozenset()

    @property
    def cookie(self) -> str:
        """What a browser keeps instead of the token."""
        return sealed(self.token or "", "cookie")


def sealed(token: str, purpose: str) -> str:
    """A word that only whoever knows the token can make, for one purpose.

    >>> len(sealed("secret", "cookie")), sealed("secret", "cookie") == sealed("secret", "form")
    (64, False)
    """
    return hmac.new(token.encode(), purpose.encode(), hashlib.sha256).hexdigest()


class Guard:
    """Stands before an application and lets in whom its door allows."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or turn it away."""
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = self._refuse(scope)
        await (self._app if refusal is None else refusal)(scope, receive, send_guarded)

    def _refuse(self, scope: Scope) -> Response | None:
        headers, door = Headers(scope=scope), self._door
        if door.hosts is not None and host_of(headers.get("host", "")) not in door.hosts:
            return PlainTextResponse("This machine is not called that here.\n", 421)
        if scope["method"] not in {"GET", "HEAD"} and not _is_own(scope, headers):
            return PlainTextResponse("Only the page itself may ask for that.\n", 403)
        if _is_in_passing(headers):
            return PlainTextResponse("Another page may lead here, and not load this.\n", 403)
        if door.token is None or scope["path"] in door.open_paths:
            return None
        return self._ask_for_token(scope, headers, door.token)

    def _ask_for_token(self, scope: Scope, headers: Headers, token: str) -> Response | None:
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if any(name == "token" and _same(value, token) for name, value in asked):
            return self._welcome(scope, asked)
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if _same(bearer, token) or any(_same(kept, self._door.cookie) for kept in _cookies(scope, headers)):
            return None
        return PlainTextResponse(_STRANGER, 401)

    def _welcome(self, scope: Scope, asked: Iterable[tuple[str, str]]) -> Response:
        """To the same address without the token: not in sight, and in no referrer."""
        rest = urlencode([(name, value) for name, value in asked if name != "token"])
        path = "/" + scope["path"].lstrip("/\\")  # two slashes would lead to another machine
        response = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
        response.set_cookie(_cookie_name(scope), self._door.cookie, httponly=True, samesite="strict")
        return response


def host_of(header: str) -> str:
    """The name in a Host header, without its port; nothing if it is not one.

    >>> host_of("127.0.0.1:8000"), host_of("[::1]:8000"), host_of("Localhost"), host_of("evil.example:80")
    ('127.0.0.1', '::1', 'localhost', 'evil.example')
    >>> host_of("127.0.0.1:8000@evil.example")
    ''
    """
    found = _HOST.fullmatch(header.strip().lower())
    return "" if found is None else found[1].strip("[]")


def _is_own(scope: Scope, headers: Headers) -> bool:
    """Whether a request comes from a page of this very server, by what the browser says."""
    own = f"{scope.get('scheme', 'http')}://{headers.get('host', '')}"
    return headers.get("origin") == own and headers.get("sec-fetch-site", "same-origin") == "same-origin"


def _is_in_passing(headers: Headers) -> bool:
    """Whether another page has the browser load this, as a picture or in a frame; by what the browser says."""
    if headers.get("sec-fetch-site", "none") in {"none", "same-origin"}:
        return False
    return (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) != ("navigate", "document")


def _cookie_name(scope: Scope) -> str:
    """One a port: browsers keep cookies by host."""
    return f"copriv-{(scope.get('server') or ('', 0))[1]}"


def _cookies(scope: Scope, headers: Headers) -> list[str]:
    try:
        kept = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return []
    name = _cookie_name(scope)
    return [kept[name].value] if name in kept else []


def _same(given: str, wanted: str) -> bool:
    """Whether two words are the same, in a time that does not tell how far they are."""
    return hmac.compare_digest(given.encode(), wanted.encode())
