"""A correct owner passes all tests; each broken twin fails at least one, and the command says so."""

import inspect
import json
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from copriv.api import audit as audit_api
from copriv.audit import examination
from copriv.audit.examination import Effort, confirm, examine
from copriv.audit.result import AuditResult
from copriv.audit.whole_reply import corpus
from copriv.cli.audit import audit
from copriv.errors import BadInput
from copriv.report import audit_table

# A correct owner fails each test by chance at most once in a million runs: these are drawn twice, at 99.9 %.
QUICK = Effort(draws=1500, level=1e-6, confidence=0.999)
CELLS = [(0.1, 1e-6), (1, 0.0), (10, 0.0), (10, 1e-6)]
APP = typer.Typer()
APP.command()(audit)


@pytest.fixture(autouse=True)
def few_replies(monkeypatch):
    """The whole corpus of replies has a test of its own."""
    monkeypatch.setattr(audit_api, "corpus", lambda: islice(corpus(), 2, 4))


@pytest.fixture
def copriv_audit():
    return lambda *arguments: CliRunner().invoke(APP, [*map(str, arguments)], env={"COLUMNS": "200"})


@pytest.mark.parametrize(("epsilon", "delta"), CELLS)
def test_a_correct_owner_passes(claim_of, generator, epsilon, delta):
    told = []
    verdicts = examine(
        claim_of(epsilon, delta, answers=100), QUICK, generator, tell=lambda done, total: told.append((done, total))
    )
    assert [verdict.name for verdict in verdicts if not verdict.passed] == []
    assert all(verdict.certified <= verdict.claimed for verdict in verdicts)
    assert len(verdicts) == (5 if delta == 0 else 7)
    assert all(done <= total for done, total in told)


@pytest.mark.parametrize(
    ("name", "failing", "draws"),
    [
        ("half_noise", "transcript", 600),
        ("l2_bound_used_as_l1", "neighbours", 600),
        ("no_cap", "transcript", 600),
        ("numpy_noise", "low bits", 10_000),
        ("clip_forgotten", "canary along (1, …, 1)", 600),
    ],
)
def test_every_twin_is_caught(claim_of, twin, generator, name, failing, draws):
    verdicts = examine(claim_of(1, answers=100), Effort(draws=draws), generator, build=lambda claim: twin(name, claim))
    assert failing in {verdict.name for verdict in verdicts if not verdict.passed}


@pytest.mark.parametrize(("epsilon", "delta"), CELLS)
def test_a_correct_owner_of_moments_passes(claim_of, generator, epsilon, delta):
    told, claim = [], claim_of(epsilon, delta, parameters=4, asks="moments")
    effort = replace(QUICK, draws=8000, owners=100)
    verdicts = examine(claim, effort, generator, tell=lambda done, total: told.append((done, total)))
    assert [verdict.name for verdict in verdicts if not verdict.passed] == []
    assert all(verdict.certified <= verdict.claimed for verdict in verdicts)
    assert len(verdicts) == (4 if delta == 0 else 5)
    assert told[0][1] == 100 + 500 + 200
    assert all(done <= total for done, total in told)


@pytest.mark.parametrize(
    ("name", "delta", "failing"),
    [
        ("half_noise", 0.0, {"transcript"}),
        ("half_noise", 1e-6, {"transcript"}),
        ("root_of_four", 1e-6, {"neighbours", "transcript"}),
        ("root_of_four_and_a_half_in_l1", 0.0, {"neighbours", "transcript"}),
        ("one_record_instead_of_two", 0.0, {"neighbours", "transcript"}),
        ("one_record_instead_of_two", 1e-6, {"neighbours", "transcript"}),
        ("packed_for_another_norm", 0.0, {"neighbours"}),
        ("any_record_accepted", 0.0, {"neighbours"}),
        ("any_record_accepted", 1e-6, {"neighbours"}),
    ],
)
def test_every_twin_of_moments_is_caught(claim_of, twin, generator, name, delta, failing):
    """300 owners miss noise 5.7 % too small, and 40 owners noise 30 % too small, less than once in 10⁷ runs."""
    effort = Effort(draws=600, owners=300 if name == "root_of_four" else 40)
    claim = claim_of(1, delta, parameters=6, asks="moments")
    verdicts = examine(claim, effort, generator, build=lambda claim: twin(name, claim))
    assert failing <= {verdict.name for verdict in verdicts if not verdict.passed}


def _verdict(passed):
    numbers = {"certified": 0.5, "claimed": 1.0, "statistic": 0.0, "threshold": 0.0, "answers": 1}
    return AuditResult(name="test", false_alarms=0.05, passed=passed, words="", **numbers)


@pytest.mark.parametrize(("outcomes", "passed"), [([True], True), ([False, True], True), ([False, False], False)])
def test_a_failure_counts_when_it_happens_twice(outcomes, passed):
    left = iter(outcomes)
    (found,) = confirm(lambda: [_verdict(next(left))])
    assert found.passed == passed
    assert found.false_alarms == pytest.approx(0.0025)
    assert not list(left)


def test_too_few_draws_are_refused():
    with pytest.raises(BadInput):
        Effort(draws=10)


def test_the_command_tells_one_json_object(copriv_audit, monkeypatch):
    monkeypatch.setattr(audit_api, "Effort", lambda draws, level, owners: Effort(draws, level, 0.999, owners))
    done = copriv_audit("--draws", 600, "--answers", 50, "--delta", 1e-6, "--level", 1e-6, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert set(told) == {"passed", "claimed", "mechanism", "tests", "seconds"}
    assert told["passed"] is True
    assert told["claimed"] == {"epsilon": 1.0, "delta": 1e-6, "unit": "record", "adjacency": "replace-one"}
    assert told["mechanism"] == "gaussian"
    assert {"name", "certified", "claimed", "statistic", "passed", "words"} <= set(told["tests"][0])
    names = [test["name"] for test in told["tests"]]
    assert {"transcript", "moments: transcript"} <= set(names)
    assert len(names) == len(set(names)) == 7 + 5 + 2 + 5 + 2 * 6 + 1
    assert {"menu: noise", "filled: neighbours", "filled: noise", "turned: noise", "turned and filled: noise"} <= set(
        names
    )
    assert names[-1] == "whole-reply"


@pytest.mark.parametrize("asks", ["gradient", "moments", "both"])
def test_the_command_fails_where_a_test_does(copriv_audit, monkeypatch, twin, asks):
    def examine_twin(claim, effort, generator, tell):
        return examination.examine(claim, effort, generator, lambda claim: twin("half_noise", claim), tell)

    monkeypatch.setattr(audit_api, "examine", examine_twin)
    done = copriv_audit("--draws", 600, "--answers", 50, "--asks", asks)
    assert done.exit_code == 1
    assert ("65 moments" in done.stdout) == (asks != "gradient")
    assert ("10 numbers" in done.stdout) == (asks != "moments")
    assert "FAILED" in done.stdout
    assert "refuted" in done.stdout
    assert "replace-one" in done.stdout


def test_the_command_fails_where_a_reply_tells(copriv_audit, monkeypatch):
    told = AuditResult(**(_as_dict(_verdict(passed=False)) | {"name": "whole-reply", "words": "hello 1: records"}))
    monkeypatch.setattr(audit_api, "audit_whole_reply", lambda *_given: told)
    done = copriv_audit("--draws", 600, "--answers", 50, "--asks", "moments")
    assert done.exit_code == 1
    assert "whole-reply: hello 1: records" in done.stdout


def test_a_bound_that_is_infinite_can_be_shown():
    assert (
        audit_table.numbers(AuditResult(**(_as_dict(_verdict(passed=False)) | {"certified": np.inf})))[0] == "no bound"
    )


def _as_dict(verdict):
    return {field: getattr(verdict, field) for field in verdict.__struct_fields__}


def test_the_command_and_the_audit_have_the_same_defaults():
    given = {name: option.default for name, option in inspect.signature(audit).parameters.items()}
    assert {name: given[name] for name in given if name in audit_api._DEFAULTS} == {
        name: value for name, value in audit_api._DEFAULTS.items() if name in given
    }
    assert (given["draws"], given["level"], given["answers"]) == (Effort().draws, Effort().level, Effort().owners)


def test_help_teaches(copriv_audit):
    done = copriv_audit("--help")
    assert "copriv audit --epsilon 1" in done.stdout
    assert "--json" in done.stdout
