"""The house holds: one planted import for each contract breaks that contract, and no other."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STOREYS = "An upper storey sees lower ones"
CHANCE = "Chance has one door"
DOOR = "Only owner, simulation, planning"
ANSWERS = "Records stay with their owner"
FIT = "The fit check stays at home"
TERMINAL = "Nobody but cli and report writes"
RECORDS = "The learner never sees a record"
PASSED_ON = "What may be passed on is told without a look"
# What is planted, where, and the contracts that it breaks.
PLANTED = {
    "upward": ("rules/paper.py", "from copriv.learner import learner", {STOREYS}),
    "sideways": ("owner/owner.py", "from copriv.learner import learner", {STOREYS}),
    "runtime from below": ("planning/search.py", "from copriv.runtime import local", {STOREYS}),
    "homeless": ("cellar/__init__.py", "", {STOREYS}),
    "impure": ("privacy/laplace.py", "import os", {"The pure storeys touch no files"}),
    "uuid": ("runtime/local.py", "import uuid", {CHANCE}),
    "seeded": ("learner/learner.py", "from copriv import entropy", {DOOR}),
    "an answer from planning": ("planning/search.py", "from copriv.owner import responder", {ANSWERS}),
    "a hello that knows the fit": ("runtime/owner_client.py", "from copriv.owner import fit", {FIT}),
    "a printing runtime": ("runtime/local.py", "from rich.console import Console", {TERMINAL}),
    "a table at the learner": ("learner/learner.py", "import polars", {RECORDS}),
    "records at the learner": ("learner/learner.py", "from copriv.records import table", {RECORDS}),
    "measured figures in a report": ("report/report_page.py", "from copriv.report import figures", {PASSED_ON}),
}


def _contracts():
    with (ROOT / "pyproject.toml").open("rb") as file:
        return [contract["name"] for contract in tomllib.load(file)["tool"]["importlinter"]["contracts"]]


def _lint(folder):
    """Whether all contracts are kept, and the names of those that are broken."""
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--no-cache", "--config", str(folder / "pyproject.toml")]
    environment = {"PYTHONPATH": str(folder / "src"), "PATH": "", "COLUMNS": "300"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    broken = re.findall(r"^(.+) BROKEN", done.stdout, flags=re.MULTILINE)
    assert (done.returncode == 0) == (not broken), done.stdout + done.stderr
    return set(broken)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    folder = tmp_path_factory.mktemp("house")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_the_house_as_it_is(house):
    assert _lint(house) == set()


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_import_breaks_its_contract(house, kind):
    file, lines, expected = PLANTED[kind]
    path = house / "src" / "copriv" / file
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{before or ''}\n{lines}\n")
    try:
        broken = _lint(house)
    finally:
        if before is None:
            shutil.rmtree(path.parent)
        else:
            path.write_text(before)
    assert broken == {name for name in _contracts() if name.startswith(tuple(expected))}
    assert len(broken) == len(expected)


def test_every_contract_has_a_planted_import():
    planted = tuple({start for _, _, starts in PLANTED.values() for start in starts})
    assert [name for name in _contracts() if not name.startswith(planted)] == []
