"""Axes along which gradients are told: what they are chosen for, and what the rule makes of answers along them.

Seeds are fixed, so nothing here fails by chance.
"""

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import special_ortho_group
from tests.shifted import (
    CLIP,
    MIXED,
    OBJECTIVE,
    P,
    cost,
    noise_model,
    objective,
    population,
    rule_for,
    strangers,
    train,
)

from copriv.losses.optimum import minimise
from copriv.losses.passes import record_slopes
from copriv.losses.people import People
from copriv.losses.sample import Sample
from copriv.losses.turned import require_axes, turn, turned_model
from copriv.protocol.commitment import told_gradient
from copriv.rules import axes as axes_module
from copriv.rules.axes import choose_axes
from copriv.rules.geometry import PublicGeometry
from copriv.rules.relabelled import relabelled
from copriv.rules.room import room_at
from copriv.vectors import Norm

# Public rows whose gradients are long in L1 along the features, and short along some sums of them.
TURN = special_ortho_group.rvs(P, random_state=3)
GENERAL = tuple(map(tuple, (0.3 * (np.eye(P) + 0.4 * np.random.default_rng(5).normal(size=(P, P)))).tolist()))


def crooked(records, seed, **changes):
    """Rows of which one direction is much longer than the others and goes through all features."""
    plain = population(records, seed, **changes)
    stretched = np.array([1.0, 0.2, 0.2, 0.2])[:, None] * plain.columns
    return plain.with_columns(np.ascontiguousarray(TURN @ stretched))


def price(sample, axes, of=OBJECTIVE):
    """E‖Tg‖₁² · tr A⁻¹(TᵀT)⁻¹ of these rows, at the model of their own."""
    theta, along = minimise(of, sample), np.asarray(axes) if axes else np.eye(P)
    gradients = along @ (sample.columns * record_slopes(of.loss, sample, theta))
    back = np.linalg.inv(along.T @ along)
    return np.mean(np.abs(gradients).sum(axis=0) ** 2) * np.trace(np.linalg.inv(of.curvature(sample, theta)) @ back)


def chosen(sample, of=OBJECTIVE, norm=Norm.L1):
    return choose_axes(sample, of, norm, minimise(of, sample))


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_gradients_are_shorter_beside_what_noise_costs(loss):
    """On rows that were not looked at, too."""
    of, public, others = objective(loss), crooked(4000, 0, loss=loss), crooked(4000, 1, loss=loss)
    axes = chosen(public, of)
    require_axes(axes, P)
    assert price(public, axes, of) < 0.8 * price(public, (), of)
    assert price(others, axes, of) < 0.8 * price(others, (), of)


def test_a_price_does_not_change_if_axes_are_scaled():
    public = crooked(1000, 0)
    axes = chosen(public)
    half = tuple(tuple(0.5 * entry for entry in axis) for axis in axes)
    assert price(public, half) == pytest.approx(price(public, axes))


def test_its_derivative_is_that_of_the_cost():
    gradients, weights = axes_module._gradients(crooked(300, 0), OBJECTIVE, np.zeros(P))
    inverse, here = np.diag([1.0, 2.0, 3.0, 4.0]), np.asarray(GENERAL)
    value, slope = axes_module._cost(here, gradients, weights, inverse, 1e-8)
    for place in np.ndindex(P, P):
        moved = here.copy()
        moved[place] += 1e-6
        difference = (axes_module._cost(moved, gradients, weights, inverse, 1e-8)[0] - value) / 1e-6
        assert difference == pytest.approx(slope[place], rel=1e-3, abs=1e-4)


def moved_far(sample, feature):
    """Rows three deviations up along one feature, no longer than 1."""
    columns = sample.columns.copy()
    columns[feature] += 3 * columns[feature].std()
    return sample.with_columns(columns / np.maximum(np.linalg.norm(columns, axis=0), 1))


def lengths(sample, axes, theta):
    along = np.asarray(axes) if axes else np.eye(P)
    return np.mean(np.abs(along @ (sample.columns * record_slopes(OBJECTIVE.loss, sample, theta))).sum(axis=0) ** 2)


def test_a_shift_along_a_feature_makes_gradients_hardly_longer(monkeypatch):
    """Beside what noise costs; the twin that thinks of no shift is off by more."""
    public = crooked(4000, 0)
    theta = minimise(OBJECTIVE, public)

    def worst():
        axes = chosen(public)
        scale = price(public, axes) / lengths(public, axes, theta)
        return max(scale * lengths(moved_far(public, feature), axes, theta) for feature in range(P))

    careful = worst()
    axes_module._chosen.cache_clear()
    monkeypatch.setattr(axes_module, "_MOVED", 1e-9)
    careless = worst()
    axes_module._chosen.cache_clear()
    assert careful < 0.97 * careless


def test_who_has_no_axes():
    public = crooked(1000, 0)
    assert chosen(public, norm=Norm.L2) == ()
    assert chosen(crooked(79, 0)) == ()
    assert chosen(crooked(80, 0)) != ()
    people = People(np.arange(0, 1001, 2), np.full(1000, 0.5))
    assert chosen(Sample(public.columns, public.targets, people)) == ()
    nothing = public.with_columns(np.zeros_like(public.columns))
    assert choose_axes(nothing, OBJECTIVE, Norm.L1, np.zeros(P)) == ()


def test_the_same_rows_have_the_same_axes_and_short_numbers():
    one, other = (chosen(crooked(1000, 0)) for _ in range(2))
    assert one == other
    assert all(len(f"{entry:.6g}") >= len(f"{entry!r}") - 1 for axis in one for entry in axis)


@pytest.mark.parametrize("norm", list(Norm))
def test_noise_along_axes_has_the_covariance_that_is_said(norm):
    geometry = PublicGeometry.of(population(3000, 0), OBJECTIVE, CLIP, norm, axes=GENERAL)
    noise = np.random.default_rng(2).normal(size=(60_000, P)) @ np.linalg.inv(np.asarray(GENERAL)).T @ geometry.whiten
    np.testing.assert_allclose(
        np.cov(noise.T), geometry.noise_covariance, rtol=0.05, atol=0.05 * np.max(geometry.noise_covariance)
    )
    np.testing.assert_allclose(noise.var(axis=0) * geometry.values, 1, rtol=0.05)
    np.testing.assert_allclose(geometry.heard @ geometry.unheard, np.eye(P), atol=1e-12)


def test_without_axes_the_coordinates_are_those_of_before():
    public = population(3000, 0)
    plain = PublicGeometry.of(public, OBJECTIVE, CLIP, Norm.L1)
    same = PublicGeometry.of(public, OBJECTIVE, CLIP / 2, Norm.L1, axes=tuple(map(tuple, (0.5 * np.eye(P)).tolist())))
    for name in ("whiten", "unwhiten", "spread", "restoring", "clipping_bias", "unevenness", "lift", "curvature"):
        np.testing.assert_allclose(getattr(same, name), getattr(plain, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(same.noise_covariance, 4 * plain.noise_covariance, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(plain.noise_covariance, np.diag(1 / plain.values), rtol=1e-9, atol=1e-9)


def test_deviations_along_axes_are_those_of_gradients_where_nothing_is_clipped():
    public, others = population(3000, 0), population(2000, 1, mixing=MIXED)
    plain, turned = (PublicGeometry.of(public, OBJECTIVE, 1e3, Norm.L1, axes=axes) for axes in ((), GENERAL))
    theta = plain.start + 0.1
    told = [g.deviations(theta, g.told_by(others, theta)[None]) for g in (plain, turned)]
    np.testing.assert_allclose(told[1], told[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(turned.taken(theta), 0, atol=1e-12)


def test_what_fills_gradients_along_axes_is_read_as_the_same_hessian():
    public, others = population(4000, 0), population(4000, 1, mixing=MIXED)
    geometry = PublicGeometry.of(public, OBJECTIVE, 1e3, Norm.L1, axes=GENERAL)
    fill = 0.1
    values = told_gradient(OBJECTIVE.loss, others, geometry.start, (1e3, fill, GENERAL), Norm.L1)
    packed = values[P:] / fill
    moments = np.zeros((P, P))
    moments[np.diag_indices(P)] = packed[:P]
    moments[np.triu_indices(P, 1)] = packed[P:]
    moments += np.triu(moments, 1).T
    np.testing.assert_allclose(moments, turn(others, GENERAL).columns @ turn(others, GENERAL).columns.T / 4000)
    found = room_at(geometry, geometry.start, fill).change(moments)
    true = geometry.whiten.T @ OBJECTIVE.curvature(others, geometry.start) @ geometry.whiten - np.eye(P)
    np.testing.assert_allclose(found, true, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("fill", [0.0, 0.2])
def test_nearly_exact_answers_lead_to_the_same_model_along_any_axes(fill):
    public, samples = population(3000, 0), strangers(6, 2000)
    for axes in ((), GENERAL):
        rule = rule_for(public, samples, noise_model(6, 1e-7, clip=50.0, fill=fill, axes=axes))
        state, _ = train(rule, samples)
        assert cost(rule.model(state), samples) < 1e-6
        assert rule.axes == axes


def test_a_learner_that_forgets_the_axes_is_off():
    """The twin reads answers along axes as if they were along the features."""
    public, samples = population(3000, 0), strangers(6, 2000)
    honest = rule_for(public, samples, noise_model(6, 1e-6, clip=50.0, axes=GENERAL))
    state, _ = train(honest, samples)
    twin = rule_for(public, samples, noise_model(6, 1e-6, clip=50.0))
    assert cost(honest.model(state), samples) < 1e-6
    assert cost(twin.model(state), samples) > 5e-5


def test_alike_owners_cost_less_along_axes_that_are_chosen():
    """Noise for the same share of gradients that are cut; 24 runs each, the same seeds."""
    public, samples = crooked(4000, 0), [crooked(2000, 10 + i) for i in range(6)]
    theta, found = minimise(OBJECTIVE, public), {}
    for axes in ((), chosen(public)):
        told = turn(public, axes)
        slopes = record_slopes(OBJECTIVE.loss, told, turned_model(theta, axes))
        clip = float(np.quantile(np.abs(told.columns * slopes).sum(axis=0), 0.95))
        rule = rule_for(public, samples, noise_model(6, 0.02 * clip, clip=clip, axes=axes))
        runs = [cost(rule.model(train(rule, samples, seed)[0]), samples) for seed in range(24)]
        found[bool(axes)] = np.mean(runs)
    assert found[True] < 0.9 * found[False]


def test_labels_that_are_told_first_change_rows_along_axes_as_well():
    of = objective("logistic", regularization=1e-3)
    public, samples = population(4000, 0, loss="logistic"), [population(2000, 9 + i, loss="logistic") for i in range(6)]
    rule = rule_for(public, samples, noise_model(6, 1e-3, positives=1e-3, axes=GENERAL, clip=0.7), of)
    state, _ = train(rule, samples)
    assert relabelled(rule.setting, state).geometry.axes == GENERAL
    assert cost(rule.model(state), samples, of) < 1e-3


_THREADS = """
import subprocess
import sys

import numpy as np
from threadpoolctl import threadpool_limits
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.rules.axes import choose_axes
from copriv.vectors import Norm

generator = np.random.default_rng(1)
rows = generator.normal(size=(3000, 14)) @ generator.normal(size=(14, 14))
rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
sample = Sample.of_rows(rows, np.clip(rows.sum(axis=1) / 5 + 0.1 * generator.standard_t(3, size=3000), -1, 1))
with threadpool_limits({threads}, user_api="blas"):
    print(choose_axes(sample, Objective(choose("squared"), 1e-5, 50.0), Norm.L1, np.zeros(14)))
"""


def test_axes_are_the_same_however_many_threads_add_up():
    """A run that is resumed plans its study again: other digits would be another study, and what was paid is lost."""
    told = {
        subprocess.run(
            [sys.executable, "-c", _THREADS.format(threads=threads)], capture_output=True, check=True, text=True
        ).stdout
        for threads in (1, 2)
    }
    assert len(told) == 1
    assert len(told.pop()) > 14 * 14 * 6
