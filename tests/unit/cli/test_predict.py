"""`copriv predict` and `copriv generate`."""

import json
import shutil

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


@pytest.fixture(scope="module")
def made(copriv_once, tmp_path_factory):
    """A folder with generated loans and a model trained on them."""
    folder = tmp_path_factory.mktemp("made")
    outcome = copriv_once(folder, "generate", "lending", "--rows", 6000, "--out", "loans.csv", "--json")
    assert json.loads(outcome.out)["rows"] == 6000
    words = ("--target", "int_rate", "--shuffle", *ARGUMENTS, "--out", "run")
    outcome = copriv_once(folder, "train", "--data", "loans.csv", *words)
    assert outcome.code == 0, outcome.err
    return folder


@pytest.fixture
def loans(made, tmp_path):
    return shutil.copy(made / "loans.csv", tmp_path)


@pytest.fixture
def model(made, loans, tmp_path):
    return shutil.copytree(made / "run", tmp_path / "run") / "model.json"


@pytest.fixture
def quick(copriv, tmp_path):
    """A simulated model of three columns, and its table."""
    rows = [
        {"loan": f"L{k}", "age": 20 + k % 40, "grade": "ABC"[k % 3], "rate": 5 + k % 40 / 10 + k % 3}
        for k in range(600)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "few.csv")
    quick = ("--owners", 2, "--skip", "loan", "--rule", "statistics", "--simulate", "--epsilon", 50, "--out", "few")

    def call(*arguments, target="rate"):
        outcome = copriv("train", "--data", "few.csv", "--target", target, *quick, *arguments)
        assert outcome.code == 0, outcome.err
        return tmp_path / "few" / "model.json"

    return call


def test_predictions_are_in_the_targets_unit_and_better_than_the_mean(copriv, model, loans, tmp_path):
    outcome = copriv("predict", "--model", model, "--data", loans, "--out", "predictions.csv", "--json")
    told = json.loads(outcome.out)
    assert told["rows"] == 6000
    assert told["accuracy"]["rmse"] < 0.8 * told["accuracy"]["rmse_of_mean"]
    assert told["accuracy"]["r2"] == pytest.approx(
        1 - (told["accuracy"]["rmse"] / told["accuracy"]["rmse_of_mean"]) ** 2
    )
    predictions = pl.read_csv(tmp_path / "predictions.csv")["prediction"]
    assert 4 < predictions.min() < predictions.max() < 30


def test_without_a_file_predictions_go_to_standard_output(copriv, model, loans):
    outcome = copriv("predict", "--model", model, "--data", loans, "--explain", "1")
    assert outcome.out.splitlines()[0] == "prediction,why"
    assert "; the average public row has " in outcome.out.splitlines()[1]
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
    assert told["accuracy"]["accuracy"] > 0.6
    assert told["accuracy"]["auc"] > 0.6


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


def test_what_cannot_be_read_is_counted_and_said(copriv, quick, tmp_path):
    model = quick()
    rows = [("a", "31", "A"), ("b", "old", "B"), ("c", "", "Z"), ("d", "44", "Z")]
    pl.DataFrame(rows, schema=["loan", "age", "grade"], orient="row").write_csv(tmp_path / "new.csv")
    outcome = copriv("predict", "--model", model, "--data", "new.csv", "--json")
    told = json.loads(outcome.out)
    assert told["unread"] == [
        {"column": "age", "missing": 1, "unreadable": 1, "unseen": 0, "other": False},
        {"column": "grade", "missing": 0, "unreadable": 0, "unseen": 2, "other": False},
    ]
    for words in ("age: 1 cells that cannot be read, 1 missing", "grade: 2 cells of a category", "public median"):
        assert words in outcome.err
    clean = copriv("predict", "--model", model, "--data", "few.csv", "--json")
    assert json.loads(clean.out)["unread"] == []
    assert "note:" not in clean.err


def test_the_id_is_kept_beside_the_prediction(copriv, quick, tmp_path):
    model = quick()
    assert copriv("predict", "--model", model, "--data", "few.csv", "--id", "loan", "--out", "p.csv").code == 0
    kept = pl.read_csv(tmp_path / "p.csv")
    assert kept.columns == ["loan", "prediction"]
    assert kept["loan"].to_list()[:3] == ["L0", "L1", "L2"]
    told = json.loads(copriv("predict", "--model", model, "--data", "few.csv", "--id", "loan", "--json").out)
    assert told["ids"][:2] == ["L0", "L1"]
    assert len(told["predictions"]) == 600
    refused = copriv("predict", "--model", model, "--data", "few.csv", "--id", "loon")
    assert refused.code == 2
    assert "'loan'" in refused.err


def test_labels_stand_beside_the_more_frequent_one(copriv, quick):
    model = quick("--loss", "logistic", "--positive", "A", "--rule", "newton", target="grade")
    outcome = copriv("predict", "--model", model, "--data", "few.csv", "--out", "p.csv")
    assert "always predicting the more frequent label gives 66.7%" in outcome.err
    told = json.loads(copriv("predict", "--model", model, "--data", "few.csv", "--json").out)
    assert told["accuracy"]["majority"] == pytest.approx(2 / 3)
