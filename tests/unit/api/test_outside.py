"""Bring your own: a rule or a loss of another package, passed or by name, through the verbs and the command line."""

import importlib
import json
import sys
from pathlib import Path

import pytest

import copriv as cp
from copriv.api.forecast import forecast
from copriv.api.plan import plan
from copriv.cli import main as command
from copriv.errors import BadInput
from copriv.losses import choose as losses
from copriv.planning.scenario import Scenario
from copriv.rules import registry

OUTSIDE = Path(__file__).resolve().parents[2] / "outside"


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch):
    monkeypatch.setattr(registry, "_PASSED", {})
    monkeypatch.setattr(losses, "_PASSED", {})


@pytest.fixture
def _installed(monkeypatch):
    monkeypatch.syspath_prepend(str(OUTSIDE))


@pytest.fixture
def data(loans):
    return cp.read(loans, target="int_rate", owners="bank", features=3, public_rows=300)


def _object(name):
    """As somebody has it who has written it in a notebook: nothing is installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(OUTSIDE))
        module, _, member = name.partition(":")
        return getattr(importlib.import_module(module), member)


def test_a_rule_and_a_loss_that_are_passed(data):
    rule, loss = _object("outside_rule:RULE"), _object("outside_loss:LOSS")
    run = cp.train(data, 50, rule=rule, loss=loss, simulate=True)
    assert (run.figures.rule, run.figures.loss) == ("fading", "smooth-huber")
    again = cp.train(data, 50, rule="fading", loss="smooth-huber", simulate=True)
    assert again.model.file.theta == run.model.file.theta


@pytest.mark.usefixtures("_installed")
def test_a_rule_by_name_is_forecast_planned_and_trained_alike(data, public):
    who = Scenario(records=[200] * 3, epsilon=50.0)
    expected = forecast(public, who, target="int_rate", rule="fading", features=3)
    planned = plan(public, who, target="int_rate", rule="fading", features=3)
    assert expected.relative_fitness == planned.predicted
    assert planned.best.rule == "fading"
    run = cp.train(data, 50, rule="fading")
    assert run.private
    assert set(run.spent["answers"]) == {20}


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize("simulate", [True, False])
def test_a_rule_that_makes_answers_finer_pays_the_difference(data, simulate):
    """A third of the answers are second moments at 2 %, a third gradients at 2 %, a third these made finer by 1 %."""
    run = cp.train(data, 50, rule="nibbling", simulate=simulate)
    for spent in run.figures.spent:
        assert (spent.answers, round(spent.epsilon, 6)) == (36, 30.0)
        told = {(choice.kind, choice.share): (choice.answers, choice.finer) for choice in spent.menu}
        assert told["gradient", 3] == (12, 12)
        assert told["gradient", 2] == told["second_moments", 2] == (12, 0)
        assert told["second_moments", 3] == (0, 0)


@pytest.mark.usefixtures("_installed")
def test_the_command_line_trains_with_it_and_its_model_is_read(loans, tmp_path, monkeypatch, capsys):
    loans.write_csv(tmp_path / "loans.csv")
    monkeypatch.chdir(tmp_path)
    said = "train --data loans.csv --target int_rate --owner-column bank --features 3 --rule fading --simulate"
    monkeypatch.setattr(sys, "argv", ["copriv", *said.split(), "--out", "run", "--json"])
    with pytest.raises(SystemExit) as stopped:
        command.main()
    told = capsys.readouterr()
    assert not stopped.value.code, told.err
    assert json.loads(told.out)["rule"] == "fading"
    assert cp.load("run/model.json").file.terms.rule == "fading"


@pytest.mark.parametrize("wrong", [{"rule": "nobody-s"}, {"loss": "hinge"}], ids=str)
def test_what_nobody_knows_is_refused_with_what_is_known(data, wrong):
    [name] = wrong.values()
    with pytest.raises(BadInput, match=f"{name}.* is not known") as caught:
        cp.train(data, 1, **wrong)
    assert "install the package" in caught.value.remedy
