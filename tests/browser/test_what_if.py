"""Sliders in a browser: the verdict changes exactly as the API says."""

import json
import threading

import numpy as np
import pytest
from playwright.sync_api import expect

import copriv as cp
from copriv.dashboard.guard import Door
from copriv.dashboard.server import bind, serve
from copriv.dashboard.what_if_page import what_if_app
from copriv.dashboard.what_if_view import Studio
from copriv.records import lending_like

SECONDS = 30_000


@pytest.fixture(scope="module")
def table():
    return lending_like.generate(1500, np.random.default_rng(0))


@pytest.fixture(scope="module")
def address(table, tmp_path_factory):
    """The page of `copriv forecast --serve`, in a thread."""
    path = tmp_path_factory.mktemp("public") / "<b>loans.parquet"
    table.write_parquet(path)
    studio = Studio(path, "int_rate", cp.Scenario([3000] * 10, 1.0), {"features": 4, "rule": "newton"})
    place, over = bind(0, path="/what-if"), threading.Event()
    serving = threading.Thread(target=serve, args=(what_if_app(studio), place.socket, Door(place.hosts), over.is_set))
    serving.start()
    yield place.url
    over.set()
    serving.join()


def _forecast(table, setting):
    who = cp.Scenario([setting["records"]] * setting["owners"], setting["epsilon"], setting["delta"])
    settings = {"features": setting["features"], "rule": setting["rule"]}
    return cp.forecast(table.head(setting["rows"]), who, target="int_rate", **settings)


def test_sliders_change_the_verdict_as_the_api_says(address, table, open_page, pictures):
    watched = open_page(address)
    page = watched.page
    verdicts = set()
    for name, keys in (
        ("epsilon", ["Home"]),
        ("epsilon", ["End"]),
        ("owners", ["End"]),
        ("delta", ["ArrowRight"] * 2),
        ("rows", ["Home"]),
    ):
        page.locator(f"#{name}-slide").focus()
        for key in keys:
            page.keyboard.press(key)
        value = page.locator(f"#{name}").input_value()
        expect(page.locator("#link")).to_have_attribute("href", _part(name, value), timeout=SECONDS)
        expect(page.locator("#first-look")).to_have_count(0, timeout=SECONDS)
        told = json.loads(
            page.context.request.get(page.locator("#json").evaluate("link => link.href") + "&curve=some").text()
        )
        assert told["settled"]
        found = _forecast(table, told["setting"])
        assert told["verdict"] == found.decision
        assert told["relative_fitness"] == pytest.approx(found.relative_fitness)
        assert told["interval"] == pytest.approx(list(found.interval))
        assert told["joint_quality"]["r2"] == pytest.approx(found.quality.joint.r2)
        assert told["price"] > 0
        expect(page.locator("#verdict")).to_have_text(told["sentence"])
        verdicts.add(told["verdict"])
    assert len(verdicts) > 1
    expect(page.locator("#curve")).to_have_attribute("data-complete", "yes", timeout=SECONDS)
    page.screenshot(path=pictures / "what-if.png", full_page=True)
    assert watched.audit() == []


def _part(name, value):
    import re

    return re.compile(rf"[?&]{name}={re.escape(f'{float(value):g}' if name in {'epsilon', 'delta'} else value)}(&|$)")


def test_a_link_reproduces_the_setting_without_script(address, table, open_page, pictures):
    page = open_page(
        f"{address}?owners=40&epsilon=0.2&rule=newton",
        java_script_enabled=False,
        viewport={"width": 390, "height": 844},
        color_scheme="dark",
    ).page
    assert page.locator("#owners").input_value() == "40"
    assert page.locator("#epsilon").input_value() == "0.2"
    expect(page.locator("#curve")).to_have_attribute("data-complete", "yes")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.screenshot(path=pictures / "what-if-phone.png", full_page=True)
    page.locator("#epsilon").fill("3")
    page.get_by_role("button", name="Forecast").click()
    found = _forecast(
        table,
        {"owners": 40, "records": 3000, "epsilon": 3.0, "delta": 0.0, "features": "4", "rule": "newton", "rows": 1500},
    )
    expect(page.locator("#psi")).to_contain_text(f"{found.relative_fitness:.4g}")
    for kind, text in (
        ("command", page.locator("#command").inner_text()),
        ("python", page.locator("#python").inner_text()),
    ):
        assert {"command": "--epsilon 3 ", "python": "epsilon=3,"}[kind] in text
    assert "&lt;b&gt;" in page.content()
