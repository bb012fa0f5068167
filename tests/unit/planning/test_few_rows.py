"""Few public rows: every plan, forecast, verdict and training says so; fewer than a model has numbers are refused."""

import numpy as np
import polars as pl
import pytest

from copriv.api.data import read
from copriv.api.forecast import forecast
from copriv.api.plan import plan
from copriv.api.train import train
from copriv.api.verdict import verdict
from copriv.errors import BadInput
from copriv.planning.scenario import Scenario
from copriv.runtime.events import Warned


def table(rows: int, seed: int = 0) -> pl.DataFrame:
    stream = np.random.default_rng(seed)
    x = stream.normal(size=(rows, 3))
    return pl.DataFrame(
        {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": x @ [1.0, -1.0, 0.5] + stream.normal(size=rows)}
    )


SCENARIO = Scenario((400,) * 3, 5.0)


@pytest.mark.parametrize(("rows", "few"), [(79, True), (80, False)])
def test_plan_forecast_and_verdict_say_that_public_rows_are_few(rows, few):
    public = table(rows)
    planned = plan(public, SCENARIO, target="y", features=10)
    told = {
        "plan": planned.best.forecast.caveats,
        "plan as JSON": planned.best.to_dict()["caveats"],
        "forecast": forecast(public, SCENARIO, target="y", features=10).told.caveats,
        "verdict": verdict(table(400, 1), public, SCENARIO, target="y", features=10).told.caveats,
    }
    for where, caveats in told.items():
        assert any(f"only {rows} public rows" in each and "80 are enough" in each for each in caveats) is few, where


@pytest.mark.parametrize(("rows", "few"), [(79, True), (80, False)])
def test_training_warns_and_keeps_the_warning(rows, few):
    heard: list[object] = []
    data = read(table(1200, 1), target="y", owners=3, public=table(rows), features=10)
    run = train(data, epsilon=5.0, simulate=True, tell=heard.append)
    warned = [event.words for event in heard if isinstance(event, Warned)]
    assert any("public rows for a model of 4 numbers" in words for words in warned) is few
    assert any("80 are enough" in words for words in run.figures.notices) is few


def test_no_more_public_rows_than_numbers_in_a_model_are_refused_with_a_way_out():
    with pytest.raises(BadInput, match="'newton' with 4 public rows for a model of 4 numbers") as refused:
        plan(table(4), SCENARIO, target="y", rule="newton", features=10)
    assert "--rule statistics" in refused.value.remedy
    with pytest.raises(BadInput, match="4 public rows for a model of 4 numbers"):
        plan(table(4), SCENARIO, target="y", loss="huber", features=10)
    assert plan(table(4), SCENARIO, target="y", features=10).best.rule == "statistics"


def test_without_public_rows_the_curvature_is_learnt_from_the_owners(tmp_path):
    study = tmp_path / "study.toml"
    plan(table(400), SCENARIO, target="y", features=10).save(study)
    data = read(table(6000, 1), target="y", owners=3, public_rows=0, dictionary=study)
    huber = train(data, epsilon=20.0, loss="huber", simulate=True)
    assert huber.figures.rule == "newton"
    assert {each.kind for each in huber.figures.spent[0].menu} == {"second_moments", "gradient"}
    assert huber.figures.relative_fitness < 0.3
    assert train(data, epsilon=20.0, simulate=True).figures.rule == "newton"
    assert train(data, epsilon=20.0, answers=1, simulate=True).figures.rule == "statistics"
    with pytest.raises(BadInput, match="a settled number of answers"):
        train(data, epsilon=20.0, loss="huber", answers=2, simulate=True)
