"""One planner: what is forecast, what is planned and what a training predicts are one number, to the last bit."""

from itertools import product

import numpy as np
import polars as pl
import pytest

from copriv.api.forecast import forecast
from copriv.api.plan import plan
from copriv.api.plan_settings import read_public
from copriv.api.verdict import verdict
from copriv.learner.public_rows import public_rows_beside, read_sample
from copriv.planning import training_plan
from copriv.planning.from_terms import plan_from_terms
from copriv.planning.outline import draft_outline
from copriv.planning.scenario import Scenario
from copriv.planning.search import choose, rank
from copriv.planning.training_plan import design_ahead
from copriv.planning.training_spec import TrainingSpec
from copriv.protocol.study_file import read_study
from copriv.records.dictionary import Dictionary
from copriv.records.load import Intake, OwnerSample

# Sizes, ε, rates, κ: alike and different, few and many, loud and quiet.
SCENARIOS = (
    {"records": (400,) * 3},
    {"records": (400,) * 3, "epsilon": 0.05},
    {"records": (400,) * 3, "epsilon": 30},
    {"records": (700, 90, 30)},
    {"records": (300,) * 3, "epsilon": (1, 0.5, 0.1)},
    {"records": (60, 500), "epsilon": (2, 7)},
    {"records": (50,) * 12, "epsilon": 3},
    {"records": (400,) * 3, "rates": (1, 2, 5)},
    {"records": (5000,) * 2, "heterogeneity": 0.01},
    {"records": (900, 100, 100), "epsilon": (4, 1, 1), "rates": (1, 1, 3), "accountant": "zcdp"},
)
RULES = ("auto", "newton", "statistics", "averaged", "paper")
LOSSES = ("squared", "huber", "logistic")
CASES = [(rule, loss) for rule, loss in product(RULES, LOSSES) if rule != "statistics" or loss == "squared"]
QUICK = {"features": 2, "horizon": 8, "seed": 3}


@pytest.fixture(scope="module")
def table():
    chance = np.random.default_rng(0)
    age, income = chance.normal(40, 10, 120), chance.normal(30, 8, 120)
    rate = 10 - 0.1 * age + 0.05 * income + chance.normal(0, 0.6, 120)
    return pl.DataFrame({"age": age, "income": income, "rate": rate})


def settings(rule, loss):
    answers = {} if rule in ("auto", "newton", "statistics") else {"answers": 2}
    labels = {"positive_above": 7.5} if loss == "logistic" else {}
    return QUICK | answers | labels | {"rule": rule, "loss": loss, "features": 10}


def spec_of(scenario, rule, loss):
    """What `train` asks of the planner."""
    asked = settings(rule, loss)
    return TrainingSpec(
        guarantees=scenario.guarantees,
        rule=rule,
        loss=loss,
        horizon=asked["horizon"],
        seed=asked["seed"],
        answers=asked.get("answers"),
        rates=scenario.rates,
        accountant=scenario.accountant,
        heterogeneity=scenario.heterogeneity,
    )


def numbers(table, scenario, rule, loss):
    """By `forecast`, by `plan`, and by what `train` designs."""
    planned = plan(table, scenario, target="rate", **settings(rule, loss))
    trained = design_ahead(planned.dictionary, planned.public, scenario.records, spec_of(scenario, rule, loss))
    foretold = forecast(table, scenario, target="rate", **settings(rule, loss))
    assert foretold.candidate == planned.best == trained.candidate
    assert trained.terms.rule == planned.terms.rule
    return foretold.relative_fitness, planned.predicted, trained.predicted


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(("number", "rule", "loss"), [(place, *case) for place, case in enumerate(CASES)])
def test_forecast_plan_and_training_tell_one_number(table, number, rule, loss, delta):
    """Every rule, loss and mechanism, from a table to the number, for one of the scenarios each."""
    scenario = Scenario(**SCENARIOS[(number + (5 if delta else 0)) % len(SCENARIOS)], delta=delta)
    foretold, planned, trained = numbers(table, scenario, rule, loss)
    assert foretold == planned == trained
    assert np.isfinite(foretold)
    assert foretold > 0


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(("rule", "loss"), CASES)
def test_and_so_in_every_scenario(table, rule, loss, delta):
    """What `forecast` and `train` take is the first that `plan` ranks, whatever was asked of the same rows before.

    Every second scenario; which ones depends on the mechanism.
    """
    known, again = (read_public(table, "rate", settings(rule, loss)) for _ in range(2))
    for place, scenario in enumerate(SCENARIOS[int(delta > 0) :: 2]):
        who = Scenario(**scenario, delta=delta)
        taken, ranked = choose(known.outline(who)), rank(again.outline(who))
        assert taken == ranked[0], place
        outline = draft_outline(known.dictionary, again.evidence, who.records, spec_of(who, rule, loss))
        assert choose(outline) == taken


@pytest.mark.parametrize("rule", RULES[1:])
@pytest.mark.parametrize("evaluations", [0, 2])
def test_the_study_that_is_written_predicts_it_too(table, tmp_path, rule, evaluations):
    scenario = Scenario((120, 120))
    planned = plan(table, scenario, target="rate", evaluations=evaluations, **settings(rule, "squared"))
    path = planned.save(tmp_path / "study.toml")
    foretold = forecast(None, scenario, study=path, seed=3)
    study = read_study(path.read_text())
    public = read_sample(public_rows_beside(path).read_bytes())
    owners = tuple(OwnerSample(name, public) for name in "ab")
    intake = Intake(Dictionary.from_study(study.dictionary), public, owners, ())
    spec = TrainingSpec(guarantees=scenario.guarantees, seed=3)
    assert foretold.relative_fitness == planned.predicted == plan_from_terms(study.terms, intake, spec).predicted


def test_a_verdict_weighs_the_same_number(table):
    scenario = Scenario((80,) * 4, epsilon=2)
    judged = verdict(table.head(80), table, scenario, target="rate", **settings("auto", "squared"))
    assert judged.advice.joint == judged.candidate.forecast
    assert (
        judged.advice.joint.relative_fitness
        == plan(table, scenario, target="rate", **settings("auto", "squared")).predicted
    )


def test_a_training_with_a_planner_of_its_own_is_caught(table, monkeypatch):
    """The twin that tunes once more before it trains."""
    sound = training_plan.choose

    def own_way(outline):
        from dataclasses import replace

        return sound(replace(outline, spec=replace(outline.spec, clip=0.5 * sound(outline).clip)))

    monkeypatch.setattr(training_plan, "choose", own_way)
    with pytest.raises(AssertionError):
        numbers(table, Scenario((400,) * 3), "newton", "squared")
