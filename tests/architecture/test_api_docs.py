"""docs/api.md is complete: every public name has a heading, a line in the table, and a docstring with an example."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

import copriv

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", copriv.__all__)
def test_every_public_name_has_a_heading_and_an_example(name):
    assert f"\n## `cp.{name}`\n" in PAGE
    assert f"| [`cp.{name}`](#cp{name.lower()}) |" in PAGE
    found = getattr(copriv, name)
    assert inspect.getdoc(found)
    assert doctest.DocTestParser().get_examples(found.__doc__), "the docstring has no example"


def test_no_heading_is_left_of_a_name_that_is_gone():
    headings = re.findall(r"^## `cp\.(\w+)`$", PAGE, flags=re.MULTILINE)
    assert sorted(headings) == sorted(copriv.__all__)


def test_settings_are_documented():
    from copriv.api.settings import Reading, TrainSettings

    for kind in (Reading, TrainSettings):
        for setting in kind.__annotations__:
            assert re.search(rf"`{setting}`", PAGE), setting
