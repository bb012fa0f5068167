"""An owner's page: what it shows of a real ledger, and a pause only for whoever holds its form."""

from urllib.parse import urlencode

import pytest
from asking import ask

from copriv.api.audited_owner import audited_house
from copriv.audit.errands import thorough
from copriv.audit.hostile_studies import PLAIN
from copriv.audit.house import live, receipt
from copriv.audit.raw_table import USUAL, write_table
from copriv.dashboard import owner_view
from copriv.dashboard.guard import Door, Guard, sealed
from copriv.dashboard.live import Ending
from copriv.dashboard.owner_page import owner_app
from copriv.owner.pause import is_paused, read_pause

TOKEN = "t" * 64
OWN = {"origin": "http://127.0.0.1:8000", "sec_fetch_site": "same-origin"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An owner that was asked everything that it has a word for."""
    place = tmp_path_factory.mktemp("owner")
    data = place / "records.csv"
    data.write_bytes(write_table("csv", USUAL, 3))

    def errands(terms, name, choices):
        return thorough(terms, name, choices, receipt(0))

    life = live(audited_house(), place / "home", data, PLAIN.text(), errands)
    assert life.said[-1].where == "statement"
    return place / "home"


@pytest.fixture(scope="module")
def app(folder):
    return Guard(owner_app(folder, TOKEN, Ending()), Door(token=TOKEN, open_paths=frozenset({"/metrics"})))


def _see(app, path, **headers):
    return ask(app, path, authorization=f"Bearer {TOKEN}", **headers)


def test_it_shows_what_left_and_what_was_refused(app):
    page = _see(app, "/owner").text
    assert "What left my house" in page
    assert "laplace noise of scale" in page
    assert "no ε covers it" in page
    assert "refused (exhausted)" in page
    assert "for any one record (replace-one)" in page
    assert _see(app, "/owner.json").text.startswith('{"owner":"audited"')
    assert ask(app, "/owner").status == 401


def test_metrics_need_no_token_and_say_what_the_ledger_says(app):
    text = ask(app, "/metrics").text
    assert 'copriv_owner_budget_left{measure="epsilon",unit="record",adjacency="replace-one"}' in text
    assert 'copriv_owner_refusals_total{reason="exhausted"}' in text
    assert "copriv_owner_paused 0" in text


@pytest.mark.parametrize("word", ["", "x", sealed("another", "form"), sealed(TOKEN, "cookie")])
def test_a_form_of_somebody_else_changes_nothing(app, folder, word):
    body = urlencode({"word": word}).encode()
    assert _see(app, "/owner/pause", method="POST", body=body, **OWN).status == 403
    assert not is_paused(folder)


def test_nor_does_one_from_elsewhere_or_a_link(app, folder):
    body = urlencode({"word": sealed(TOKEN, "form")}).encode()
    assert _see(app, "/owner/pause", method="POST", body=body, origin="http://evil.example").status == 403
    assert _see(app, "/owner/pause").status == 404
    assert ask(app, "/owner/pause", method="POST", body=body, **OWN).status == 401
    assert _see(app, "/owner/pause", method="POST", body=b"word=" + b"x" * 5000, **OWN).status == 413
    assert not is_paused(folder)


def test_the_page_itself_pauses_and_resumes(app, folder):
    body = urlencode({"word": sealed(TOKEN, "form")}).encode()
    assert _see(app, "/owner/pause", method="POST", body=body, **OWN).status == 303
    since = read_pause(folder)
    assert since is not None
    assert "Resume answering" in _see(app, "/owner").text
    _see(app, "/owner/pause", method="POST", body=body, **OWN)
    assert read_pause(folder) == since
    _see(app, "/owner/resume", method="POST", body=body, **OWN)
    assert not is_paused(folder)


def test_a_page_that_is_none_is_a_sentence(app):
    said = _see(app, "/owner?page=x")
    assert (said.status, said.text.partition(";")[0]) == (400, "page=x")


def test_a_pause_that_cannot_be_put_on_the_disk_is_said(app, folder, monkeypatch):
    def full(*_given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("copriv.owner.pause.os.fsync", full)
    body = urlencode({"word": sealed(TOKEN, "form")}).encode()
    said = _see(app, "/owner/pause", method="POST", body=body, **OWN)
    assert said.status == 500
    assert "No space left" in said.text


def test_a_comparison_that_breaks_is_over_and_tells_no_record(folder, monkeypatch):
    def broken(*_given):
        raise ZeroDivisionError("4711")

    monkeypatch.setattr(owner_view, "read_records", broken)
    view = owner_view.OwnerView(folder)
    view._compare()
    shown = view.show().fit
    assert shown.state == "not compared"
    assert "4711" not in "".join(shown.lines)
