"""`copriv predict` and `copriv generate`."""

import json

import polars as pl
import pytest

ARGUMENTS = [
    "--owners",
    "2",
    "--features",
    "4",
    "--horizon",
    "120",
    "--public-rows",
    "1500",
    "--epsilon",
    "50",
    "--seed",
    "1",
]


@pytest.fixture
def loans(copriv, tmp_path):
    outcome = copriv("generate", "lending", "--rows", 6000, "--out", "loans.csv", "--json")
    assert json.loads(outcome.out)["rows"] == 6000
    return tmp_path / "loans.csv"


@pytest.fixture
def model(copriv, loans, tmp_path):
    outcome = copriv("train", "--data", loans, "--target", "int_rate", "--shuffle", *ARGUMENTS, "--out", "run")
    assert outcome.code == 0, outcome.err
    return tmp_path / "run" / "model.json"


def test_predictions_are_in_the_targets_unit_and_better_than_the_mean(copriv, model, loans, tmp_path):
    outcome = copriv("predict", "--model", model, "--data", loans, "--out", "predictions.csv", "--json")
    told = json.loads(outcome.out)
    assert told["rows"] == 6000
    assert told["accuracy"]["root_mean_square"] < 0.8 * told["accuracy"]["of_the_mean"]
    predictions = pl.read_csv(tmp_path / "predictions.csv")["prediction"]
    assert 4 < predictions.min() < predictions.max() < 30


def test_without_a_file_predictions_go_to_standard_output(copriv, model, loans):
    outcome = copriv("predict", "--model", model, "--data", loans)
    assert outcome.out.splitlines()[0] == "prediction"
    assert len(outcome.out.splitlines()) == 6001
    assert "root mean square" in outcome.err


def test_rows_without_the_target_are_predicted_all_the_same(copriv, model, loans, tmp_path):
    pl.read_csv(loans, infer_schema=False).drop("int_rate", "grade").write_csv(tmp_path / "new.csv")
    outcome = copriv("predict", "--model", model, "--data", "new.csv", "--json")
    assert outcome.code == 2
    assert "'grade'" in outcome.err
    pl.read_csv(loans, infer_schema=False).drop("int_rate").write_csv(tmp_path / "newer.csv")
    told = json.loads(copriv("predict", "--model", model, "--data", "newer.csv", "--json").out)
    assert told["accuracy"] is None
    assert len(told["predictions"]) == 6000


def test_labels_are_predicted_as_probabilities(copriv, loans):
    labels = ("--loss", "logistic", "--positive-above", "12")
    copriv("train", "--data", loans, "--target", "int_rate", "--shuffle", *ARGUMENTS, *labels, "--out", "labels")
    told = json.loads(copriv("predict", "--model", "labels/model.json", "--data", loans, "--json").out)
    assert all(0 <= value <= 1 for value in told["predictions"])
    assert told["accuracy"]["correct"] > 0.6


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--model", "nowhere.json", "--data", "loans.csv"], "nowhere.json"),
        (["--model", "loans.csv", "--data", "loans.csv"], "not a model"),
        (["--model", "run/model.json", "--data", "nowhere.csv"], "nowhere.csv"),
        (["--model", "run/model.json", "--data", "loans.csv", "--out", "loans.csv"], "exists"),
    ],
)
def test_bad_input(copriv, model, arguments, named):
    outcome = copriv("predict", *arguments)
    assert outcome.code == 2
    assert named in outcome.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["--out", "x.xlsx"], "x.xlsx"), (["--out", "x.csv", "--rows", "0"], "0"), (["--out", "here.csv"], "exists")],
)
def test_generate_refuses_nonsense(copriv, tmp_path, arguments, named):
    (tmp_path / "here.csv").write_text("")
    outcome = copriv("generate", "hospital", *arguments)
    assert outcome.code == 2
    assert named in outcome.err
