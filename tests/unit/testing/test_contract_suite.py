"""The contract suite at a prompt, as somebody with a package of their own would run it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from copriv.losses import choose as losses
from copriv.rules import registry
from copriv.testing.__main__ import main

ROOT = Path(__file__).resolve().parents[3]
BROKEN = """
from dataclasses import replace
from outside_rule import RULE, FadingRule

class Boxless(FadingRule):
    def absorb(self, state, owner, answer, asked=None):
        return FadingRule(self.parameters, self.records, self.step, 0.0, 1e300).absorb(state, owner, answer)

def build(terms, owners, noise, public):
    return Boxless(terms.parameters, owners.records, terms.step, terms.regularization, terms.limit)

RULE = replace(RULE, build=build)
"""


@pytest.fixture(autouse=True)
def _installed(monkeypatch):
    monkeypatch.setattr(registry, "_PASSED", {})
    monkeypatch.setattr(losses, "_PASSED", {})
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "outside"))


def test_a_package_elsewhere_runs_the_suite():
    """A process of its own, which knows the package only by its path and its entry point."""
    path = os.pathsep.join(str(ROOT / folder) for folder in ("src", "tests/outside"))
    done = subprocess.run(
        [sys.executable, "-m", "copriv.testing", "outside_rule:RULE"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "outside_rule:RULE: all 13 promises are kept" in done.stdout
    assert done.stdout.count("passed") == 13


def test_an_installed_rule_is_checked_by_its_name(capsys):
    assert main(["fading"]) == 0
    assert "fading: all 13 promises are kept" in capsys.readouterr().out


def test_a_broken_promise_is_told_in_words_and_by_the_exit_code(tmp_path, monkeypatch, capsys):
    (tmp_path / "broken_rule.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["broken_rule:RULE"]) == 1
    told = capsys.readouterr().out
    assert "FAILED  extreme answers: the model after an answer of 1e+09 leaves the box" in told
    assert "broken_rule:RULE: 1 of 13 promises are broken" in told


def test_json(capfd):
    assert main(["outside_loss:LOSS", "--loss", "--json"]) == 0
    results = json.loads(capfd.readouterr().out)
    assert len(results) == 10
    assert all(result["passed"] and result["promise"] for result in results)


@pytest.mark.parametrize(
    "arguments",
    [
        ["nobody-s"],
        ["outside_rule:NOTHING"],
        ["no_such_module:RULE"],
        ["outside_rule:build"],
        [":"],
        ["hinge", "--loss"],
        ["outside_rule:RULE", "--loss"],
    ],
    ids=" ".join,
)
def test_nothing_to_check_is_said_without_a_traceback(arguments, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("error: ")
