"""Coefficients by gradients that were told along other axes: what they are along the features, and what noise costs.

All seeds are fixed, so nothing flickers. With other seeds a test of coverage or of variances may fail: its margin is at
least 3 standard errors.
"""

import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from copriv.forecast.one_step import PublicSandwich, one_step, unshrunk
from copriv.forecast.setting import Setting
from copriv.forecast.told_gradients import ToldGradients, told_gradients
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise, minimise_freely
from copriv.losses.passes import gradient_norms, record_slopes
from copriv.losses.sample import Sample
from copriv.losses.turned import require_axes, turn
from copriv.planning.power import Ahead
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import told_gradient
from copriv.protocol.plain_terms import plain_terms
from copriv.report.inference import pooled_coefficients
from copriv.rules.adaptive_newton import KINDS, SHARES, AdaptiveNewton
from copriv.rules.rule import learn_from, next_ask
from copriv.rules.setting import NoiseModel
from copriv.vectors import Norm

P, OWNERS, RECORDS, ROWS = 4, 5, 500, 600
TRUTH = np.linspace(-0.6, 0.7, P)
# Far from a rotation, and not symmetric: what is transposed or inverted once too often is seen.
AXES = ((0.45, 0.2, -0.1, 0.05), (-0.05, 0.3, 0.25, 0.1), (0.1, 0.0, 0.3, -0.3), (0.2, -0.15, 0.0, 0.5))
T = np.asarray(AXES)
require_axes(AXES, P)
losses = pytest.mark.parametrize("loss", ["squared", "huber", "logistic"])
norms = pytest.mark.parametrize("norm", list(Norm))


def scaled(factor):
    return tuple(tuple(axis) for axis in (factor * np.eye(P)).tolist())


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
    return Objective(choose(loss, 0.25 if loss == "huber" else 0.0), 1e-5, 50.0)


def clip_at(public, loss, start, norm, axes, quantile):
    return float(np.quantile(gradient_norms(loss, turn(public, axes), np.linalg.solve(T.T, start), norm), quantile))


def told_along(axes, clip, *, loss="squared", norm=Norm.L1, noise=0.0, seed=4, shift=0.0, rows=ROWS, records=RECORDS):
    """Two answers of every owner, near the public model, and what they are compared with."""
    generator, objective = np.random.default_rng(seed), objective_of(loss)
    public = population(rows, generator, loss)
    start = minimise(objective, public)
    samples = [population(records, generator, loss, TRUTH + shift) for _ in range(OWNERS)]
    owners = np.repeat(np.arange(OWNERS), 2)
    places = np.tile(np.stack([start, start + 0.02]), (OWNERS, 1))
    bounds = (clip, 0.0, axes)
    exact = [told_gradient(objective.loss, samples[i], at, bounds, norm) for i, at in zip(owners, places, strict=True)]
    stds = np.full(owners.size, noise)
    sizes = (records,) * OWNERS
    return ToldGradients(
        public, objective, clip, norm, sizes, owners, places, axes, np.stack(exact), stds, start + 0.01, 0.0
    )


def figures(found):
    """Everything that is said of coefficients."""
    effects = np.vstack([np.eye(P), np.ones(P)])
    said = [found.theta, found.each, found.sampling_of(effects), found.public_of(effects), found.pulled, found.public]
    return [*said, found.sandwich.left, found.sandwich.share_taken]


@losses
@norms
@pytest.mark.parametrize("factor", [0.5, 0.3])
def test_along_axes_that_are_only_shorter_nothing_changes(loss, norm, factor):
    """The clip is shorter likewise, and so is the noise: the same numbers, but for rounding."""
    one = one_step(told_along((), 0.3, loss=loss, norm=norm, noise=0.01))
    other = one_step(told_along(scaled(factor), 0.3 * factor, loss=loss, norm=norm, noise=0.01 * factor))
    assert one.sandwich.share_taken > 0.01
    for plain, turned in zip(figures(one), figures(other), strict=True):
        np.testing.assert_allclose(turned, plain, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.noise_of(np.eye(P)) * factor**2, one.noise_of(np.eye(P)), rtol=1e-9)
    np.testing.assert_allclose(other.noise, one.noise * factor**2, rtol=1e-9)
    plain, turned = (
        each.sandwich.model_covariance(500.0, 0.1 * size) for each, size in ((one, 1.0), (other, factor**2))
    )
    np.testing.assert_allclose(turned, plain, rtol=1e-9)


@losses
@norms
def test_without_clip_and_noise_the_axes_do_not_matter(loss, norm):
    one, other = (one_step(told_along(axes, 1e3, loss=loss, norm=norm)) for axes in ((), AXES))
    for plain, turned in zip(figures(one), figures(other), strict=True):
        np.testing.assert_allclose(turned, plain, rtol=1e-8, atol=1e-11)
    assert other.sandwich.left == pytest.approx(1.0)
    assert other.sandwich.share_taken == 0.0


@losses
@norms
def test_the_response_is_how_models_differ_whose_told_gradients_do(loss, norm):
    """By differences of what the public rows would tell, under a clip that bites; the clip's edge blurs few rows."""
    generator, objective = np.random.default_rng(6), objective_of(loss)
    public = population(40_000, generator, loss)
    theta = minimise(objective, public)
    clip = clip_at(public, objective.loss, theta, norm, AXES, 0.7)
    sandwich = PublicSandwich.of(public, objective.loss, theta, clip, norm, AXES)
    for direction in np.eye(P):
        moved = [
            told_gradient(objective.loss, public, theta + step * direction, (clip, 0.0, AXES), norm)
            for step in (-0.02, 0.02)
        ]
        np.testing.assert_allclose(sandwich.response @ (moved[1] - moved[0]) / 0.04, direction, atol=0.05)
    assert sandwich.left < 0.9


@norms
def test_the_parts_of_the_sandwich_are_what_numpy_says(norm):
    generator, objective = np.random.default_rng(7), objective_of("squared")
    public = population(900, generator)
    theta = minimise(objective, public)
    clip = clip_at(public, objective.loss, theta, norm, AXES, 0.8)
    sandwich = PublicSandwich.of(public, objective.loss, theta, clip, norm, AXES)
    full = public.columns * record_slopes(objective.loss, public, theta)
    lengths = np.linalg.norm(T @ full, ord=norm.value, axis=0)
    clipped = T @ full * np.minimum(1, clip / lengths)
    free = 900 / (900 - P)

    def varies(values):
        return np.cov(values, bias=True) * free

    taken = full - np.linalg.inv(T) @ clipped
    hessian = 2 * public.columns @ public.columns.T / 900
    inside = public.columns[:, lengths <= clip]
    response = np.linalg.inv(T @ (2 * inside @ inside.T / 900))
    expected = {
        "inverse": np.linalg.inv(hessian),
        "response": response,
        "clipped": varies(clipped),
        "taken": varies(taken),
        "full": varies(full),
        "unseen": varies(np.linalg.inv(hessian) @ full - response @ clipped),
        "back": np.linalg.inv(T),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(sandwich, name), values, rtol=1e-8, atol=1e-10, err_msg=name)
    noisy = sandwich.model_covariance(math.inf, 0.3)
    draws = np.linalg.inv(hessian) @ np.linalg.inv(T) @ generator.normal(scale=0.3**0.5, size=(P, 40_000))
    np.testing.assert_allclose(noisy, np.cov(draws), rtol=0.1, atol=0.05 * noisy.max())


def with_noise(found, noise):
    """The estimates if the told numbers have this noise as well: they are linear in them."""
    own = found.each - noise.reshape(OWNERS, 2, P).mean(axis=1) @ found.sandwich.response.T
    return found.weights @ own, own


@losses
@norms
def test_the_variance_by_noise_is_that_of_a_simulation(loss, norm):
    """2,000 draws of the noise on the told numbers. A twin that takes it for noise along the features is caught."""
    generator, objective = np.random.default_rng(8), objective_of(loss)
    start = minimise(objective, population(ROWS, np.random.default_rng(4), loss))
    public = population(ROWS, np.random.default_rng(4), loss)
    clip = clip_at(public, objective.loss, start, norm, AXES, 0.9)
    told = told_along(AXES, clip, loss=loss, norm=norm, noise=0.02)
    effects = np.vstack([np.eye(P), [1.0, -1.0, 0.5, 0.0]])
    found, drawn, each = one_step(told), [], []
    noises = generator.laplace(scale=0.02 / 2**0.5, size=(2_000, *told.values.shape))
    again, (theta, own) = one_step(replace(told, values=told.values + noises[0])), with_noise(found, noises[0])
    np.testing.assert_allclose(again.theta, theta, rtol=1e-9)
    np.testing.assert_allclose(again.each, own, rtol=1e-9)
    for noise in noises:
        theta, own = with_noise(found, noise)
        drawn.append(effects @ (theta - found.theta))
        each.append((own - found.each) @ effects.T)
    weights = found.weights
    expected = found.noise_of(effects) * float(weights**2 @ found.noise)
    # Of 2,000 draws a variance is known to 3 deviations of 3.5 %, a little more with the tails of Laplace.
    np.testing.assert_allclose(np.var(drawn, axis=0), expected, rtol=0.12)
    own = np.outer(found.noise, found.noise_of(effects))
    np.testing.assert_allclose(np.var(each, axis=0), own, rtol=0.2)
    response = found.sandwich.response @ T
    twin = np.sum((effects @ response) ** 2, axis=1) * float(weights**2 @ found.noise)
    assert np.max(np.abs(twin / np.var(drawn, axis=0) - 1)) > 0.4


def test_models_that_differ_are_found_where_they_are():
    """Under a clip that bites, along axes. Twins read the answers along the features, or turned the wrong way."""
    many, apart, objective = 20_000, 0.05, objective_of("squared")
    public = population(many, np.random.default_rng(4))
    clip = clip_at(public, objective.loss, minimise(objective, public), Norm.L1, AXES, 0.6)
    told = told_along(AXES, clip, shift=apart, rows=many, records=many)
    found = one_step(told)
    assert np.abs(found.theta - TRUTH - apart).max() < 0.01
    assert found.sandwich.share_taken > 0.02
    best = minimise_freely(objective.loss, 1e-12, public)
    away = np.linalg.solve(found.sandwich.response, found.theta - best)
    for twin in (found.sandwich.response @ T, found.sandwich.response.T, found.sandwich.inverse @ found.sandwich.back):
        assert np.abs(best + twin @ away - TRUTH - apart).max() > 0.015


def test_the_weights_of_answers_count_noise_along_the_axes():
    """An answer that was asked for further off counts less, unless noise is more: as it is along the axes.

    Of axes that are only shorter the same noise is more. A twin that takes it for noise along the features is caught.
    """
    found = []
    for axes, clip, noise in (((), 0.3, 1e-4), (scaled(0.3), 0.09, 3e-5), (scaled(0.3), 0.09, 1e-4)):
        told = told_along(axes, clip, loss="logistic", noise=noise)
        found.append(one_step(replace(told, near=told.places[0])).each)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)
    assert np.abs(found[2] - found[0]).max() > 1e-4


def train(seed, epsilon, axes=AXES):
    """One training by public Newton with a menu whose gradients are told along axes."""
    generator, objective = np.random.default_rng(seed), objective_of("squared")
    public = population(ROWS, generator)
    samples = [population(RECORDS, generator) for _ in range(OWNERS)]
    start = minimise(objective, public)
    clip = clip_at(public, objective.loss, start, Norm.L1, axes, 0.95)
    stds = (math.sqrt(2) * 2 * clip / (RECORDS * epsilon),) * OWNERS
    menu = NoiseModel(stds, clip, Norm.L1, public, SHARES, KINDS[:1], axes=axes)
    rule = AdaptiveNewton.of(public, objective, records=[RECORDS] * OWNERS, noise=menu, start=start)
    state = rule.begin()
    for owner in list(range(OWNERS)) * 4:
        if (ask := next_ask(rule, state, owner)) is not None:
            exact = told_gradient(objective.loss, samples[owner], ask.theta, (clip, 0.0, axes), Norm.L1)
            noise = generator.laplace(scale=menu.std_of(owner, ask) / math.sqrt(2), size=P)
            state = learn_from(rule, state, owner, exact + noise, ask)
    return rule, state, public


def test_a_rule_says_along_which_axes_its_answers_were_told():
    rule, state, public = train(1, epsilon=200.0)
    told = told_gradients(rule, state)
    assert told.axes == AXES
    assert set(told.owners.tolist()) == set(range(OWNERS))
    bounds = (told.clip, 0.0, AXES)
    expected = told_gradient(choose("squared"), public, told.places[0], bounds, Norm.L1)
    assert np.linalg.norm(told.values[0] - expected) < 0.05
    found = unshrunk(rule, state)
    assert found.none == ""
    assert np.abs(found.theta - TRUTH).max() < 0.06


def test_intervals_hold_and_would_not_without_noise():
    """40 trainings of 4 coefficients: 95 % of the intervals hold the truth, but for 3 standard errors and a point."""
    truth = minimise_freely(choose("squared"), 1e-10, population(150_000, np.random.default_rng(10**6)))
    held, without = [], []
    for seed in range(40):
        rule, state, _ = train(seed, epsilon=1.0)
        found = unshrunk(rule, state)
        if found.none:
            continue
        for one, true in zip(pooled_coefficients(found, np.eye(P), np.zeros(P), list("abcd")), truth, strict=True):
            half = (one.high - one.low) / 2
            held.append(abs(one.estimate - true) <= half)
            less = math.sqrt(max(1 - (one.privacy / one.standard_error) ** 2, 0))
            without.append(abs(one.estimate - true) <= half * less)
    assert len(held) > 0.75 * 40 * P
    margin = 3 * math.sqrt(0.05 * 0.95 / (len(held) / 2)) + 0.01
    assert 0.95 - margin < np.mean(held) < 0.97 + margin
    assert np.mean(without) < 0.9


def test_errors_that_are_planned_are_along_the_axes():
    """Those of the estimate, with what follows from the same noise; and a plan takes its axes from the terms."""
    objective = objective_of("squared")
    public = population(ROWS, np.random.default_rng(4))
    start = minimise(objective, public)
    clip = clip_at(public, objective.loss, start, Norm.L1, AXES, 0.9)
    found = one_step(replace(told_along(AXES, clip, noise=0.02), near=start))
    noise = np.full(OWNERS, 0.02**2 / 2)
    ahead = Ahead(public, objective.loss, start, clip, Norm.L1, (RECORDS,) * OWNERS, noise, AXES)
    along_features = replace(ahead, axes=())
    expected = found.noise_of(np.eye(P)) * float(found.weights**2 @ found.noise)
    planned, twin = ([each.privacy for each in one.errors(np.eye(P))] for one in (ahead, along_features))
    np.testing.assert_allclose(planned, expected, rtol=1e-9)
    assert np.max(np.abs(np.array(twin) / expected - 1)) > 0.4
    sampling = [each.sampling for each in ahead.errors(np.eye(P))]
    np.testing.assert_allclose(sampling, found.sampling_of(np.eye(P)) / (RECORDS * OWNERS), rtol=1e-9)
    shorter = replace(ahead, axes=scaled(0.4), clip=0.12, noise=0.16 * noise)
    plain = replace(ahead, axes=(), clip=0.3)
    one, other = ([each.standard_error for each in some.errors(np.eye(P), 0.5)] for some in (plain, shorter))
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_plan_takes_its_axes_from_the_terms():
    public = population(ROWS, np.random.default_rng(4))
    terms = plain_terms(rule="newton", shares=(20, 100), kinds=("gradient",), axes=AXES)
    for wanted in (terms, msgspec.structs.replace(terms, axes=())):
        setting = Setting(wanted, (RECORDS,) * OWNERS, (Guarantee.of(1),) * OWNERS, (3,) * OWNERS)
        ahead = Ahead.of(setting, public, np.zeros(P))
        assert ahead.axes == wanted.axes
        assert ahead.clip == setting.clip
        assert (np.abs(ahead.sandwich.back - np.eye(P)).max() > 0.1) == bool(wanted.axes)
