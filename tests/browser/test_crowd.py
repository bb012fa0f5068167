"""A run with many owners, some with names that nobody should choose: text, searchable, sorted, readable on a phone."""

import threading

import pytest
from benchmarks.crowded_run import crowded_run
from playwright.sync_api import expect

from copriv.dashboard.guard import Door
from copriv.dashboard.learner_page import learner_app
from copriv.dashboard.live import Ending
from copriv.dashboard.server import bind, serve


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = crowded_run(tmp_path_factory.mktemp("runs") / "<i>run", 1000, 20_000)
    place, over = bind(0, path="/learner"), threading.Event()
    app = learner_app(folder, Ending())
    serving = threading.Thread(target=serve, args=(app, place.socket, Door(place.hosts), over.is_set))
    serving.start()
    yield place.url
    over.set()
    serving.join()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hostile_names_are_text_and_nothing_keeps_people_out(address, open_page, pictures, scheme):
    watched = open_page(f"{address}?sort=owner", color_scheme=scheme)
    page = watched.page
    expect(page.locator("#owners")).to_contain_text("<script>alert(3)</script>")
    expect(page.locator("#owners")).to_contain_text("\\x1b[2J")
    expect(page.locator("#owners")).to_contain_text("1,000 owners, page 1 of 20")
    assert all(len(name) < 100 for name in page.locator("#owners tbody th").all_inner_texts())
    assert watched.audit() == []
    page.screenshot(path=pictures / f"crowd-{scheme}.png")


def test_search_and_sort_with_script(address, open_page):
    page = open_page(address).page
    page.get_by_label("Find an owner").fill("owner-077")
    expect(page.locator("#owners")).to_contain_text("10 owners")
    page.locator("#sort-answers").click()
    counts = [int(text) for text in page.locator("#owners tbody td:nth-child(3)").all_inner_texts()]
    assert counts == sorted(counts, reverse=True)
    assert len(counts) == 10


def test_search_and_sort_without_script_on_a_phone(address, open_page, pictures):
    page = open_page(address, java_script_enabled=False, viewport={"width": 390, "height": 844}).page
    page.get_by_label("Find an owner").fill("owner-001")
    page.get_by_role("button", name="Find").click()
    page.wait_for_url("**q=owner-001**")
    assert "10 owners" in page.locator("#owners").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.screenshot(path=pictures / "crowd-phone.png", full_page=True)
