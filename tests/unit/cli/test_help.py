"""Help is instant because nothing heavy is imported for it, and it teaches."""

import os
import subprocess
import sys

import pytest

HEAVY = {"numpy", "scipy", "numba", "polars", "opendp", "dp_accounting", "matplotlib", "sklearn", "msgspec"}


def test_the_command_line_imports_nothing_heavy():
    code = "import sys, copriv.cli.main; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())


COMMANDS = [[], ["train"], ["predict"], ["generate"], ["forecast"], ["audit"], ["reproduce"], ["ledger", "show"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(copriv, command):
    outcome = copriv(*command, "--help")
    assert outcome.code == 0
    assert "copriv" in outcome.out
    if command:
        assert "--json" in outcome.out


def test_no_arguments_show_help_and_the_version_is_told(copriv):
    assert "Usage" in copriv().out
    from copriv import __version__

    assert copriv("--version").out.strip() == __version__


@pytest.mark.parametrize(("before", "after"), [(None, "1"), ("3", "3")])
def test_a_command_leaves_the_cores_to_others_unless_the_user_wants_otherwise(copriv, before, after, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if before:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", before)
    assert copriv("--version").code == 0
    assert os.environ["OPENBLAS_NUM_THREADS"] == after
