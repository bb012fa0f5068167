"""Forecasts under guarantees: the noise of the promise, rehearsals where moments do not hold, and verdicts."""

from dataclasses import replace

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.forecast.forecast import Forecast
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.planning.forecaster import Forecaster, Scenario, judge
from copriv.planning.public_simulation import rehearse
from copriv.planning.search import Fixed
from copriv.privacy.guarantee import Guarantee
from copriv.simulation.cost import promised
from copriv.vectors import Norm

OBJECTIVE = Objective(choose("squared"), 1e-4, 50.0)


@pytest.fixture(scope="module")
def public():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(2000, 3)) / 3
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return Sample.of_rows(rows, np.clip(rows @ [0.5, -0.4, 0.3] + 0.1 * generator.normal(size=2000), -1, 1))


def question(epsilon=5.0, owners=4, records=1500, delta=0.0):
    return Scenario((records,) * owners, (Guarantee.of(epsilon, delta),) * owners)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_is_that_of_the_promise(delta):
    asked = question(0.7, delta=delta)
    protection = promised(Guarantee.of(0.7, delta), 3)
    assert asked.norm is protection.norm is (Norm.L2 if delta else Norm.L1)
    expected = protection.of([1500], 0.25, 7)[0].noise_std
    assert 0.25 * asked.owners(3).promised((7,) * 4)[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("rule", ["paper", "averaged"])
def test_where_nothing_binds_a_rehearsal_agrees_with_the_moments(public, rule):
    oracle, asked = Forecaster.of(public, OBJECTIVE), question()
    found = oracle.forecast(asked, rule, Fixed(horizon=150))
    assert not found.caveats
    acted = rehearse(found, oracle.view, OBJECTIVE, asked.owners(3), noise="laplace", runs=300, seed=1)
    assert acted.relative_fitness == pytest.approx(found.relative_fitness, rel=0.15)
    assert acted.deviation == pytest.approx(found.deviation, rel=0.3)


def test_where_the_box_binds_the_rehearsal_takes_over_and_says_so(public):
    tight = replace(OBJECTIVE, limit=0.6)
    oracle = Forecaster.of(public, tight)
    found = oracle.forecast(question(0.3, records=300), "paper", Fixed(horizon=150, step=0.8))
    assert "box" in found.caveats[0]
    assert "rehearsed" in found.caveats[-1]
    free = Forecaster.of(public, replace(OBJECTIVE, limit=1e6))
    unbounded = free.forecast(question(0.3, records=300), "paper", Fixed(horizon=150, step=0.8))
    assert found.relative_fitness < 0.7 * unbounded.relative_fitness


def test_where_the_clip_binds_the_rehearsal_takes_over_and_says_so(public):
    found = Forecaster.of(public, OBJECTIVE).forecast(question(), "averaged", Fixed(horizon=60, clip=0.03))
    assert any("clip" in caveat for caveat in found.caveats)
    assert "rehearsed" in found.caveats[-1]


def test_the_best_rule_is_the_one_with_the_least_forecast(public):
    oracle, asked = Forecaster.of(public, OBJECTIVE), question()
    costs = {rule: oracle.forecast(asked, rule).relative_fitness for rule in ("newton", "averaged", "paper")}
    assert oracle.best(asked).rule == min(costs, key=costs.get)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0, 2000.0])
def test_the_best_rule_is_forecast_as_if_it_were_the_only_one(public, epsilon):
    """What is skipped for rules that cannot win changes nothing about the one that does."""
    oracle, asked = Forecaster.of(public, replace(OBJECTIVE, limit=1.0)), question(epsilon, records=300)
    alone = [oracle.forecast(asked, rule) for rule in ("newton", "averaged", "paper")]
    assert oracle.best(asked) == min(alone, key=lambda forecast: forecast.relative_fitness)


def test_a_verdict_needs_the_whole_interval():
    forecast = Forecast("newton", 1.0, 0.1, 0.0, 1, 1, 0.0, 1.0)
    assert judge(forecast, 2.0) == "join"
    assert judge(forecast, 0.5) == "stay"
    assert judge(forecast, 1.05) == "too close to call"


def test_questions_that_make_no_sense_are_refused():
    with pytest.raises(BadInput, match="1 guarantees for 2 owners"):
        Scenario((5, 5), (Guarantee.of(1),))
    with pytest.raises(BadInput, match="with and without delta"):
        Scenario((5, 5), (Guarantee.of(1), Guarantee.of(1, 1e-6)))
    with pytest.raises(BadInput, match="heterogeneity"):
        Scenario((5,), (Guarantee.of(1),), heterogeneity=float("nan"))
