"""Both reports in a real browser: from the file system, on a phone, in the dark, and on paper."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import copriv as cp

AXE = Path(__file__).parent / "axe" / "axe.min.js"
PAGES = ("report.html", "report-internal.html")
HOSTILE = {0: "<script>document.title = 'caught'</script>", 1: "\x1b[2J" + "long" * 2_500, 2: "\u202eturned"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The reports of a run with secure noise, whose owners have odd names."""
    place = tmp_path_factory.mktemp("reports")
    table = {
        "x": [k % 20 / 10 for k in range(600)],
        "y": [3.0 + k % 20 / 5 + k % 3 for k in range(600)],
        "bank": [HOSTILE[k % 3] for k in range(600)],
    }
    run = cp.train(cp.read(table, target="y", owners="bank", features=1), 10, rule="paper", horizon=60)
    return run.report().save(place / "run")


@pytest.fixture
def open_page(browser, folder):
    """Open a page from the file system; nothing may be asked of anybody or said on the console."""
    contexts, heard = [], []

    def call(name, **settings):
        context = browser.new_context(**({"viewport": {"width": 1100, "height": 900}} | settings))
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda problem: heard.append(str(problem)))
        page.on("request", lambda request: heard.append(request.url) if request.url != page_address(name) else None)
        page.goto(page_address(name))
        return page

    def page_address(name):
        return (folder / name).resolve().as_uri()

    yield call
    for context in contexts:
        context.close()
    assert heard == []


@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    [(PAGES[0], "light", 1100), (PAGES[0], "dark", 390), (PAGES[1], "dark", 1100), (PAGES[1], "light", 390)],
)
def test_a_report_opens_and_nothing_runs_out_of_the_page(open_page, name, scheme, width):
    page = open_page(name, viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert page.title().startswith("NOT PRIVATE" if "internal" in name else "Report")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("h1").bounding_box()["width"] <= width
    assert "turned" in page.inner_text("main")
    _keep(page, f"{name}-{scheme}-{width}")


def test_colours_have_enough_contrast(open_page):
    """At least 4.5 for every text, in both schemes; a twin with pale text is caught."""
    for name in PAGES:
        for scheme in ("light", "dark"):
            page = open_page(name, color_scheme=scheme)
            assert page.evaluate(CONTRAST) >= 4.5, (name, scheme)
    page.evaluate("document.querySelector('p.under').style.color = '#5a4a40'")
    assert page.evaluate(CONTRAST) < 4.5


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(open_page, name):
    for width in (1100, 390):
        page = open_page(name, viewport={"width": width, "height": 800})
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found] == []


def test_everything_that_scrolls_is_reached_by_keyboard(open_page):
    page = open_page("report.html", viewport={"width": 390, "height": 800})
    wanted = page.locator("a[href], [tabindex='0']").count()
    reached = set()
    for _ in range(wanted):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
    assert len(reached) == wanted


@pytest.mark.parametrize("name", PAGES)
def test_a_report_prints_with_its_statement(open_page, name, tmp_path):
    page = open_page(name)
    path = tmp_path / "report.pdf"
    path.write_bytes(page.pdf(prefer_css_page_size=True, print_background=True))
    pages = len(re.findall(rb"/Type\s*/Page\b", path.read_bytes()))
    assert pages >= 1
    page.emulate_media(media="print")
    words = page.inner_text("body")
    if "internal" in name:
        assert "NOT PRIVATE" in words
    else:
        for said in ("Privacy statement", "What is protected", "What is not", "replace-one", "δ = 0"):
            assert said in words
    if shutil.which("pdftotext"):
        text = subprocess.run(["pdftotext", str(path), "-"], capture_output=True, check=True, text=True).stdout  # noqa: S607
        assert text.count("NOT PRIVATE") >= pages if "internal" in name else "Privacy statement" in text


def _keep(page, name):
    """Pictures to look at, where somebody wants them."""
    if folder := os.environ.get("COPRIV_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


CONTRAST = """() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const lum = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  let least = 99;
  for (const e of document.querySelectorAll('p, li, th, td, dt, dd, h1, h2, h3, a, code, span, figcaption, strong')) {
    if (!e.textContent.trim() || e.className === 'skip') continue;
    const [one, other] = [lum(parse(getComputedStyle(e).color)), lum(ground(e))].sort((a, b) => b - a);
    least = Math.min(least, (one + .05) / (other + .05));
  }
  return least; }"""
