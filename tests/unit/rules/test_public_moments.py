"""Moments of public rows: what they are said to be, and in memory that long models leave room for."""

import tracemalloc

import numpy as np
import pytest

from copriv.forecast.newton import NewtonForecast
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.rules import unevenness
from copriv.rules.left_out import clipped_gradients
from copriv.rules.newton import NewtonRule
from copriv.rules.public_moments import PublicMoments
from copriv.rules.unevenness import Unevenness
from copriv.vectors import Norm

LOSSES = {"squared": 0.0, "huber": 0.25, "logistic": 0.0}


def population(records, parameters, seed=0, *, signs=False):
    """Bounded records with heavy-tailed residuals, and columns of unequal variance."""
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(records, parameters)) * np.geomspace(1, 0.2, parameters) / np.sqrt(parameters)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    margins = rows @ np.linspace(-0.6, 0.7, parameters) + 0.1 * chance.standard_t(3, size=records)
    return Sample.of_rows(rows, np.where(margins > 0, 1.0, -1.0) if signs else np.clip(margins, -1, 1))


def by_definition(public, objective, clip, norm):
    """Unexplained, staleness and blunting, written down from their definitions with all p³ numbers."""
    theta = minimise(objective, public)
    hessian = objective.curvature(public, theta)
    full, clipped, spared = clipped_gradients(public, objective, (theta, hessian), clip, norm)
    everything, across = np.cov(full, bias=True), np.cov(full, clipped, bias=True)
    size = theta.size
    within, across = across[size:, size:], across[:size, size:]
    spread, basis = np.linalg.eigh(within)
    seen = public.columns * spared
    tensor = np.stack([(public.columns * (u @ seen) ** 2) @ public.columns.T / public.records for u in basis.T])
    wander = np.linalg.inv(hessian) @ everything @ np.linalg.inv(hessian)
    price = np.diag(basis.T @ np.linalg.inv(hessian) @ basis) / 2
    lost = (hessian - seen @ public.columns.T / public.records) @ np.linalg.inv(hessian)
    return {
        "unexplained": np.trace(np.linalg.solve(hessian, everything - across @ np.linalg.inv(within) @ across.T)) / 2,
        "staleness": sum(price * np.trace(tensor @ wander, axis1=1, axis2=2)),
        "blunting": np.trace(np.linalg.solve(hessian, lost @ everything @ lost.T)) / 2,
        "spread": spread,
    }, tensor


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("quantile", [0.7, 0.97])
def test_moments_are_as_defined(name, quantile):
    public = population(400, 6, signs=name == "logistic")
    objective = Objective(choose(name, LOSSES[name]), 1e-3, 50.0)
    theta = minimise(objective, public)
    lengths = np.abs(clipped_gradients(public, objective, (theta, objective.curvature(public, theta)), 1, Norm.L1)[0])
    clip = float(np.quantile(lengths.sum(axis=0), quantile))
    expected, tensor = by_definition(public, objective, clip, Norm.L1)
    found = PublicMoments.of(public, objective, clip, Norm.L1)
    for what, value in expected.items():
        assert getattr(found, what) == pytest.approx(value, rel=1e-7), what
    other, _ = by_definition(public, objective, 1.1 * clip, Norm.L1)
    assert found.staleness != pytest.approx(other["staleness"], rel=1e-4)
    ways = np.random.default_rng(1).normal(size=(3, 6))
    direct = np.einsum("ka,jab,kb->kj", ways, tensor, ways)
    assert Unevenness.of(public, found.spared, found.basis).variances(ways) == pytest.approx(direct, rel=1e-7)


@pytest.mark.parametrize("short", [0, 100])
def test_unevenness_is_the_same_with_and_without_a_tensor(short, monkeypatch):
    public = population(300, 8)
    basis = np.linalg.qr(np.random.default_rng(2).normal(size=(8, 8)))[0]
    bends = np.random.default_rng(3).uniform(0, 2, size=300)
    ways = np.random.default_rng(4).normal(size=(5, 8))
    monkeypatch.setattr(unevenness, "_SHORT", short)
    found = Unevenness.of(public, bends, basis)
    assert found.weights.ndim == (3 if short else 2)
    changes = np.stack([(basis.T @ (public.columns * bends)) * (way @ public.columns) for way in ways])
    assert found.variances(ways) == pytest.approx(np.mean(changes**2, axis=2))
    assert found.variances(ways) != pytest.approx(np.var(changes, axis=2), rel=1e-3)


def peak(work):
    """The most bytes held at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("tensor", [False, True], ids=["as it is", "with a tensor"])
def test_planning_and_training_of_long_models_hold_no_cube_of_numbers(tensor, monkeypatch):
    parameters, clip = 160, 0.6
    public = population(400, parameters)
    objective = Objective(choose("squared"), 1e-3, 50.0)
    start = minimise(objective, public)
    if tensor:
        monkeypatch.setattr(unevenness, "_SHORT", 10_000)

    def work():
        NewtonForecast.of(public, objective, Norm.L1, start).best([1000] * 3, {1: [1e-3] * 3})
        options = {"records": [1000] * 3, "noise_std": [1e-3] * 3, "clip": clip, "norm": Norm.L1, "start": start}
        rule = NewtonRule.of(public, objective, **options)
        rule.absorb(rule.begin(), 0, np.full(parameters, 1e-3))

    assert (peak(work) < 8 * parameters**3) is not tensor
