"""`copriv train --rule`: every rule spends what was promised, and the default is the cheapest."""

import json

import pytest
from tests.narrow_loans import narrow_loans


@pytest.fixture
def rules(copriv, loans):
    """Train with a rule, few public rows and no horizon."""

    def call(*arguments, public="400"):
        quick = ("--public-rows", public, "--features", "4", "--owner-column", "bank", "--json")
        return copriv("train", "--data", loans, "--target", "int_rate", *quick, *arguments)

    return call


@pytest.mark.parametrize("rule", ["newton", "statistics", "averaged"])
@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_rules_with_few_answers_spend_what_was_promised(rules, rule, delta, tmp_path):
    told = json.loads(rules("--rule", rule, "--delta", delta, "--epsilon", "5", "--out", "run").out)
    assert told["rule"] == rule
    assert told["refused"] == 0
    assert told["horizon"] == sum(entry["most_answers"] for entry in told["spent"])
    for entry in told["spent"]:
        # With a menu, an answer may take all that is left, before the most answers are given.
        assert entry["answers"] == entry["most_answers"] or entry["menu"]
        assert 0.95 * 5 < entry["epsilon"] <= 5
    assert told["predicted"] > 0
    schedule = json.loads((tmp_path / "run" / "schedule.json").read_text())
    assert len(schedule["meetings"]) == told["horizon"]


def test_the_default_rule_is_the_one_that_should_cost_the_least(rules):
    best = json.loads(rules("--epsilon", "1", "--simulate", "--seed", "3", "--out", "auto").out)
    assert best["rule"] == "newton"
    assert max(entry["answers"] for entry in best["spent"]) <= 5
    others = {
        rule: json.loads(rules("--rule", rule, "--epsilon", "1", "--simulate", "--seed", "3", "--out", rule).out)
        for rule in ("statistics", "averaged", "paper")
    }
    assert all(best["predicted"] <= told["predicted"] for told in others.values())
    assert best["relative_fitness"] < min(told["relative_fitness"] for told in others.values())


def test_who_gives_the_papers_step_means_the_papers_rule(rules):
    assert json.loads(rules("--step", "0.1", "--horizon", "30", "--simulate", "--out", "run").out)["rule"] == "paper"


def test_without_public_rows_the_dictionary_is_an_agreed_one(rules, copriv, loans, tmp_path):
    narrow_loans(3000, 9).write_parquet(tmp_path / "others.parquet")
    first = ("--target", "int_rate", "--owners", 2, "--public-rows", 600, "--features", 4, "--simulate")
    assert copriv("train", "--data", "others.parquet", *first, "--out", "first").code == 0
    agreed = ("--dictionary", tmp_path / "first" / "model.json")
    told = json.loads(rules(*agreed, "--epsilon", "20", "--out", "second", public="0").out)
    assert (told["rule"], told["public"], told["records"]) == ("newton", None, 2400)
    once = json.loads(rules(*agreed, "--rule", "statistics", "--epsilon", "20", "--out", "once", public="0").out)
    assert once["rule"] == "statistics"
    averaged = rules(*agreed, "--rule", "averaged", "--step", "0.5", "--clip", "0.5", "--out", "third", public="0")
    assert json.loads(averaged.out)["rule"] == "averaged"
    for arguments, words in (
        ((), "--dictionary"),
        ((*agreed, "--rule", "newton", "--answers", "2"), "without public rows"),
        ((*agreed, "--rule", "averaged"), "without public rows"),
        ((*agreed, "--loss", "huber", "--answers", "2"), "huber"),
    ):
        refused = rules(*arguments, "--out", "never", public="0")
        assert refused.code == 2, words
        assert words in refused.err
        assert not (tmp_path / "never").exists()
    other = copriv("train", "--data", loans, "--target", "loan_amnt", "--owners", 2, "--public-rows", 0, *agreed)
    assert "'int_rate'" in other.err


@pytest.mark.parametrize("loss", ["huber", "logistic"])
def test_other_losses_have_newton_too(rules, loss):
    labels = ("--positive-above", "13") if loss == "logistic" else ()
    told = json.loads(rules("--loss", loss, *labels, "--epsilon", "10", "--out", "run").out)
    assert told["rule"] == "newton"
    assert told["relative_fitness"] < told["alone"]["median"]
