"""`run.quality` and `run.personal`: what models are worth at home, and a model that stays there."""

import numpy as np
import pytest

import copriv as cp
from copriv.errors import BadInput


@pytest.fixture(scope="module")
def run():
    """Two owners of one population, and a third whose slope is another one."""
    generator = np.random.default_rng(5)
    rows = 1_500
    x, owner = generator.normal(size=rows), np.repeat(["east", "north", "odd"], rows // 3)
    slope = np.where(owner == "odd", -2.0, 2.0)
    public = generator.normal(size=300)
    table = {"x": x, "y": slope * x + 0.3 * generator.normal(size=rows), "owner": owner}
    known = {"x": public, "y": 2 * public + 0.3 * generator.normal(size=300)}
    data = cp.read(table, target="y", owners="owner", public=known, features="all")
    return cp.train(data, 10, simulate=True)


def _slope(model):
    return float(np.diff(model.predict({"x": [0.0, 0.5]}))[0] * 2)


def test_quality_has_a_row_for_every_owner_and_model(run):
    found = run.quality
    assert set(found["owner"]) == {"east", "north", "odd"}
    assert {"joint", "public", "own", "own_public", "personal"} <= set(found["model"])
    joint = {row["owner"]: row["r2"] for row in found.filter(found["model"] == "joint").to_dicts()}
    assert joint["odd"] < 0 < joint["east"]
    assert run.figures.quality.joint.records == 1_500


def test_a_personal_model_learns_what_only_its_owner_has(run):
    """The joint model is the twin: for the odd owner it has the wrong sign."""
    assert _slope(run.personal("odd")) == pytest.approx(-2.0, abs=0.2)
    assert _slope(run.model) > 0
    assert run.personal("east").predict({"x": [1.0]})[0] == pytest.approx(2.0, abs=0.3)


def test_a_personal_model_says_that_it_is_not_private(run, tmp_path):
    personal = run.personal("odd")
    assert not personal.private
    assert personal.file.promised == ()
    assert "personal, not private" in repr(personal)
    assert personal.save(tmp_path / "mine.json").stat().st_mode & 0o077 == 0
    with pytest.raises(BadInput, match="there is no owner 'west'"):
        run.personal("west")
