"""Who is let in, and what a browser may do with what it gets."""

import pytest
from asking import ask
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from copriv.dashboard.guard import POLICY, Door, Guard
from copriv.dashboard.pages import make_app

TOKEN = "a" * 64


async def _page(_request):
    return PlainTextResponse("inside")


def _guarded(door):
    return Guard(make_app("/page", Route("/page", _page, methods=["GET", "POST"]), Route("/metrics", _page)), door)


LOCAL = _guarded(Door())
SECRET = _guarded(Door(token=TOKEN, open_paths=frozenset({"/metrics"})))
ANYWHERE = _guarded(Door(hosts=None, token=TOKEN))


def test_every_response_has_the_policy():
    for app, path in ((LOCAL, "/page"), (LOCAL, "/nothing"), (LOCAL, "/static/style.css"), (SECRET, "/page")):
        said = ask(app, path)
        assert said.headers["content-security-policy"] == POLICY
        assert "unsafe" not in POLICY
        assert said.headers["x-content-type-options"] == "nosniff"
        assert said.headers["referrer-policy"] == "same-origin"
        assert said.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "localhost.evil",
        "127.0.0.1:8000@evil.example", "[::1]evil.example", "127.0.0.1:80:80", "localhost:x",
        "127.0.0.1,evil.example", "127.0.0.1/evil.example",
    ],
)  # fmt: skip
def test_another_name_of_this_machine_is_turned_away(host):
    assert ask(LOCAL, "/page", host=host).status == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000"])
def test_this_machine_is_known_by_its_own_names(host):
    assert ask(LOCAL, "/page", host=host).text == "inside"


def test_the_token_is_asked_for_once_and_then_a_cookie():
    assert ask(SECRET, "/page").status == 401
    assert ask(SECRET, f"/page?token={'b' * 64}").status == 401
    first = ask(SECRET, f"/page?a=1&token={TOKEN}&b=2")
    assert (first.status, first.headers["location"]) == (303, "/page?a=1&b=2")
    cookie = first.headers["set-cookie"]
    assert "httponly" in cookie.lower()
    assert "samesite=strict" in cookie.lower()
    assert TOKEN not in cookie
    assert ask(SECRET, "/page", cookie=cookie.partition(";")[0]).text == "inside"
    assert ask(SECRET, "/page", cookie="copriv-8000=x").status == 401
    assert ask(SECRET, "/page", authorization=f"Bearer {TOKEN}").text == "inside"
    assert ask(SECRET, "/metrics").text == "inside"
    assert ask(ANYWHERE, "/metrics").status == 401
    assert ask(ANYWHERE, "/page", host="learner.example.org", authorization=f"Bearer {TOKEN}").text == "inside"


def test_a_token_leads_to_no_other_machine():
    for path in ("//evil.example/page", "/\\evil.example/page", "///evil.example"):
        assert ask(SECRET, f"{path}?token={TOKEN}").headers["location"].startswith("/evil.example")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_page_may_lead_here_and_not_load_this_in_passing(site):
    picture = {"sec_fetch_mode": "no-cors", "sec_fetch_dest": "image"}
    frame = {"sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"}
    script = {"sec_fetch_mode": "cors", "sec_fetch_dest": "empty"}
    for app, path in ((LOCAL, "/page"), (SECRET, "/metrics"), (SECRET, f"/page?token={TOKEN}")):
        for how in (picture, frame, script, {}):
            assert ask(app, path, sec_fetch_site=site, **how).status == 403
    link = {"sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert ask(LOCAL, "/page", sec_fetch_site=site, **link).text == "inside"
    assert ask(LOCAL, "/page", sec_fetch_site="same-origin", **picture).text == "inside"
    assert ask(LOCAL, "/page", sec_fetch_site="none", **link).text == "inside"
    assert ask(SECRET, "/metrics").text == "inside"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9000"},
        {"origin": "http://127.0.0.1:8000", "sec_fetch_site": "cross-site"},
    ],
)
def test_what_changes_something_must_come_from_the_page_itself(headers):
    assert ask(LOCAL, "/page", method="POST", **headers).status == 403


def test_the_page_itself_may():
    own = {"origin": "http://127.0.0.1:8000", "sec_fetch_site": "same-origin"}
    assert ask(LOCAL, "/page", method="POST", **own).text == "inside"
