"""Tests mirror the source: whoever looks for the tests of a package finds them under its name."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE, UNIT = ROOT / "src" / "copriv", ROOT / "tests" / "unit"
# Folders of unit tests for what is not a package of the source.
OTHERS = {"benchmarks", "docs", "theory"}
# Commands are tested by what a user does with them, not by the module that a test happens to share its name with.
BY_STORY = OTHERS | {"cli"}
# How many modules have a test of their name; it was 45 of 176 before tests were moved to mirror the source.
FEWEST_WITH_A_TEST = 67


def _packages(source):
    return {path.parent.name for path in source.glob("*/__init__.py")}


def _strangers(source, unit):
    """Folders of unit tests that no package has the name of."""
    folders = {path.name for path in unit.iterdir() if path.is_dir() and any(path.glob("test_*.py"))}
    return folders - _packages(source) - OTHERS


def _modules(source):
    return {(path.parent.name, path.stem) for path in source.glob("*/*.py") if path.stem != "__init__"}


def _tested(source, unit):
    """Modules with a test of their name, in the folder of their package."""
    named = {(path.parent.name, path.stem.removeprefix("test_")) for path in unit.glob("*/test_*.py")}
    return _modules(source) & named


def _misplaced(source, unit):
    """Tests that have the name of a module of exactly one package, and lie in the folder of another package."""
    homes = {}
    for package, module in _modules(source):
        homes.setdefault(module, set()).add(package)
    return {
        f"{path.parent.name}/{path.name}"
        for path in unit.glob("*/test_*.py")
        for home in [homes.get(path.stem.removeprefix("test_"), set())]
        if len(home) == 1 and path.parent.name not in home and path.parent.name not in BY_STORY
    }


def test_every_folder_of_unit_tests_has_its_package():
    assert _strangers(SOURCE, UNIT) == set()


def test_no_test_lies_in_the_folder_of_another_package():
    assert _misplaced(SOURCE, UNIT) == set()


def test_no_fewer_modules_have_a_test_of_their_name():
    assert len(_tested(SOURCE, UNIT)) >= FEWEST_WITH_A_TEST


def test_what_does_not_mirror_is_found(tmp_path):
    source, unit = tmp_path / "src", tmp_path / "unit"
    for file in (source / "rules" / "__init__.py", source / "rules" / "paper.py", source / "losses" / "__init__.py"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    for file in (unit / "cellar" / "test_jam.py", unit / "losses" / "test_paper.py", unit / "rules" / "test_rules.py"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert _strangers(source, unit) == {"cellar"}
    assert _misplaced(source, unit) == {"losses/test_paper.py"}
    assert _tested(source, unit) == set()
    (unit / "rules" / "test_paper.py").touch()
    assert _tested(source, unit) == {("rules", "paper")}
