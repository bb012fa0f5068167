"""Counts and costs from a table to a model, its predictions, its reports and what other programs read."""

import json

import numpy as np
import polars as pl
import pytest

import copriv as cp
from copriv.api.predict import predict_table
from copriv.errors import BadInput
from copriv.records.dictionary import Dictionary
from copriv.report.in_words import loss_words, target_words
from copriv.report.model_export import FORMATS, to_scikit
from copriv.report.study_sheet import study_rows
from copriv.runtime.local_study import open_study

ROWS = 2_400
SLOPE = 0.03


def table(seed=0, rows=ROWS, loss="poisson"):
    chance = np.random.default_rng(seed)
    age, years = chance.normal(50, 10, rows), chance.uniform(0.5, 2.0, rows)
    means = 1.5 * years * np.exp(SLOPE * (age - 50))
    drawn = chance.poisson(means) if loss == "poisson" else means * chance.gamma(2.0, 0.5, rows)
    ward = np.array(["a", "b", "c"])[np.arange(rows) % 3]
    return pl.DataFrame({"age": age, "years": years, "visits": drawn, "ward": ward, "x": chance.normal(size=rows)})


@pytest.fixture(scope="module", params=["poisson", "gamma"])
def run(request):
    data = cp.read(table(loss=request.param), target="visits", owners="ward", features="all", exposure="years")
    return cp.train(data, epsilon=20, loss=request.param, simulate=True, seed=1)


def test_a_run_comes_near_the_truth(run):
    found = {row["column"]: row for row in run.model.coefficients().iter_rows(named=True)}
    assert found["age"]["coefficient"] == pytest.approx(SLOPE, abs=0.006)
    assert found["age"]["ratio"] == pytest.approx(np.exp(found["age"]["coefficient"]))
    at_fifty = found["intercept"]["ratio"] * np.exp(50 * found["age"]["coefficient"])
    assert at_fifty == pytest.approx(1.5, rel=0.15)
    assert run.metrics["relative_fitness"] < 0.05


def test_its_interval_holds_the_truth(run):
    found = {row["name"]: row for row in run.inference().to_polars().iter_rows(named=True)}
    assert found["age"]["low"] < SLOPE < found["age"]["high"]
    assert found["age"]["rate_ratio"] == pytest.approx(np.exp(found["age"]["estimate"]))
    at_fifty = found["intercept"]["estimate"] + 50 * found["age"]["estimate"]
    assert at_fifty == pytest.approx(np.log(1.5), abs=0.15)
    assert "logarithm of the expectation" in run.inference().population


def test_predictions_are_for_the_exposure(run):
    rows = table(seed=5, rows=200)
    there = rows.with_columns(pl.lit(1.0).alias("years"))
    plain = np.asarray(run.model.predict(there))
    assert np.asarray(run.model.predict(rows)) == pytest.approx(plain * rows["years"].to_numpy())
    kept, told = predict_table(run.model, rows.drop("years"))
    assert kept["prediction"].to_numpy() == pytest.approx(plain)
    assert "for an exposure of 1" in told.exposure
    assert told.accuracy.deviance > 0
    _, told = predict_table(run.model, rows)
    assert told.exposure is None


def test_explanations_multiply(run):
    shown = run.model.explain(table(seed=6, rows=20))
    assert "it by" in shown["why"][0]
    assert shown["prediction"].to_numpy() == pytest.approx(np.asarray(run.model.predict(table(seed=6, rows=20))))


def test_other_programs_predict_the_same_for_an_exposure(run):
    rows = table(seed=7, rows=50)
    estimator = to_scikit(run.model.file, rows)
    cells = {name: rows[name].to_numpy() for name in run.model.columns}
    exposed = estimator.predict(cells, exposure=rows["years"].to_numpy())
    assert exposed == pytest.approx(np.asarray(run.model.predict(rows)))
    for name, write in FORMATS.items():
        assert write(run.model.file, rows), name


def test_reports_say_what_it_is(run):
    report = run.report()
    for words in ("deviance", "rate ratio", "exposure"):
        assert words in report.html
    assert "D²" in report.internal_html
    file = run.model.file
    assert "deviance" in loss_words(file.terms)
    assert "the exposure is “years”" in target_words(file.dictionary)


def test_a_study_goes_from_plan_to_training(tmp_path):
    frame = table(seed=8)
    public, private = frame[:600].drop("ward"), frame[600:]
    plan = cp.plan(
        public,
        cp.Scenario(records=[600] * 3, epsilon=2.0),
        target="visits",
        loss="poisson",
        exposure="years",
        features="all",
    )
    plan.save(tmp_path / "study.toml")
    shown = dict(study_rows(open_study(tmp_path / "study.toml")))
    assert "a count from 0" in shown["target"]
    assert "its exposure is" in shown["target"]
    assert "years" not in shown["features"]
    dictionary = Dictionary.from_study(open_study(tmp_path / "study.toml").dictionary)
    assert dictionary.target.kind == "count"
    data = cp.read(private, target="visits", owners="ward")
    run = cp.train(data, epsilon=2, simulate=True, study=tmp_path / "study.toml")
    assert run.model.file.terms.loss == "poisson"
    found = cp.verdict(
        private.filter(ward="a").drop("ward"), public, cp.Scenario(records=[600] * 3, epsilon=2.0), target="visits",
        loss="poisson", exposure="years", features="all",
    )  # fmt: skip
    assert found.decision


def test_an_exposure_needs_its_loss():
    data = cp.read(table(), target="visits", owners="ward", exposure="years")
    with pytest.raises(BadInput, match="counts and amounts"):
        cp.train(data, epsilon=1, simulate=True)


def test_metrics_are_those_of_scikit_learn(run):
    metrics = pytest.importorskip("sklearn.metrics")
    rows = table(seed=9, rows=300)
    if run.model.file.terms.loss == "gamma":
        rows = rows.filter(pl.col("visits") > 0)
    _, told = predict_table(run.model, rows)
    power = 1 if run.model.file.terms.loss == "poisson" else 2
    predictions, truth = np.asarray(run.model.predict(rows)), rows["visits"].to_numpy()
    assert told.accuracy.deviance == pytest.approx(metrics.mean_tweedie_deviance(truth, predictions, power=power))
    assert told.accuracy.d2 == pytest.approx(metrics.d2_tweedie_score(truth, predictions, power=power))
    assert json.loads(json.dumps(told.accuracy.observed)) == pytest.approx(truth.mean())
