"""Nobody has said which features: the plan chooses, everywhere, and what it has chosen is kept."""

import json

import numpy as np
import pytest

import copriv as cp
from copriv.api.train import carry_out
from copriv.cli.plan import PlanOptions
from copriv.cli.train import TrainOptions
from copriv.errors import BadTable
from copriv.records.feature_spec import FeatureSpec
from copriv.records.fit_features import PublicRows
from copriv.runtime import local_load, local_run
from copriv.runtime.events import silent
from copriv.runtime.local_load import Held, Sources
from copriv.runtime.local_request import Person, TrainRequest

WHO = cp.Scenario([400] * 3, epsilon=1.0)


@pytest.fixture(autouse=True)
def _without_scikit_learn(monkeypatch):
    """An extra that is not there: the choice is among what needs none, and quick."""
    monkeypatch.setattr("copriv.records.fit_features.can_boost", lambda: False)


def make(rows=300, seed=0):
    chance = np.random.default_rng(seed)
    columns = {f"x{place}": chance.normal(size=rows) for place in range(5)}
    return columns | {"same": ["a"] * rows, "y": columns["x0"] + columns["x1"] + chance.normal(size=rows)}


def test_every_verb_chooses_if_nobody_names_features():
    public, mine = make(), make(400, seed=1)
    planned = cp.plan(public, WHO, target="y", rule="newton")
    assert planned.features is not None
    assert not any(each.spec.needs_boosting for each in planned.features.weighed)
    assert [each.taken for each in planned.trade].count(True) == 1
    assert {each.epsilon for each in planned.trade} == {(1.0, 0.1)}
    [said] = planned.features.notices
    assert said in cp.forecast(public, WHO, target="y", rule="newton").told.notices
    assert said in cp.verdict(mine, public, WHO, target="y", rule="newton").told.caveats
    data = cp.read(mine, target="y", owners=2, public=public)
    run = cp.train(data, 1, simulate=True)
    assert run.figures.notices[0].startswith("features chosen")
    [row] = cp.sweep(data, epsilon=1, rule="statistics").rows
    assert row["features_used"] < 10
    assert PlanOptions().features is TrainOptions().features is None


def test_the_trade_is_one_line_a_choice():
    planned = cp.plan(make(), WHO, target="y", rule="newton")
    lines = [line for line in planned.worth.lines if line.startswith("  features  ")]
    assert len(lines) == len(planned.features.weighed)
    assert all(" at ε = 1, " in line and " at ε = 0.1 predicted" in line for line in lines)
    assert planned.to_dict()["trade"][0]["predicted"][0] >= planned.to_dict()["trade"][0]["predicted"][1]


def test_rules_that_are_simulated_keep_the_ten_of_the_paper(monkeypatch):
    monkeypatch.setattr(PublicRows, "candidates", lambda _rows: pytest.fail("nothing is chosen"))
    planned = cp.plan(make(), WHO, target="y", rule="averaged", step=0.1, clip=1.0, answers=2)
    assert planned.features is None
    assert planned.dictionary.features == 5


def test_an_interrupted_run_goes_on_with_the_features_it_has_chosen(tmp_path, monkeypatch):
    mine, public = (Held(cp.read(table, target="y").lazy()) for table in (make(800, seed=1), make()))
    request = TrainRequest(target="y", owners=2, epsilon="1", out=tmp_path / "run", rule="newton")
    with monkeypatch.context() as patch:
        patch.setattr(local_run, "_train", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            local_run.run_local(local_run.begin(request, Sources(mine, public), (), Person(), silent))
    kept = json.loads((tmp_path / "run" / "start.json").read_text())["options"]["features"]
    assert not FeatureSpec.parse(kept).auto
    monkeypatch.setattr(local_load, "choose_features", lambda *_: pytest.fail("chosen again"))
    job = local_run.reopen(tmp_path / "run", Sources(mine, public), Person(), silent)
    assert job.request.features == kept
    assert carry_out(job).result.figures.records == 800


@pytest.mark.parametrize(
    ("change", "rows", "said"),
    [
        ({"y": np.random.default_rng(8).integers(0, 2, 300)}, 300, "hardly anything to learn"),
        ({"after": 2 * make()["y"] + 1}, 300, "the column 'after' alone explains 9"),
        ({}, 30, "only 30 public rows"),
        ({}, 300, "left out, constant: same"),
    ],
)
def test_every_oddity_has_its_sentence(change, rows, said):
    table = {name: column[:rows] for name, column in (make() | change).items()}
    found = cp.forecast(table, WHO, target="y", rule="newton")
    told = [*found.told.notices, *found.told.caveats, found.quality.warning or ""]
    assert any(said in each for each in told), told
    assert (found.quality.warning is None) == ("hardly" not in said)


def test_what_cannot_be_learnt_at_all_is_refused():
    with pytest.raises(BadTable, match="'y' is 3 in every public row"):
        cp.plan(make() | {"y": [3.0] * 300}, WHO, target="y")
    with pytest.raises(BadTable, match="'same' is constant"):
        cp.plan({"same": make()["same"], "y": make()["y"]}, WHO, target="y")
