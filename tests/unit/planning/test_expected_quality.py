"""Figures people know, before anybody is asked: what forecast and plan say models are worth."""

import math

import numpy as np
import pytest

import copriv as cp
from copriv.losses.metrics import Metrics
from copriv.planning.advice import foresee
from copriv.planning.expected_quality import expect_quality
from copriv.report.forecast_report import what_to_do

WHO = cp.Scenario([2000] * 4, epsilon=1.0)
LITTLE = "hardly anything to learn"


def make(rows, *, noise=1.0, seed=0):
    """Rows with y = 10 + 3 x + noise, and a column that says nothing."""
    chance = np.random.default_rng(seed)
    x, z = chance.normal(size=(2, rows))
    return {"x": x, "z": z, "y": 10 + 3 * x + noise * chance.normal(size=rows)}


@pytest.mark.parametrize("features", [10, "pls:2"])
def test_figures_are_those_of_new_rows_in_the_targets_unit(features):
    told = cp.forecast(make(1000), WHO, target="y", rule="newton", features=features).told.quality
    assert told.public.r2 == pytest.approx(0.9, abs=0.02)
    assert told.public.rmse == pytest.approx(1.0, abs=0.1)
    assert told.public.mae == pytest.approx(math.sqrt(2 / math.pi), abs=0.1)
    assert told.public.rmse_of_mean == pytest.approx(math.sqrt(10), abs=0.3)
    assert told.public.r2 < told.joint.r2 < told.public.r2 + 0.005
    assert told.warning is None


def test_plan_and_forecast_say_the_same():
    table = make(400)
    table["y"] = np.where(table["y"] > 10, "yes", "no")
    given = {"target": "y", "rule": "newton", "loss": "logistic", "features": 10}
    told, planned = cp.forecast(table, WHO, **given), cp.plan(table, WHO, **given)
    assert planned.quality == told.told.quality
    assert planned.to_dict()["quality"] == told.to_dict()["quality"]
    public = planned.quality.public
    assert public.auc > 0.95
    assert public.accuracy > 0.85 > 0.6 > public.majority
    assert planned.quality.joint.log_loss < public.log_loss < public.log_loss_of_share
    for page in (told._repr_html_(), planned._repr_html_()):
        assert "distance from the best model in these features" in page
        assert f"{public.auc:.3f}" in page


@pytest.mark.parametrize("features", [10, "pls:2"])
def test_a_coin_toss_is_said_to_be_one(features):
    """ψ alone would advise to join: 1,000 owners come closer to a best model that explains nothing."""
    table = make(400)
    table["y"] = np.random.default_rng(5).normal(size=400)
    told = cp.forecast(table, cp.Scenario([300] * 1000, epsilon=10.0), target="y", rule="newton", features=features)
    assert foresee(told.candidate.forecast, told.alone, told.told.public.relative_fitness) == "join"
    assert LITTLE in told.told.quality.warning
    assert told.decision == "use the public model"
    assert "spend nothing" in what_to_do(told.told)
    assert LITTLE in told._repr_html_()
    planned = cp.plan(table, WHO, target="y", rule="newton", features=features)
    assert any(LITTLE in line for line in planned.worth.lines)


def test_where_the_public_model_wins_nothing_is_to_be_spent():
    """Small owners with little ε: the own model is poor, the joint one too, the public one is there."""
    told = cp.forecast(make(1000), cp.Scenario([60] * 3, epsilon=0.01), target="y", rule="statistics", features=10)
    assert told.decision == "use the public model"
    assert what_to_do(told.told).startswith("Use the public model, spend nothing")


def test_the_public_model_is_an_alternative_to_joining():
    table = cp.forecast(make(1000), WHO, target="y", rule="newton", features=10).candidate.forecast
    psi = table.relative_fitness
    assert foresee(table, 1e3 * psi, 1e3 * psi) == "join"
    assert foresee(table, 1e3 * psi, 1e-3 * psi) == "public"
    assert foresee(table, 1e-3 * psi, 1e3 * psi) == "stay"
    assert foresee(table, 1e3 * psi, psi) == "either"


def test_a_smaller_distance_is_a_better_figure_and_only_that():
    public = Metrics(100, r2=0.5, rmse=2.0, mae=1.0, rmse_of_mean=3.0)
    better, worse = (expect_quality(public, 0.1, joint) for joint in (0.05, 0.2))
    assert worse.joint.r2 < public.r2 < better.joint.r2
    assert worse.joint.rmse > public.rmse > better.joint.rmse
    assert expect_quality(public, 0.1, math.inf).joint is None


def test_thirty_rows_get_figures_and_their_sentence():
    told = cp.forecast(make(30), WHO, target="y", features=2).told
    assert told.quality.public.records == 30
    assert any("only 30 public rows" in caveat for caveat in told.caveats)


def test_rows_too_few_for_folds_have_no_figures():
    planned = cp.plan(make(6), WHO, target="y", features=1, rule="newton")
    assert planned.quality is None
    assert planned.to_dict()["quality"] is None
