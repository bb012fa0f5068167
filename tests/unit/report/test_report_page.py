"""Both reports: plain semantics, nothing from outside, names that are only text, and a size that does not grow away."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import msgspec
import numpy as np
import pytest

import copriv as cp
from copriv.report.internal_page import internal_html
from copriv.report.report_page import report_html
from copriv.report.statement import ExpelledStatement
from copriv.report.timeline import draw_up

HOSTILE = (
    "<script>alert(1)</script>",
    "\x1b[2Jcleared\x07",
    "x" * 10_000,
    "\u202egnirts desrever\u202c",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
)
MEETINGS, OWNERS, MOST_BYTES = 10**6, 1000, 2 * 10**6


@pytest.fixture(scope="module")
def run():
    table = {"x": [k % 20 / 10 for k in range(600)], "y": [3.0 + k % 20 / 5 + k % 3 for k in range(600)]}
    return cp.train(cp.read(table, target="y", owners=2, features=1), 10, simulate=True)


def _named(run, names):
    """The same run with owners of other names, who were met again and again."""
    passable, figures = run.result.passable, run.figures
    owners = [msgspec.structs.replace(passable.statement.owners[0], owner=name) for name in names]
    generator = np.random.default_rng(5)
    met = generator.integers(len(names), size=MEETINGS if len(names) == OWNERS else 50)
    numbers = range(1, met.size + 1)
    timeline = draw_up(names, list(numbers), [names[place] for place in met], generator.random(met.size) < 0.9)
    points = [(int(number), float(generator.random())) for number in numbers]
    converging = msgspec.structs.replace(passable.facts.converging, points=points)
    expelled = [ExpelledStatement(name, f"it sent {name}") for name in names[:6]]
    statement = msgspec.structs.replace(passable.statement, owners=owners, study=names[0], expelled=expelled)
    facts = msgspec.structs.replace(
        passable.facts, timeline=timeline, converging=converging, command=" ".join(names[:6])
    )
    judged = [msgspec.structs.replace(figures.quality.owners[0], owner=name) for name in names]
    budgets = [msgspec.structs.replace(figures.budgets[0], owner=name) for name in names]
    quality = msgspec.structs.replace(figures.quality, owners=judged)
    told = msgspec.structs.replace(figures, quality=quality, budgets=budgets, notices=list(names[:6]), path=points)
    return report_html(replace(passable, statement=statement, facts=facts)), internal_html(told, None, "now")


class Outline(HTMLParser):
    """What a screen reader would complain about."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.headings, self.complaints, self.ids, self.named = [], [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.named += [given["aria-labelledby"]] if "aria-labelledby" in given else []
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "th" and given.get("scope") not in {"col", "row"}:
            self.complaints.append("a header without scope")
        if tag == "svg" and not (given.get("role") == "img" and given.get("aria-label")):
            self.complaints.append("a picture without words")
        if any(name.startswith("on") for name in given) or tag in {"script", "img", "link", "iframe", "object"}:
            self.complaints.append(f"<{tag}>")
        for name in ("src", "href"):
            if not given.get(name, "#").startswith(("#", "report.html")):
                self.complaints.append(given[name])


def _complaints(page):
    found = Outline(page)
    steps = zip([0, *found.headings], found.headings, strict=False)
    return [
        *found.complaints,
        *(f"h{after} after h{before}" for before, after in steps if after > before + 1),
        *(f"{count} {tag}" for tag in ("h1", "main", "title") if (count := found.tags.count(tag)) < 1),
        *({name for name in found.ids if found.ids.count(name) > 1}),
        *(set(found.named) - set(found.ids)),
    ]


def test_pages_can_be_read_aloud_and_ask_for_nothing(run):
    report = run.report()
    for page in (report.html, report.internal_html):
        assert _complaints(page) == []
        assert "url(" not in page
        assert "@import" not in page


def test_what_cannot_be_read_aloud_is_found():
    page = "<title>t</title><main><h1>a</h1><h3>b</h3><th>c</th><svg></svg><img src='https://a.b/c'></main>"
    assert _complaints(page) == [
        *("a header without scope", "a picture without words", "<img>", "https://a.b/c", "h3 after h1"),
    ]


def test_hostile_names_are_text(run):
    plain = run.report()
    for page, before in zip(_named(run, HOSTILE), (plain.html, plain.internal_html), strict=True):
        assert _complaints(page) == []
        assert "&lt;script&gt;alert(1)" in page
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", page)
        assert "x" * 3_000 not in page
        assert "{{ 7 * 7 }}" in page
        assert set(Outline(page).tags) <= set(Outline(before).tags) | {"ul", "li"}


def test_a_million_meetings_with_a_thousand_owners_fit(run):
    names = [f"hospital number {place:04}, of a rather long name" for place in range(OWNERS)]
    report, internal = _named(run, names)
    for page in (report, internal):
        assert len(page.encode()) < MOST_BYTES
        assert all(name in page for name in names)
        assert max(map(len, re.findall(r' d="([^"]*)"', page))) < 40_000


def test_a_simulated_run_says_so_first(run):
    page = run.report().html
    assert "<title>SIMULATED: Report" in page
    assert page.index("SIMULATED: do not pass this on") < page.index("<h1>")
    assert "may be passed on.</strong>" not in page


def test_the_two_files_cannot_be_confused(run):
    """Measured figures are in one, the statement in the other; ε never stands without unit, adjacency and δ."""
    report = run.report()
    quality, figures = run.figures.quality, run.figures
    for value in (f"{figures.fitness:.8g}", f"{figures.best_fitness:.8g}", f"{figures.cost_of_privacy:.4g}"):
        assert value not in report.html
        assert value in report.internal_html
    assert quality.joint.words.split(",")[0].split()[-1] in report.internal_html
    assert "NOT PRIVATE" not in report.html
    assert report.internal_html.count("NOT PRIVATE") >= 3
    for page in (report.html, report.internal_html):
        for words in ("record", "replace-one", "ε = 10", "δ = 0"):
            assert words in page
