"""docs/how-to is true: its rule and its loss are complete and run, and every file that it names is there."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from copriv.losses import choose as losses
from copriv.rules import registry
from copriv.testing import check_loss, check_rule
from copriv.testing.loss_checks import LOSS_CHECKS
from copriv.testing.rule_checks import RULE_CHECKS

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted((ROOT / "docs" / "how-to").glob("add-a-*.md"))


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch):
    monkeypatch.setattr(registry, "_PASSED", {})
    monkeypatch.setattr(losses, "_PASSED", {})


def _code(page):
    text = (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def _lines(code):
    return [line for line in code.splitlines() if line.strip() and not line.startswith(("import", "from", '"""'))]


def test_the_rule_of_the_page_is_complete_and_keeps_the_contract():
    code, choosing, check = _code("add-a-rule.md")
    assert len(_lines(code)) <= 30
    page = {"__name__": "page"}
    exec(compile(code, "add-a-rule.md", "exec"), page)  # noqa: S102
    exec(compile(check, "add-a-rule.md", "exec"), page)  # noqa: S102
    check_rule(page["RULE"])
    exec(compile(choosing, "add-a-rule.md", "exec"), page)  # noqa: S102
    rule = SimpleNamespace(model=lambda _state: np.zeros(2))
    asked = [page["ask"](rule, [answers], 0) for answers in range(3)]
    assert [ask and (ask.kind, ask.share) for ask in asked] == [("gradient", 20), ("gradient", 80), None]


def test_the_loss_of_the_page_is_complete_and_keeps_the_contract():
    [code] = _code("add-a-loss.md")
    page = {"__name__": "page"}
    exec(compile(code, "add-a-loss.md", "exec"), page)  # noqa: S102
    check_loss(page["LOSS"])


@pytest.mark.parametrize(("page", "module"), [("add-a-rule.md", "outside_rule"), ("add-a-loss.md", "outside_loss")])
def test_the_page_shows_the_package_that_the_tests_install(page, module):
    installed = (ROOT / "tests" / "outside" / f"{module}.py").read_text(encoding="utf-8")
    assert _code(page)[0].strip() == installed.strip()


def test_the_page_counts_the_promises():
    words = {9: "nine", 13: "thirteen"}
    assert words[len(RULE_CHECKS)] in (ROOT / "docs" / "how-to" / "add-a-rule.md").read_text(encoding="utf-8")
    assert len(LOSS_CHECKS) == 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_and_name_of_a_page_is_there(page):
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|tests|docs)/[\w/.-]+)`", text)
    assert named
    for name in named:
        assert (ROOT / name).exists(), name
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    for word in re.findall(r"`(_?[a-z]+(?:_[a-z]+)+|_BUILT_IN|NAMES)(?:\(.*?\))?`", text):
        assert re.search(rf"\b{word}\b", source), word
