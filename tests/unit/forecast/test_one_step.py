"""Estimates that are not drawn towards the public rows: intervals hold as often as they say, and twins are caught.

All seeds are fixed, so nothing flickers. With other seeds a coverage test may fail: its margin is 3 standard errors
and one point.
"""

from functools import cache

import numpy as np
import pytest

from copriv.forecast.one_step import FLAT, SHIFTED, TAKEN, OneStep, PublicSandwich, too_few, unshrunk
from copriv.forecast.told_gradients import SILENT, told_gradients
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise, minimise_freely
from copriv.losses.passes import clipped_average_gradient, gradient_norms
from copriv.losses.sample import Sample
from copriv.planning.power import Ahead
from copriv.report.inference import pooled_coefficients
from copriv.rules.adaptive_newton import KINDS, SHARES, AdaptiveNewton
from copriv.rules.newton import NewtonRule
from copriv.rules.rule import learn_from, next_ask
from copriv.rules.setting import NoiseModel
from copriv.rules.statistics import StatisticsRule
from copriv.vectors import Norm

P, OWNERS, RECORDS, ROWS = 4, 6, 500, 600
TRUTH = np.linspace(-0.6, 0.7, P)


def population(records, generator, loss="squared", model=TRUTH):
    """Bounded records around a model; heavy-tailed residuals, so that clips bite."""
    rows = generator.normal(size=(records, P)) / 3 * np.linspace(1, 0.6, P)
    rows[:, -1] = 0.4
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    margins = rows @ model
    if loss == "logistic":
        return Sample.of_rows(rows, np.where(generator.random(records) < 1 / (1 + np.exp(-4 * margins)), 1.0, -1.0))
    return Sample.of_rows(rows, np.clip(margins + 0.1 * generator.standard_t(4, size=records), -1, 1))


def objective_of(loss):
    return Objective(choose(loss), 1e-5, 50.0)


def ask_everybody(rule, samples, objective, noise, generator, rounds=1):
    state = rule.begin()
    for owner in list(range(len(samples))) * rounds:
        if (ask := next_ask(rule, state, owner)) is None:
            continue
        exact = clipped_average_gradient(objective.loss, samples[owner], ask.theta, noise.clip, Norm.L1)
        told = exact + generator.laplace(scale=noise.std_of(owner, ask) / np.sqrt(2), size=exact.size)
        state = learn_from(rule, state, owner, told, ask)
    return state


def plan(public, objective, epsilon, quantile=0.95, owners=OWNERS):
    start = minimise(objective, public)
    clip = float(np.quantile(gradient_norms(objective.loss, public, start, Norm.L1), quantile))
    return start, NoiseModel((np.sqrt(2) * 2 * clip / (RECORDS * epsilon),) * owners, clip, Norm.L1, public)


def train(seed, *, loss="squared", epsilon=1.0, differ=0.0, shift=0.0, rows=ROWS, kind="newton"):
    """One training on fresh rows, with owners whose models differ by so much: rule, state, public rows."""
    generator, objective = np.random.default_rng(seed), objective_of(loss)
    public = population(rows, generator, loss)
    models = TRUTH + shift + differ * generator.normal(size=(OWNERS, P))
    samples = [population(RECORDS, generator, loss, model) for model in models]
    start, noise = plan(public, objective, epsilon)
    sizes = [RECORDS] * OWNERS
    if kind == "newton":
        shape = {"records": sizes, "noise_std": noise.noise_std, "clip": noise.clip, "norm": Norm.L1}
        rule = NewtonRule.of(public, objective, start=start, **shape)
        return rule, ask_everybody(rule, samples, objective, noise, generator), public
    menu = NoiseModel(noise.noise_std, noise.clip, Norm.L1, public, SHARES, KINDS[:1])
    rule = AdaptiveNewton.of(public, objective, records=sizes, noise=menu, start=start)
    return rule, ask_everybody(rule, samples, objective, menu, generator, 4), public


@cache
def truth_of(loss):
    return minimise_freely(choose(loss), 1e-10, population(150_000, np.random.default_rng(10**6), loss))


@cache
def trainings(loss, epsilon, differ, count):
    found = []
    for seed in range(count):
        rule, state, _ = train(seed, loss=loss, epsilon=epsilon, differ=differ)
        estimate = unshrunk(rule, state)
        assert isinstance(estimate, OneStep)
        names = [str(place) for place in range(P)]
        found.append((pooled_coefficients(estimate, np.eye(P), np.zeros(P), names), rule.model(state)))
    return found


def inside(found, truth, left_out=""):
    """The share of intervals that hold the truth; a twin leaves a cause out of the standard error."""
    held = [
        abs(one.estimate - true)
        <= (one.high - one.low) / 2 * np.sqrt(1 - (getattr(one, left_out) / one.standard_error) ** 2 if left_out else 1)
        for coefficients, _ in found
        for one, true in zip(coefficients, truth, strict=True)
        if one.low is not None
    ]
    return float(np.mean(held)), len(held)


@pytest.mark.parametrize(("loss", "epsilon"), [("squared", 1.0), ("logistic", 0.5)])
def test_intervals_hold_and_would_not_without_noise(loss, epsilon):
    found, truth = trainings(loss, epsilon, 0.0, 100), truth_of(loss)
    held, count = inside(found, truth)
    margin = 3 * np.sqrt(0.05 * 0.95 / (count / 2)) + 0.01
    assert count > 0.85 * 100 * P
    assert 0.95 - margin < held < 0.97 + margin
    assert inside(found, truth, "privacy")[0] < 0.9


def test_differences_between_owners_count():
    truth = truth_of("squared")
    found = trainings("squared", 3.0, 0.1, 80)
    held, count = inside(found, truth)
    assert count > 0
    assert held > 0.9
    assert inside(found, truth, "between")[0] < held - 0.05


def test_the_estimate_is_not_drawn_towards_the_public_rows():
    """With strong noise the model stays at the public one, and the estimate does not care where that is."""
    rule, state, public = train(3, epsilon=0.02)
    start, model, estimate = rule.outlook.start, rule.model(state), unshrunk(rule, state)
    shrunk = np.linalg.norm(model - start)
    assert shrunk < 0.2 * np.linalg.norm(estimate.theta - start)
    assert public.records == ROWS


def test_without_noise_and_clip_it_is_the_fit_of_all_records():
    """Of one owner with the public rows exactly; of several up to how much their Hessians differ."""
    generator, objective = np.random.default_rng(5), objective_of("squared")
    parts = [population(400, generator) for _ in range(3)]
    public = Sample.join(parts)
    best = minimise_freely(choose("squared"), 1e-12, public)
    for samples, near in (([public], 1e-6), (parts, 2e-3)):
        sizes, stds = [sample.records for sample in samples], [0.0] * len(samples)
        rule = NewtonRule.of(public, objective, records=sizes, noise_std=stds, clip=10.0, norm=Norm.L1)
        noise = NoiseModel(tuple(stds), 10.0, Norm.L1, public)
        estimate = unshrunk(rule, ask_everybody(rule, samples, objective, noise, generator))
        assert estimate.theta == pytest.approx(best, abs=near)
        own = [minimise_freely(choose("squared"), 1e-12, sample) for sample in samples]
        assert np.max(np.abs(estimate.each - np.stack(own))) < 0.1


def test_answers_are_read_from_both_rules():
    for kind in ("newton", "menu"):
        rule, state, public = train(1, kind=kind, epsilon=50.0)
        told = told_gradients(rule, state)
        assert set(told.owners.tolist()) == set(range(OWNERS))
        at = told.places[0]
        public_answer = clipped_average_gradient(choose("squared"), public, at, told.clip, Norm.L1)
        assert np.linalg.norm(told.values[0] - public_answer) < 0.1
        assert np.all(told.noise_std > 0)


def test_no_interval_is_said_with_a_reason():
    assert unshrunk(*train(2, shift=0.5, epsilon=20.0)[:2]).none == SHIFTED
    assert "too few" in unshrunk(*train(2, rows=60)[:2]).none
    rule, _, _ = train(2)
    assert unshrunk(rule, rule.begin()) == SILENT
    statistics = StatisticsRule(P, (RECORDS,) * 2, (1.0, 1.0), Norm.L1, 1e-5, 50.0)
    assert "does not ask for gradients" in unshrunk(statistics, statistics.begin())


def test_a_clip_that_takes_most_leaves_no_interval():
    generator, objective = np.random.default_rng(5), objective_of("squared")
    samples, public = [population(RECORDS, generator) for _ in range(OWNERS)], population(ROWS, generator)
    for quantile, why in ((0.95, ""), (0.3, TAKEN)):
        start, noise = plan(public, objective, 5.0, quantile)
        shape = {"records": [RECORDS] * OWNERS, "noise_std": noise.noise_std, "clip": noise.clip, "norm": Norm.L1}
        rule = NewtonRule.of(public, objective, start=start, **shape)
        assert unshrunk(rule, ask_everybody(rule, samples, objective, noise, generator)).none == why
    everything = PublicSandwich.of(public, objective.loss, start, 1e-9, Norm.L1)
    assert everything.share_taken == pytest.approx(1.0, abs=1e-6)


def test_models_that_differ_are_not_drawn_towards_the_public_rows():
    """A twin takes clipped differences for full ones: it is off by what the clip takes of them."""
    generator, objective, many, apart = np.random.default_rng(5), objective_of("squared"), 20_000, 0.05
    public = population(many, generator)
    samples = [population(many, generator, model=TRUTH + apart) for _ in range(2)]
    start, noise = plan(public, objective, 1e9, 0.6, owners=2)
    shape = {"records": [many] * 2, "noise_std": noise.noise_std, "clip": noise.clip, "norm": Norm.L1}
    rule = NewtonRule.of(public, objective, start=start, **shape)
    found = unshrunk(rule, ask_everybody(rule, samples, objective, noise, generator))
    best = minimise_freely(objective.loss, 1e-12, public)
    twin = best + found.sandwich.inverse @ np.linalg.solve(found.sandwich.response, found.theta - best)
    assert np.abs(found.theta - TRUTH - apart).max() < 0.01
    assert np.abs(twin - TRUTH - apart).max() > 0.015


def test_rare_labels_leave_no_interval():
    few = too_few(Sample.of_rows(np.ones((5000, P)), np.where(np.arange(5000) < 119, 1.0, -1.0)), choose("logistic"))
    assert "119 public rows with the rarer label" in few
    assert (
        too_few(Sample.of_rows(np.ones((5000, P)), np.where(np.arange(5000) < 120, 1.0, -1.0)), choose("logistic"))
        == ""
    )


def test_columns_that_public_rows_do_not_tell_apart_have_no_interval():
    generator, objective = np.random.default_rng(5), objective_of("squared")
    sample = population(400, generator)
    twice = Sample.of_rows(np.hstack([sample.columns.T, sample.columns.T[:, :1]]) / 2, sample.targets)
    rule = NewtonRule.of(twice, objective, records=[400], noise_std=[0.01], clip=10.0, norm=Norm.L1)
    noise = NoiseModel((0.01,), 10.0, Norm.L1, twice)
    assert unshrunk(rule, ask_everybody(rule, [twice], objective, noise, generator)).none == FLAT


def test_foreseen_power_is_that_of_trainings_and_not_without_noise():
    found, truth = trainings("squared", 1.0, 0.0, 100), truth_of("squared")
    public = population(ROWS, np.random.default_rng(77))
    start, noise = plan(public, objective_of("squared"), 1.0)
    variances = np.asarray(noise.noise_std) ** 2

    def apart(noise_of):
        ahead = Ahead(public, choose("squared"), start, noise.clip, Norm.L1, (RECORDS,) * OWNERS, noise_of)
        errors, gaps = ahead.errors(np.eye(P)), []
        for size in (1.0, 2.0, 3.0):
            effects = [size * each.standard_error for each in ahead_errors]
            hits = [
                abs(one.estimate - true + effect) > (one.high - one.low) / 2
                for coefficients, _ in found
                for one, true, effect in zip(coefficients, truth, effects, strict=True)
                if one.low is not None
            ]
            foreseen = np.mean([each.power(effect) for each, effect in zip(errors, effects, strict=True)])
            gaps.append(abs(float(foreseen) - float(np.mean(hits))))
        return max(gaps)

    whole = Ahead(public, choose("squared"), start, noise.clip, Norm.L1, (RECORDS,) * OWNERS, variances)
    ahead_errors = whole.errors(np.eye(P))
    assert apart(variances) < 0.05 + 0.03
    assert apart(0 * variances) > 0.15
