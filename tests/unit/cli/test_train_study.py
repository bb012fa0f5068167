"""`copriv train --study`: a run under the very terms of a study file, and no option that says otherwise."""

import json

import polars as pl
import pytest
from tests.narrow_loans import narrow_loans

from copriv.protocol.study_file import read_study

PLAN = ("--target", "int_rate", "--owners", 3, "--records", 500, "--features", 4, "--horizon", 40)
RULES = {
    "newton": ("--rule", "newton", "--epsilon", "3"),
    "statistics": ("--rule", "statistics"),
    "averaged": ("--rule", "averaged", "--answers", 5),
    "paper": ("--rule", "paper", "--central", "printed", "--evaluations", 2),
    "gaussian": ("--rule", "newton", "--delta", "1e-6", "--answers", 2),
    "logistic": ("--rule", "newton", "--loss", "logistic", "--positive-above", 13),
    "huber": ("--rule", "averaged", "--loss", "huber", "--huber-threshold", 0.4, "--answers", 4),
}


@pytest.fixture
def tables(tmp_path):
    """Public rows, and the loans of three banks of different size."""
    narrow_loans(1500, 0).write_parquet(tmp_path / "public.parquet")
    banks = pl.Series("bank", ["east"] * 400 + ["north"] * 500 + ["west"] * 700)
    loans = narrow_loans(1600, 1).with_columns(banks)
    loans.write_parquet(tmp_path / "loans.parquet")
    return tmp_path


@pytest.fixture
def plan(copriv, tables):
    def call(*arguments):
        outcome = copriv("plan", "--public", "public.parquet", *PLAN, *arguments, "--json")
        assert outcome.code == 0, outcome.err
        return json.loads(outcome.out)

    return call


@pytest.fixture
def train(copriv):
    def call(*arguments):
        data = ("--data", "loans.parquet", "--owner-column", "bank")
        return copriv("train", "--study", "study.toml", *data, "--out", "run", "--json", *arguments)

    return call


@pytest.mark.parametrize("rule", RULES)
def test_a_run_has_exactly_the_terms_of_the_study(plan, train, tables, rule):
    planned = plan(*RULES[rule])
    outcome = train()
    assert outcome.code == 0, outcome.err
    told, study = json.loads(outcome.out), read_study((tables / "study.toml").read_text())
    assert told["terms"] == planned["terms"] == study.terms.digest()
    for name in ("rule", "horizon", "clip", "step", "limit", "regularization", "central", "loss"):
        assert told[name] == getattr(study.terms, name), name
    assert told["guarantee"]["epsilon"] == study.terms.epsilon
    assert told["guarantee"]["delta"] == study.terms.delta
    assert [entry["records"] for entry in told["spent"]] == [400, 500, 700]
    assert all(entry["most_answers"] == study.terms.answers for entry in told["spent"])
    assert told["public"]["rows"] == 1500
    model = json.loads((tables / "run" / "model.json").read_text())
    assert model["dictionary"] == json.loads(json.dumps(study.dictionary))


def test_what_the_public_rows_foretold_is_told_again(plan, train):
    planned = plan(*RULES["newton"])
    told = json.loads(train().out)
    assert told["predicted"] == pytest.approx(planned["predicted"], rel=0.3)  # banks of other sizes than planned
    assert told["relative_fitness"] < 1


def test_owners_may_promise_otherwise_and_the_terms_stay(plan, train, tables):
    planned = plan(*RULES["newton"])
    (tables / "epsilons.csv").write_text("east,1\nnorth,2\nwest,4\n")
    told = json.loads(train("--epsilons", "epsilons.csv").out)
    assert told["terms"] == planned["terms"]
    assert [entry["promised"] for entry in told["spent"]] == [1, 2, 4]


def test_an_edited_study_is_another_study(plan, train, tables):
    planned = plan(*RULES["newton"])
    text = (tables / "study.toml").read_text()
    (tables / "study.toml").write_text(text.replace(f"clip = {planned['clip']}", "clip = 0.321"))
    told = json.loads(train().out)
    assert told["clip"] == 0.321
    assert told["terms"] != planned["terms"]


def test_what_agrees_with_the_study_may_be_said(plan, train):
    planned = plan(*RULES["newton"])
    said = ("--rule", "newton", "--clip", planned["clip"], "--features", 4, "--target", "int_rate", "--public-rows", 0)
    outcome = train(*said, "--loss", "squared", "--answers", planned["answers"])
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--rule", "paper", "--rule is paper, and the study says newton"),
        ("--clip", "0.5", "--clip is 0.5, and the study says"),
        ("--step", "0.1", "--step is 0.1, and the study says 0.0"),
        ("--answers", "7", "--answers is 7, and the study says"),
        ("--box", "9", "--box is 9.0, and the study says"),
        ("--loss", "huber", "--loss is huber, and the study says squared"),
        ("--regularization", "0.1", "--regularization is 0.1"),
        ("--central", "printed", "--central is printed"),
        ("--features", "9", "--features is 9, and the study says 4"),
        ("--target", "loan_amnt", "--target is loan_amnt, and the study says int_rate"),
        ("--rho", "5", "--rho is 5.0, and the study has a step"),
        ("--dictionary", "study.toml", "the study has a dictionary"),
        ("--public-rows", "100", "all rows of the data are private"),
        ("--rates", "rates.csv", "always on"),
        ("--delta", "1e-6", "asks everybody for delta = 0"),
        ("--study", "other.toml", "there is no study file other.toml"),
    ],
)
def test_an_option_that_contradicts_the_study_is_refused(plan, train, tables, option, value, words):
    plan(*RULES["newton"])
    outcome = train(option, value)
    assert outcome.code == 2
    assert words in outcome.err
    assert "remedy:" in outcome.err
    assert not outcome.out
    assert not (tables / "run").exists()


def test_a_default_that_is_typed_counts_as_said(plan, train):
    """The study has the logistic loss, and whoever types the default contradicts it."""
    plan(*RULES["logistic"])
    assert "--loss is squared, and the study says logistic" in train("--loss", "squared").err


def test_newton_needs_the_public_rows_of_the_study(plan, train, tables):
    plan(*RULES["newton"])
    (tables / "study.public.npz").unlink()
    outcome = train()
    assert outcome.code == 2
    assert "public rows" in outcome.err
    assert train("--public", "public.parquet").code == 0


def test_public_rows_of_another_study_are_refused(plan, train, tables):
    plan(*RULES["newton"], "--features", 3, "--out", "other.toml")
    plan(*RULES["newton"])
    (tables / "other.public.npz").rename(tables / "study.public.npz")
    assert "rows of 4 features, and the study has 5" in train().err


def test_a_study_that_leaves_epsilon_to_owners_needs_one(plan, train, tables):
    plan(*RULES["newton"])
    text = (tables / "study.toml").read_text()
    (tables / "study.toml").write_text(text.replace("epsilon = 3.0", "epsilon = 0.0"))
    assert "--epsilon" in train().err
    assert json.loads(train("--epsilon", "2").out)["guarantee"]["epsilon"] == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[learning]", "[lerning]", "a section 'lerning'"),
        ("\nintercept = ", "\nintercept = 'no' # ", "the study's dictionary cannot be read"),
        ("[dictionary]", "[[[", "not TOML"),
    ],
)
def test_a_study_file_that_is_broken_is_refused(plan, train, tables, old, new, words):
    plan(*RULES["newton"])
    text = (tables / "study.toml").read_text()
    assert old in text
    (tables / "study.toml").write_text(text.replace(old, new, 1))
    outcome = train()
    assert outcome.code == 2, outcome.err
    assert words in outcome.err
    assert "remedy:" in outcome.err


def test_an_interrupted_run_goes_on_under_the_same_terms(plan, train, copriv, tables, monkeypatch):
    from copriv.report import run_folder

    planned = plan(*RULES["averaged"])
    with monkeypatch.context() as broken:
        broken.setattr(run_folder, "write", lambda *_: (_ for _ in ()).throw(RuntimeError("power cut")))
        assert train().code == 70
    outcome = copriv("train", "--resume", "run", "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["terms"] == planned["terms"]


def test_the_plan_says_why_the_runner_up_is_second(copriv, tables):
    outcome = copriv("plan", "--public", "public.parquet", *PLAN)
    assert "the runner-up, " in outcome.out
    assert "of the budget" in outcome.out
    assert "copriv train --study study.toml" in outcome.out
