"""The house holds: a planted upward import fails the build, and so does an impure or seeded one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLANTED = {
    "upward": ("rules/paper.py", "from copriv.learner import learner"),
    "sideways": ("owner/owner.py", "from copriv.learner import learner"),
    "impure": ("privacy/laplace.py", "import os"),
    "seeded": ("learner/learner.py", "from copriv import entropy"),
    "records at the learner": ("learner/learner.py", "from copriv.records import table"),
    "homeless": ("cellar/__init__.py", ""),
}


def _lint(folder):
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--no-cache", "--config", str(folder / "pyproject.toml")]
    environment = {"PYTHONPATH": str(folder / "src"), "PATH": ""}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def house(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_house_as_it_is(house):
    done = _lint(house)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_import_fails_the_build(house, kind):
    file, line = PLANTED[kind]
    path = house / "src" / "copriv" / file
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + f"\n{line}\n")
    done = _lint(house)
    assert done.returncode != 0
    assert "BROKEN" in done.stdout or "cellar" in done.stdout + done.stderr
