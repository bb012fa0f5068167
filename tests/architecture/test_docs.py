"""Documentation that cannot go stale: notation, options, commands and links."""

import re
from pathlib import Path

import pytest
import typer.main

from copriv.cli.main import app

ROOT = Path(__file__).resolve().parents[2]


def _commands(group, prefix=""):
    """Every command that does something, by the words one types."""
    found = {}
    for name, command in group.commands.items():
        words = f"{prefix}{name}"
        found |= _commands(command, f"{words} ") if hasattr(command, "commands") else {words: command}
    return found


COMMANDS = _commands(typer.main.get_command(app))


def _rows():
    lines = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][1:]


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row[2])
def test_every_name_of_the_notation_stands_in_its_file(row):
    _, _, name, file = row
    text = (ROOT / "src" / "copriv" / file.strip("`")).read_text(encoding="utf-8")
    assert re.search(rf"\b{re.escape(name.strip('`'))}\b", text)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_documented_and_every_documented_option_exists(command):
    options = {name for option in COMMANDS[command].params for name in option.opts if name.startswith("--")}
    assert _documented(command) == options - {"--help"}


def _documented(command):
    """The options in a command's section, and those that it takes over from another command."""
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    section = reference.split(f"## `copriv {command}`")[1].split("\n## ")[0]
    documented = set(re.findall(r"^\| `(--[a-z-]+)", section, flags=re.MULTILINE))
    for other, without in re.findall(r"All options of `copriv ([a-z ]+)` but `(--[a-z-]+)`", section):
        documented |= _documented(other) - {without}
    return documented


def test_every_option_has_help():
    for command in COMMANDS.values():
        for option in command.params:
            assert getattr(option, "help", None), option.name


def test_the_readme_opens_with_the_two_commands():
    opening = (ROOT / "README.md").read_text(encoding="utf-8").split("```")[1]
    assert [line.split("#")[0].strip() for line in opening.strip().splitlines()] == ["make run", "make test"]


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.name
)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not link.startswith("http"):
            assert (page.parent / link).exists(), link


def _packages():
    return sorted(path.parent.name for path in (ROOT / "src" / "copriv").glob("*/__init__.py"))


def test_every_package_has_its_place_in_the_drawing_of_the_storeys():
    drawing = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("```")[1]
    placed = re.findall(r"[a-z_]+", " ".join(line[:30] for line in drawing.splitlines()))
    assert [name for name in _packages() if name not in placed] == []


def _stops():
    lines = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines()
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines if re.match(r"\| \d", line)]


@pytest.mark.parametrize("stop", _stops(), ids=lambda stop: stop[2])
def test_every_stop_of_the_two_walks_exists(stop):
    _, _, name, file = stop
    text = (ROOT / "src" / "copriv" / file).read_text(encoding="utf-8")
    assert re.search(rf"\b(def|class) {re.escape(name)}\b", text)


def test_the_glossary_maps_our_words_to_the_fields():
    lines = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("| ")][1:]
    assert len(rows) >= 30
    assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in rows)
    assert len({row[0] for row in rows}) == len(rows)
