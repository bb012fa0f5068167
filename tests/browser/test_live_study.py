"""A real study over the network in a browser: it advances, an owner goes and comes back, one refuses, it ends."""

import json
import re
from pathlib import Path

import pytest
import study
from playwright.sync_api import expect

from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.workspace import OwnerWorkspace
from copriv.runtime.owner_status import owner_status

SECONDS = 30_000


def _answers(folder):
    ledger = SqliteLedger(Path(OwnerWorkspace(folder).enrollment.ledger))
    try:
        return sum(asked.answer is not None for asked in ledger.state().queries.values())
    finally:
        ledger.close()


def _row(page, owner):
    return page.locator("#owners tbody tr", has=page.locator("th", has_text=owner))


@pytest.fixture
def processes(tmp_path):
    """A learner and north with pages; the others are not there yet."""
    study.prepare(tmp_path)
    started = [
        study.Process(tmp_path, "learner", "run", "--deadline", 2, "--folder", tmp_path / "learner"),
        study.Process(tmp_path, "owner", "serve", "--folder", tmp_path / "north", "--log", tmp_path / "north.jsonl"),
    ]
    yield started
    for process in started:
        process.close()


def test_a_study_from_the_first_hello_to_the_end(processes, open_page, tmp_path, pictures):
    learner, owner = processes
    board = open_page(learner.url())
    page = board.page
    threads = [study.serve_in_thread(tmp_path / "east")]
    for name in ("east", "north"):
        expect(_row(page, name)).to_contain_text("connected", timeout=SECONDS)
    expect(page.locator("#waiting")).to_contain_text("Waiting for west")
    house = open_page(owner.url())
    _pause(house.page, tmp_path, pictures)

    threads.append(study.serve_in_thread(tmp_path / "west"))
    expect(_row(page, "north")).to_contain_text("waited for", timeout=SECONDS)
    expect(_row(page, "west")).to_contain_text("exhausted", timeout=SECONDS)
    expect(page.locator("#shift")).to_contain_text("public rows do not fit", timeout=SECONDS)
    expect(_row(page, "east")).to_contain_text("done", timeout=SECONDS)
    met = int(page.locator("#meetings").inner_text())
    assert met > 0
    assert _answers(tmp_path / "north") == 0
    assert board.audit() == []
    page.screenshot(path=pictures / "learner.png", full_page=True)
    figures = _json(page, "/learner.json")
    assert figures["counts"] == {"done": 2, "waited for": 1}
    assert [row["owner"] for row in figures["owners"] if row["refused"]] == ["west"]

    _look_at_home(house, pictures)
    house.page.locator("#switch").click()
    expect(house.page.locator("#switch")).to_have_text(re.compile("Pause"), timeout=SECONDS)
    expect(house.page.locator("#answers")).not_to_have_text(re.compile(r"^0"), timeout=SECONDS)
    expect(page.locator(".stage")).to_have_text("finished", timeout=SECONDS)
    expect(page.locator("#live")).to_contain_text("It has ended")
    assert int(page.locator("#meetings").inner_text()) > met
    expect(house.page.locator("#history")).to_contain_text("laplace noise")
    result = learner.result()
    assert {entry["owner"] for entry in result["spent"]} == set(study.OWNERS)
    assert owner.result()["owner"] == "north"
    _check_records_of_the_end(tmp_path, learner, owner)


def _pause(page, folder, pictures):
    """Nothing leaves from here on; whoever looks at the status sees it, and so does the learner."""
    expect(page.locator("#decision")).to_contain_text("no ε covers it")
    page.locator("#switch").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#paused")).to_be_visible()
    assert owner_status(OwnerWorkspace(folder / "north")).paused is not None
    page.screenshot(path=pictures / "owner-paused.png", full_page=True)


def _look_at_home(house, pictures):
    """The comparison with the public rows stays on this page."""
    page = house.page
    page.locator("#compare").click()
    expect(page.locator("#fit")).to_contain_text("public rows", timeout=SECONDS)
    expect(page.locator("#fit li").first).to_contain_text("do not fit", timeout=SECONDS)
    assert house.audit() == []
    page.screenshot(path=pictures / "owner.png", full_page=True)
    metrics = _get(page, "/metrics")
    assert "copriv_owner_answers_total 0\n" in metrics
    assert "copriv_owner_paused 1\n" in metrics
    assert "fit" not in metrics


def _check_records_of_the_end(folder, learner, owner):
    """The token is in no log; the diary names what happened; the owner's log has outcomes in fixed words."""
    [token] = re.findall(r"token=([0-9a-f]+)", owner.said())
    assert len(token) == 64
    kept = [path for path in folder.rglob("*") if path.is_file() and path.suffix in {".jsonl", ".json"}]
    assert not any(token.encode() in path.read_bytes() for path in kept)
    kinds = [json.loads(line)["kind"] for line in (folder / "learner" / "events.jsonl").read_text().splitlines()]
    assert {"arrived", "silent", "refused", "warned", "predicted", "done"} <= set(kinds)
    replied = [json.loads(line) for line in (folder / "north.jsonl").read_text().splitlines()]
    assert {event["outcome"] for event in replied if event["kind"] == "replied"} == {"answer"}
    assert "paused: we are not connected" in (folder / "north.jsonl").read_text()
    assert "page: " in learner.said()


def _get(page, path):
    """What the server says to somebody who has the browser's cookies."""
    answer = page.context.request.get("/".join(page.url.split("/")[:3]) + path)
    assert answer.ok
    return answer.text()


def _json(page, path):
    return json.loads(_get(page, path))
