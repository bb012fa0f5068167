"""Forecasts from public rows: what they say about owners drawn from the same population, and when they say less."""

from dataclasses import replace

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.forecast import public
from copriv.forecast.forecast import Forecast, jackknife
from copriv.forecast.newton import NewtonForecast, best_prediction
from copriv.forecast.public import PublicView
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.quadratic import SufficientStatistics
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.planning.search import Fixed, Owners, forecast_averaged, forecast_newton, forecast_paper
from copriv.rules.averaged import AveragedRule
from copriv.rules.paper import PaperRule
from copriv.simulation.averaged import simulate_averaged
from copriv.simulation.quadratic import Noise, simulate
from copriv.vectors import Norm

LAMBDA, P = 1e-4, 4
OBJECTIVE = Objective(choose("squared"), LAMBDA, 50.0)


def population(records, seed):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(records, P)) / 3
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    noise = 0.1 * generator.standard_t(5, size=records)
    return Sample.of_rows(rows, np.clip(rows @ np.linspace(-0.5, 0.5, P) + noise, -1, 1))


def owners(sizes=(1500,) * 6, epsilon=5.0, **changes):
    """Laplace noise by the book, for as many answers as are asked for."""
    return Owners(
        sizes,
        lambda caps: [np.sqrt(2) * 2 * k / (n * epsilon) for n, k in zip(sizes, caps, strict=True)],
        Norm.L1,
        **changes,
    )


VIEW = PublicView.of(population(3000, 0), LAMBDA)
# So many public rows that what they say is true.
SURE = PublicView.of(population(200_000, 7), LAMBDA)


def measured(forecast, who, seed):
    """ψ of one consortium of fresh owners, averaged over runs; caps count, no clip."""
    parts = [SufficientStatistics.of(population(n, 1000 * seed + i)) for i, n in enumerate(who.records)]
    caps = who.caps(forecast.horizon)
    noise = Noise("laplace", forecast.clip * np.asarray(who.promised(caps)), np.asarray(caps))
    if forecast.rule == "paper":
        rule = PaperRule(P, who.records, who.gammas, forecast.step, LAMBDA, 50.0)
        return simulate(rule, parts, noise, horizon=forecast.horizon, runs=20, seed=seed).psi[:, -1]
    rule = AveragedRule(P, who.records, forecast.step, forecast.horizon, LAMBDA, 50.0)
    return simulate_averaged(rule, parts, noise, runs=20, seed=seed, availability=who.gammas).psi


@pytest.mark.parametrize("epsilon", [0.5, 50.0])
@pytest.mark.parametrize("make", [forecast_paper, forecast_averaged])
def test_what_is_forecast_is_measured_on_owners_nobody_has_seen(make, epsilon):
    who = owners((1500, 500, 2500, 1500), epsilon, rates=(1.0, 1.0, 1.0, 1.0))
    forecast = make(VIEW, OBJECTIVE, who, Fixed(horizon=200))
    psi = np.stack([measured(forecast, who, seed) for seed in range(1, 13)])
    assert forecast.relative_fitness == pytest.approx(psi.mean(), rel=0.15)
    low, high = forecast.interval()
    assert np.mean((psi > low) & (psi < high)) > 0.8
    assert not forecast.caveats


def test_without_sampling_differences_little_noise_would_be_forecast_too_well():
    """What the prototype of the design missed by a factor of 2 to 3."""
    who = owners(epsilon=500.0)
    forecast = forecast_averaged(VIEW, OBJECTIVE, who, Fixed(horizon=60))
    psi = np.mean([measured(forecast, who, seed).mean() for seed in range(1, 13)])
    alike = replace(VIEW, covariance=VIEW.covariance * 1e-12)
    naive = forecast_averaged(alike, OBJECTIVE, who, Fixed(horizon=60, step=forecast.step))
    assert forecast.relative_fitness == pytest.approx(psi, rel=0.25)
    assert naive.relative_fitness < 0.5 * psi


def test_an_owner_alone_and_the_public_model_cost_what_is_foretold():
    sizes, alone, public = (400, 1200, 800), [], []
    for seed in range(700):
        parts = [SufficientStatistics.of(population(n, 10_000 + 10 * seed + i)) for i, n in enumerate(sizes)]
        joint = SufficientStatistics.joint(parts)
        best = joint.fitness(joint.minimiser(LAMBDA), LAMBDA)
        alone.append([joint.fitness(part.minimiser(LAMBDA), LAMBDA) / best - 1 for part in parts])
        other = SufficientStatistics.of(population(3000, 50_000 + seed))
        public.append(joint.fitness(other.minimiser(LAMBDA), LAMBDA) / best - 1)
    for owner, seen in enumerate(np.mean(alone, axis=0)):
        assert SURE.alone(sizes, owner) == pytest.approx(seen, rel=0.15)
    told = SURE.excess_risk_rate * (1 / 3000 + 1 / sum(sizes)) / SURE.best(sum(sizes))
    assert told == pytest.approx(np.mean(public), rel=0.15)
    assert VIEW.public_model(sum(sizes)) == pytest.approx(told, rel=0.15)


def test_the_best_fitness_is_corrected_for_what_samples_flatter():
    fitness = [
        part.fitness(part.minimiser(LAMBDA), LAMBDA)
        for part in (SufficientStatistics.of(population(100, 10**6 + seed)) for seed in range(1500))
    ]
    assert SURE.best(100) == pytest.approx(np.mean(fitness), rel=0.015)
    assert SURE.best(100) < 0.97 * SURE.best(100_000)


def test_heterogeneity_costs_those_who_step_and_those_who_stay_alone():
    same, apart = (owners(epsilon=50.0, heterogeneity=kappa) for kappa in (0.0, 0.01))
    for make in (forecast_paper, forecast_averaged):
        costs = [make(VIEW, OBJECTIVE, who, Fixed(horizon=200)).relative_fitness for who in (same, apart)]
        assert costs[1] > 1.1 * costs[0]
    assert VIEW.alone((1500,) * 6, 0, 0.01) > 5 * VIEW.alone((1500,) * 6, 0)


def test_more_budget_more_owners_and_more_records_never_cost_more():
    def cost(count=6, size=1500, epsilon=5.0):
        return forecast_paper(VIEW, OBJECTIVE, owners((size,) * count, epsilon), Fixed(horizon=300)).relative_fitness

    for changes in ({"epsilon": (1.0, 5.0, 50.0)}, {"size": (500, 1500, 5000)}, {"count": (2, 6, 20)}):
        ((name, values),) = changes.items()
        costs = [cost(**{name: value}) for value in values]
        assert costs == sorted(costs, reverse=True)


def test_newton_is_forecast_by_its_prospect():
    who = owners()
    prospects = NewtonForecast.of(VIEW.sample, OBJECTIVE, Norm.L1)
    forecast = forecast_newton(VIEW, OBJECTIVE, who, prospects)
    units = {k: who.promised((k,) * 6) for k in (1, 2)}
    plan = best_prediction(VIEW.sample, OBJECTIVE, records=who.records, deviations=units, norm=Norm.L1)
    assert (forecast.clip, forecast.answers, forecast.relative_fitness) == (plan.clip, plan.answers, plan.cost)
    assert 0 < forecast.doubt < forecast.deviation
    low, high = forecast.interval()
    assert low < forecast.relative_fitness < high


def test_a_box_or_a_clip_that_would_bind_is_said():
    small = replace(OBJECTIVE, limit=0.55)
    loud = forecast_paper(VIEW, small, owners(epsilon=0.5), Fixed(horizon=200, step=0.5))
    assert any("box" in caveat for caveat in loud.caveats)
    hard = forecast_averaged(VIEW, OBJECTIVE, owners(), Fixed(horizon=200, clip=0.02))
    assert any("clip" in caveat for caveat in hard.caveats)


def test_the_interval_follows_from_mean_and_deviations():
    forecast = Forecast("paper", 2.0, 0.3, 0.4, 1, 1, 0.1, 1.0)
    low, high = forecast.interval()
    assert 2 - 2.2 * 0.5 < low < 2 - 1.5 * 0.5
    assert 2 + 1.8 * 0.5 < high < 2 + 2.6 * 0.5


def test_the_jackknife_is_the_standard_error_of_a_mean():
    sample = population(4000, 3)
    error = jackknife(sample, lambda rest: float(rest.targets.mean()), groups=40)
    assert error == pytest.approx(sample.targets.std() / np.sqrt(4000), rel=0.3)


def test_too_few_public_rows_are_refused():
    with pytest.raises(BadInput, match="4 public rows") as caught:
        PublicView.of(population(4, 0), LAMBDA)
    assert caught.value.value == 4


def test_a_direction_without_variation_is_counted_and_regularised():
    rows = np.array(VIEW.sample.columns).T
    rows[:, 3] = rows[:, 2]
    view = PublicView.of(Sample.of_rows(rows, VIEW.sample.targets), LAMBDA)
    assert view.singular == 1
    assert np.isfinite(forecast_paper(view, OBJECTIVE, owners(), Fixed(horizon=100)).relative_fitness)


def test_moments_of_another_loss_are_refused():
    with pytest.raises(BadInput, match="logistic"):
        forecast_paper(VIEW, Objective(choose("logistic"), LAMBDA, 5.0), owners(), Fixed())


@pytest.mark.parametrize("loss", [choose("logistic"), choose("huber", 0.15)], ids=lambda loss: loss.name)
def test_with_another_loss_an_owner_alone_costs_what_is_foretold(loss):
    def labelled(records, seed):
        sample = population(records, seed)
        return Sample(sample.columns, np.sign(sample.targets)) if loss.name == "logistic" else sample

    objective, everyone = Objective(loss, LAMBDA, 1e3), labelled(60_000, 1)
    view = PublicView.of(labelled(20_000, 2), LAMBDA, loss)
    best = objective.fitness(everyone, minimise(objective, everyone))
    own = [minimise(objective, labelled(1500, 100 + seed)) for seed in range(200)]
    measured = np.mean([objective.fitness(everyone, theta) / best - 1 for theta in own])
    assert view.alone((1500, 60_000), 0) == pytest.approx(measured, rel=0.2)
    assert view.fitness == pytest.approx(best, rel=0.05)
    assert PublicView.of(everyone, LAMBDA).fitness != pytest.approx(best, rel=0.05)


def test_the_parabola_of_the_squared_loss_is_itself():
    found = public._parabola(SquaredLoss(), VIEW.sample, VIEW.model)
    np.testing.assert_allclose(found.curvature, VIEW.statistics.curvature, rtol=1e-9)
    np.testing.assert_allclose(found.offset, VIEW.statistics.offset, rtol=1e-9)
    assert found.power == pytest.approx(VIEW.statistics.power)
