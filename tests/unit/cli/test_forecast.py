"""`copriv forecast`: what it tells, over what, and what it refuses."""

import json
from itertools import pairwise

import pytest
from tests.narrow_loans import narrow_loans

from copriv.entropy import seeded
from copriv.records import lending_like
from copriv.rules.adaptive_questions import MOST_ANSWERS

WANTED = {
    "relative_fitness", "interval", "alone", "verdict", "rule", "answers_per_owner", "step", "mechanism",
}  # fmt: skip


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    path = tmp_path_factory.mktemp("public") / "loans.parquet"
    narrow_loans(2000, 0).write_parquet(path)
    return path


@pytest.fixture
def forecast(copriv, public):
    def call(*arguments, owners=5, records="4000", epsilon="1"):
        given = ("--owners", owners, "--records", records, "--epsilon", epsilon, *arguments)
        return copriv("forecast", "--public", public, "--target", "int_rate", *given)

    return call


def test_it_tells_what_to_expect(forecast):
    told = json.loads(forecast("--json").out)
    assert set(told) >= WANTED
    low, high = told["interval"]
    assert 0 < low < told["relative_fitness"] < high
    assert told["rule"] == "newton"
    assert told["mechanism"] == "laplace"
    assert told["answers_per_owner"] == MOST_ANSWERS
    least, most = told["elsewhere"]
    assert least <= low < 10 * high < most
    assert json.loads(forecast("--json", "--answers", "2").out)["answers_per_owner"] == 2
    assert (told["unit"], told["adjacency"]) == ("record", "replace-one")


def test_it_tells_how_far_from_the_limit(forecast):
    limits, binding = (json.loads(forecast("--json", epsilon=epsilon).out)["limits"] for epsilon in ("1", "0.01"))
    assert 1 < limits["times_best_noise"] < limits["times_one_noise"]
    assert (limits["binding"], binding["binding"]) == (0, 5)
    said = " ".join(forecast().out.split())
    ratios = f"{limits['times_best_noise']:.2f} times the best noise, {limits['times_one_noise']:.2f} times one noise"
    assert f"{ratios} for all; the information limit does not bind" in said
    assert "the information limit binds: on new records no method can" in " ".join(forecast(epsilon="0.01").out.split())


@pytest.mark.parametrize("rule", ["paper", "averaged", "newton"])
def test_every_rule_is_forecast_and_budget_helps(forecast, rule):
    costs = []
    for epsilon in ("0.5", "50"):
        told = json.loads(forecast("--rule", rule, "--horizon", 200, "--json", epsilon=epsilon).out)
        assert told["rule"] == rule
        assert (told["step"] is None) == (rule == "newton")
        costs.append(told["relative_fitness"])
    assert costs[0] > costs[1]


def test_delta_means_gaussian_noise_unless_the_stronger_promise_costs_less(forecast):
    told = json.loads(forecast("--delta", "1e-6", "--rule", "averaged", "--json").out)
    assert (told["mechanism"], told["delta"]) == ("gaussian", 1e-6)
    pure, either = (json.loads(forecast(*delta, "--json").out) for delta in ((), ("--delta", "1e-6")))
    assert either["relative_fitness"] <= pure["relative_fitness"]
    assert (either["mechanism"] == "laplace") == (either["delta"] == 0)


def test_auto_is_the_best_of_all(forecast):
    best = json.loads(forecast("--json").out)["relative_fitness"]
    costs = [json.loads(forecast("--rule", rule, "--json").out)["relative_fitness"] for rule in ("paper", "newton")]
    assert best <= min(costs)


def test_a_single_owner_has_nobody_to_learn_from(forecast, tmp_path, rendered):
    given = ("--rule", "newton", "--vary", "epsilon", "--out", tmp_path)
    told = json.loads(forecast(*given, "--json", owners=1).out)
    assert (told["alone"], told["verdict"]) == (0, "stay")
    assert 0 < told["interval"][0] < told["relative_fitness"] < told["interval"][1]
    assert {(row["alone"], row["verdict"]) for row in told["table"]} == {(0, "stay")}
    drawn = (tmp_path / "forecast_epsilon.svg").read_text(encoding="utf-8")
    assert "together, expected" in drawn
    assert "alone, expected" not in drawn
    said = " ".join(forecast("--rule", "newton", owners=1).out.split())
    assert "With a single owner there is nobody to learn from: ψ is what privacy costs it" in said
    assert "own model should beat" not in said


def test_the_verdict_turns_with_the_budget(forecast):
    told = [json.loads(forecast("--json", epsilon=epsilon).out) for epsilon in ("0.01", "20")]
    assert [each["verdict"] for each in told][1] == "join"
    assert told[0]["verdict"] != "join"


def test_owners_may_differ_in_size_and_budget(forecast):
    told = json.loads(forecast("--json", owners=3, records="1000,5000,9000", epsilon="0.5,1,2").out)
    assert told["records"] == 15_000
    assert told["epsilon"] == [0.5, 2]
    alike = json.loads(forecast("--json", owners=3, records="1000,5000,9000", epsilon="2").out)
    assert told["relative_fitness"] > alike["relative_fitness"]
    assert "ε = 0.5 to 2" in forecast(owners=3, records="1000,5000,9000", epsilon="0.5,1,2").out


@pytest.mark.parametrize("what", ["epsilon", "owners", "records"])
def test_owners_that_differ_keep_their_pattern_when_something_is_varied(copriv, public, what):
    common = ("forecast", "--public", public, "--target", "int_rate", "--rule", "newton", "--json", "--vary", what)
    told = json.loads(copriv(*common, "--records", "1000,4000,7000", "--epsilon", "0.5,1,2").out)
    costs = [row["relative_fitness"] for row in told["table"]]
    assert costs == sorted(costs, reverse=True)
    for row in told["table"]:
        low, high = row["epsilon"]
        if what == "owners":
            assert (low, high) == ((0.5, 1) if row["owners"] == 2 else (0.5, 2))
        else:
            assert high == pytest.approx(4 * low)
            assert row["value"] == (high if what == "epsilon" else row["records"])


def test_heterogeneity_makes_staying_alone_dearer(forecast):
    plain, apart = (json.loads(forecast("--json", "--heterogeneity", k).out) for k in ("0", "0.01"))
    assert apart["alone"] > 5 * plain["alone"]


@pytest.mark.parametrize("what", ["epsilon", "owners", "records"])
def test_what_if(forecast, tmp_path, what):
    outcome = forecast("--vary", what, "--rule", "newton", "--out", tmp_path / "whatif", "--json")
    told = json.loads(outcome.out)
    costs = [row["relative_fitness"] for row in told["table"]]
    assert len(costs) >= 10
    assert costs == sorted(costs, reverse=True)
    for row in told["table"]:
        assert row["value"] == row[what]
        assert {"owners": row["owners"], "records": row["records"], "epsilon": row["epsilon"]} == {
            "owners": 5,
            "records": 4000,
            "epsilon": 1,
            what: row["value"],
        }
        assert row["interval"][0] < row["relative_fitness"] < row["interval"][1]
        assert row["alone"] > 0
        assert row["public"] > 0
    assert {file.name for file in (tmp_path / "whatif").iterdir()} == {
        f"forecast_{what}.{kind}" for kind in ("csv", "png", "svg")
    }


def test_where_joining_pays(forecast, tmp_path, rendered):
    """The paper's Fig. a4, forecast: more owners and more budget never make joining pay less."""
    told = json.loads(forecast("--vary", "join", "--rule", "newton", "--out", tmp_path / "whatif", "--json").out)
    rank = {"stay": 0, "too close to call": 1, "join": 2}
    region = {(row["owners"], row["epsilon"]): rank[row["verdict"]] for row in told["table"]}
    owners, epsilons = (sorted({place[axis] for place in region}) for axis in (0, 1))
    assert len(region) == len(owners) * len(epsilons) >= 50
    assert all(row["records"] == 4000 for row in told["table"])
    for first, second in pairwise(epsilons):
        assert all(region[n, first] <= region[n, second] for n in owners)
    assert region[owners[0], epsilons[0]] < 2
    assert region[owners[-1], epsilons[-1]] == 2
    assert {file.name for file in (tmp_path / "whatif").iterdir()} == {
        f"forecast_join.{kind}" for kind in ("csv", "png", "svg")
    }
    table = (tmp_path / "whatif" / "forecast_join.csv").read_text().splitlines()
    assert len(table) == 1 + len(region)


def test_where_joining_pays_is_shown_as_a_map(forecast):
    outcome = forecast("--vary", "join", "--rule", "newton")
    assert "● join" in outcome.out
    assert sum("●" in line for line in outcome.out.splitlines()) >= 5


@pytest.mark.parametrize("loss", [("huber", "--huber-threshold", "0.2"), ("logistic", "--positive-above", "13")])
def test_other_losses_are_forecast(forecast, loss):
    told = json.loads(forecast("--loss", *loss, "--json", epsilon="5").out)
    assert told["loss"] == loss[0]
    assert told["rule"] == "newton"
    assert 0 < told["interval"][0] < told["relative_fitness"] < told["interval"][1]
    assert told["relative_fitness"] < told["alone"]
    assert told["verdict"] == "join"


@pytest.mark.parametrize("rule", ["paper", "averaged"])
def test_other_losses_are_simulated_where_there_are_no_moments(forecast, rule):
    """A Huber loss whose threshold no residual reaches is the squared loss: its simulations must find its moments."""
    common = ("--rule", rule, "--horizon", 100, "--json")
    settled = ("--clip", 4, "--step", 0.3)
    told = json.loads(forecast(*common, *settled, "--loss", "huber", "--huber-threshold", 50, epsilon="50").out)
    assert "moments are of the squared loss" in told["caveats"][0]
    assert "simulated" in told["caveats"][-1]
    squared = json.loads(forecast(*common, *settled, epsilon="50").out)
    assert not squared["caveats"]
    assert told["relative_fitness"] == pytest.approx(squared["relative_fitness"], rel=0.4)
    assert told["alone"] == pytest.approx(squared["alone"], rel=1e-4)
    sharp = json.loads(forecast(*common, "--loss", "huber", "--huber-threshold", 0.1, epsilon="50").out)
    assert sharp["relative_fitness"] < 0.5 * squared["relative_fitness"]  # its clip is smaller, and so is its noise


def test_the_table_says_it_in_words(forecast):
    outcome = forecast()
    assert outcome.code == 0
    for words in ("joint, private", "alone", "public rows only", "replace-one", "δ = 0"):
        assert words in outcome.out


@pytest.mark.parametrize(
    ("arguments", "changes", "words"),
    [
        ((), {"epsilon": "1,2"}, "2 values of epsilon for 5 owners"),
        ((), {"records": "10,20,30"}, "3 values of records"),
        ((), {"records": "ten"}, "'ten' records"),
        ((), {"records": "0"}, "0 records"),
        ((), {"owners": 0}, "0 owners"),
        ((), {"epsilon": "-1"}, "epsilon"),
        (("--delta", "2"), {}, "delta"),
        (("--horizon", "0"), {}, "horizon"),
        (("--heterogeneity", "-1"), {}, "heterogeneity"),
        (("--out", "x"), {}, "--vary"),
        ((), {"records": "100,,200"}, "between two commas"),
        (("--skip", "no such column"), {}, "no such column"),
        (("--study", "none.toml"), {}, "there is no study file"),
        (("--regularization", "0"), {}, "regularization"),
        (("--positive-above", "13"), {}, "only the logistic loss"),
        (("--loss", "huber", "--huber-threshold", "0"), {}, "threshold"),
        (("--loss", "logistic"), {}, "int_rate"),
        ((), {"records": "8"}, "an owner of 8 records for a model of 8 numbers"),
        ((), {"epsilon": "1e-8"}, "less than a billionth"),
    ],
)
def test_bad_input_names_the_value_and_the_remedy(forecast, arguments, changes, words):
    outcome = forecast(*arguments, **changes)
    assert outcome.code == 2
    assert words in outcome.err
    assert "remedy:" in outcome.err
    assert not outcome.out


def test_fewer_public_rows_than_features_are_refused(copriv, tmp_path):
    path = tmp_path / "few.csv"
    frame = lending_like.generate(500, seeded(1, "records")).head(8)
    frame.write_csv(path)
    outcome = copriv(
        "forecast", "--public", path, "--target", "int_rate", "--owners", 2, "--records", 100, "--epsilon", 1
    )
    assert outcome.code == 2
    assert "public rows" in outcome.err


def test_public_rows_that_do_not_vary_in_a_direction_are_regularised_and_it_is_said(monkeypatch, forecast):
    from copriv.forecast import public

    monkeypatch.setattr(public, "_SINGULAR", 0.99)
    outcome = forecast("--rule", "newton")
    assert outcome.code == 0
    assert "do not vary" in outcome.err


def test_a_target_that_is_not_there_is_refused(copriv, public):
    outcome = copriv("forecast", "--public", public, "--target", "int_rat", "--owners", 2, "--records", 100)
    assert outcome.code == 2
    assert "int_rate" in outcome.err
