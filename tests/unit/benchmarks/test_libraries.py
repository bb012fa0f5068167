"""What the cost benchmark makes of the answers of other libraries."""

import math

import numpy as np
import pytest
from benchmarks.isolated import DidNotRunError, Environment, last_error
from benchmarks.libraries import NO_NOISE, average, judge

from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.simulation.cost import Scene


@pytest.fixture
def scene():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(50, 2)) / 3
    sample = Sample.of_rows(rows, rows @ [0.5, -0.2] + 0.1 * generator.normal(size=50))
    return Scene.of(Objective(choose("squared"), 1e-5, 2.0), [sample], sample)


def test_a_mean_is_a_number_only_if_all_draws_are():
    assert average([1.0, 3.0]) == 2.0
    assert average([1.0, "did not run: why", 3.0]) == "did not run: why"


def test_the_mean_over_runs_counts(scene):
    low, high = scene.psi(np.array([0.5, -0.2])), scene.psi(np.zeros(2))
    assert judge(scene, {"models": [[0.5, -0.2], [0.0, 0.0]]}) == pytest.approx((low + high) / 2)


def test_one_setting_is_chosen_for_all_runs(scene):
    good, bad = [0.5, -0.2], [0.0, 0.0]
    low, high = scene.psi(np.array(good)), scene.psi(np.array(bad))
    assert judge(scene, {"models": [[good, bad], [good, good]]}) == pytest.approx(low)
    assert judge(scene, {"models": [[good, bad], [bad, good]]}) == pytest.approx((low + high) / 2)


def test_models_are_brought_into_the_box(scene):
    assert judge(scene, {"models": [[1e9, -1e9]]}) == pytest.approx(scene.psi(np.array([2.0, -2.0])))
    assert math.isfinite(judge(scene, {"models": [[math.nan, math.inf]]}))


@pytest.mark.parametrize("flaw", [{"same": True}, {"silent": 0.5}])
def test_missing_noise_is_said_instead_of_a_number(scene, flaw):
    assert judge(scene, {"models": [[0.5, -0.2]], **flaw}) == NO_NOISE


def test_a_log_is_summed_up_by_its_last_error():
    assert last_error("x\nValueError: a\nmodule.OtherError: b\n") == " (module.OtherError)"
    assert (
        last_error("ERROR: No matching distribution found for y==1\n") == " (No matching distribution found for y==1)"
    )
    assert last_error("fine") == ""


def test_what_cannot_run_says_why(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    environment = Environment("nothing", ())
    environment.folder.mkdir(parents=True)
    (environment.folder / ".ready").touch()
    with pytest.raises(DidNotRunError, match="FileNotFoundError"):
        environment.ask("opacus_sgd.py", tmp_path)
