"""Rules by name: this project's, those that are passed, and those of installed packages."""

import dataclasses
from pathlib import Path

import pytest

from copriv.errors import BadInput
from copriv.learner.roster import Roster, meetings_of, rule_of
from copriv.losses.sample import Sample
from copriv.protocol.meeting import Hello
from copriv.protocol.plain_terms import plain_terms
from copriv.rules import registry
from copriv.rules.entry import RuleEntry
from copriv.rules.registry import built_in, resolve, rule_names
from copriv.rules.setting import NoiseModel, Owners
from copriv.vectors import Norm

OUTSIDE = Path(__file__).resolve().parents[2] / "outside"
OWNERS = Owners((40, 70), (4, 4), (0.5, 0.5))
PUBLIC = Sample.of_rows([[1.0, 0.0, 0.1, 0.2], [0.0, 1.0, 0.2, 0.1], [0.5, 0.5, 0.0, 0.3]] * 9, [0.1, -0.2, 0.3] * 9)
NOISE = NoiseModel((0.1, 0.1), 0.5, Norm.L1, PUBLIC)


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch):
    monkeypatch.setattr(registry, "_PASSED", {})


def _entry(**changes):
    return dataclasses.replace(resolve("averaged"), name="mine", **changes)


def _install(folder, monkeypatch, entry_points, code="", package="other"):
    """A package as pip leaves it: a module, and metadata that importlib reads."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    (folder / f"{package}_code.py").write_text(code)
    monkeypatch.syspath_prepend(str(folder))


@pytest.mark.parametrize("entry", built_in(), ids=lambda entry: entry.name)
def test_every_rule_says_of_itself_what_its_entry_says(entry):
    rule = entry.make(plain_terms(rule=entry.name), OWNERS, NOISE)
    assert (rule.name, rule.asks) == (entry.name, entry.asks)
    assert resolve(entry.name) is entry
    assert plain_terms(rule=entry.name).kind == entry.asks


@pytest.mark.parametrize("entry", built_in(), ids=lambda entry: entry.name)
def test_terms_without_words_for_it_mean_what_the_entry_says(entry):
    """Study files of the version before name only the rule; the protocol cannot ask the registry."""
    said = plain_terms(rule=entry.name, asks=entry.asks, mechanisms="any" if entry.any_noise else "asked")
    assert said == plain_terms(rule=entry.name)
    assert said.suits(1e-6) == entry.any_noise


def test_only_the_paper_s_rule_counts_meetings():
    assert [entry.name for entry in built_in() if entry.counts == "meetings"] == ["paper"]


def test_an_unknown_rule_is_refused_with_the_known_ones():
    with pytest.raises(BadInput, match="'mine' is not known here") as caught:
        resolve("mine")
    for name in ("newton", "statistics", "averaged", "paper", "install"):
        assert name in caught.value.remedy


def test_an_entry_that_is_passed_is_known_by_its_name():
    entry = _entry()
    assert resolve(entry) is entry
    assert resolve("mine") is entry
    assert rule_names()[-1] == "mine"
    terms = plain_terms(rule="mine", mechanisms="any")
    hellos = (Hello(terms.digest(), name, "a", 40, 10**9, 0.0, "pure", 6) for name in ("east", "west"))
    roster = Roster(tuple(hellos))
    assert rule_of(terms, roster).horizon == 12
    assert meetings_of(terms, roster) == 12


def test_a_rule_that_counts_meetings_has_the_horizon_of_the_terms():
    resolve(_entry(counts="meetings"))
    terms = plain_terms(rule="mine", horizon=7)
    roster = Roster((Hello(terms.digest(), "east", "a", 40, 10**9, 0.0, "pure", 6),))
    assert meetings_of(terms, roster) == 7


def test_the_names_of_this_project_s_rules_cannot_be_taken():
    with pytest.raises(BadInput, match="'newton'"):
        resolve(dataclasses.replace(resolve("averaged"), name="newton"))
    assert resolve(resolve("newton")) is resolve("newton")


def test_an_installed_package_brings_a_rule(monkeypatch):
    with pytest.raises(BadInput):
        resolve("fading")
    monkeypatch.syspath_prepend(str(OUTSIDE))
    entry = resolve("fading")
    assert "fading" in rule_names()
    rule = entry.make(plain_terms(rule="fading", mechanisms="any"), OWNERS)
    assert (rule.name, rule.records) == ("fading", (40, 70))


def test_an_installed_package_takes_no_name_of_this_project(tmp_path, monkeypatch):
    _install(tmp_path, monkeypatch, "[copriv.rules]\nnewton = other_code:RULE\n", "raise SystemExit")
    assert resolve("newton") in built_in()
    assert rule_names().count("newton") == 1


@pytest.mark.parametrize("code", ["RULE = 7", "from copriv.rules.averaged import ENTRY as RULE"])
def test_an_entry_point_that_names_no_such_entry_is_refused(tmp_path, monkeypatch, code):
    _install(tmp_path, monkeypatch, "[copriv.rules]\nmine = wrong_code:RULE\n", code, "wrong")
    monkeypatch.delitem(__import__("sys").modules, "wrong_code", raising=False)
    with pytest.raises(BadInput, match="no RuleEntry"):
        resolve("mine")


def test_a_package_that_cannot_be_imported_is_named(tmp_path, monkeypatch):
    _install(tmp_path, monkeypatch, "[copriv.rules]\nmine = torn_code:RULE\n", "import no_such_module", "torn")
    with pytest.raises(BadInput, match=r"torn_code:RULE.*no_such_module"):
        resolve("mine")


def test_two_packages_with_one_name_are_refused(tmp_path, monkeypatch):
    for package in ("left", "right"):
        points = f"[copriv.rules]\nmine = {package}_code:RULE\n"
        _install(tmp_path / package, monkeypatch, points, package=package)
    with pytest.raises(BadInput, match="left_code:RULE, right_code:RULE"):
        resolve("mine")


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "my rule"},
        {"name": "auto"},
        {"name": ""},
        {"asks": "loss"},
        {"answers": 0},
        {"clip": 0.0},
        {"step": float("nan")},
    ],
    ids=str,
)
def test_an_entry_that_cannot_be_meant_is_refused(wrong):
    with pytest.raises(BadInput):
        RuleEntry(**({"name": "mine", "build": resolve("averaged").build} | wrong))


def test_a_rule_is_not_built_without_what_it_needs():
    newton = resolve("newton")
    for noise in (None, dataclasses.replace(NOISE, public=None)):
        with pytest.raises(BadInput, match="cannot be set up here"):
            newton.make(plain_terms(rule="newton"), OWNERS, noise)
    with pytest.raises(BadInput, match="step of 0"):
        resolve("paper").make(plain_terms(step=0.0), OWNERS)
    with pytest.raises(BadInput, match="logistic loss"):
        resolve("statistics").make(plain_terms(rule="statistics", loss="logistic"), OWNERS, NOISE)
    with pytest.raises(BadInput, match="the terms ask for moments"):
        newton.make(plain_terms(rule="newton", asks="moments"), OWNERS, NOISE)
