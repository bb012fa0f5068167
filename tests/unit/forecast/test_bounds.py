"""Theorem 2 against what it bounds: above the exact value where its assumptions hold, and made of the right parts."""

import math
from dataclasses import replace

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.forecast import bounds
from copriv.forecast.bounds import Setting
from copriv.forecast.moments import paper_moments
from copriv.losses.quadratic import SufficientStatistics
from copriv.rules.paper import PaperRule, step_from_rho

P, LIMIT, RECORDS = 3, 1.0, 600


def make_setting(owners=3, epsilon=5.0, horizon=400, rho=4000.0, regularization=0.5):
    gradient = 2 * (LIMIT * math.sqrt(P) + 1)
    regularizer = 2 * regularization * LIMIT * math.sqrt(P)
    return Setting(owners * RECORDS, (epsilon,) * owners, horizon, rho, 2 * regularization, gradient, regularizer)


def exact_distance(setting, meetings):
    """E‖θ_L − θ*‖² of Algorithm 1 under the printed noise, rows within the unit ball."""
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(2000, P))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    targets = np.clip(rows @ [0.5, -0.4, 0.3] + 0.1 * generator.normal(size=2000), -1, 1)
    part = SufficientStatistics(
        2 * rows.T @ rows / 2000, 2 * rows.T @ targets / 2000, float(np.mean(targets**2)), RECORDS
    )
    n = setting.owners
    step = step_from_rho(setting.rho, horizon=setting.horizon, strong_convexity=setting.strong_convexity)
    rule = PaperRule(P, (RECORDS,) * n, (1 / n,) * n, step, setting.strong_convexity / 2, LIMIT)
    scale = 2 * setting.gradient_bound * setting.horizon / (RECORDS * setting.epsilons[0])
    found = paper_moments(rule, [part] * n, [math.sqrt(2) * scale] * n, meetings)
    return found.distance, math.sqrt(2 * P) * scale / n


@pytest.mark.parametrize("owners", [1, 2, 3, 10])
@pytest.mark.parametrize("epsilon", [1.0, 100.0])
@pytest.mark.parametrize("rho", [400.0, 4000.0])
def test_the_proofs_bound_holds_once_the_start_has_faded(owners, epsilon, rho):
    setting = make_setting(owners, epsilon, rho=rho)
    meetings = math.ceil(12 * owners / setting.alpha)
    assert bounds.what_is_left(setting, meetings) < 1e-5
    distance, length = exact_distance(setting, meetings)
    assert distance[-1] <= bounds.proof_bound(setting, [length] * owners)


def test_before_the_start_has_faded_it_is_false():
    setting = make_setting(rho=1e-6)
    distance, length = exact_distance(setting, setting.horizon)
    assert distance[-1] > bounds.proof_bound(setting, [length] * 3)
    assert bounds.what_is_left(setting, setting.horizon) > 0.99


def quotient(setting):
    """ε/(1 − q) and 2α_max C ε_net/(1 − q) of eqs. (12) to (14), before anything is simplified."""
    n, sigma, whole = setting.owners, setting.strong_convexity, setting.whole_bound
    eta, learner = 1 / (2 * n), setting.alpha / sigma
    owner = n * learner
    spread = learner**2 + np.mean([owner**2 * (1 + nu / whole) ** 2 for nu in setting.noise_lengths])
    # E[W] itself: the learner is the last row, and everyone is met equally often.
    average = np.eye(n + 1)
    for i in range(n):
        edge = np.zeros(n + 1)
        edge[i], edge[n] = 1, -1
        average -= np.outer(edge, edge) / (2 * n)
    lam = np.sort(np.linalg.eigvalsh(average))[-2]
    network = whole * math.sqrt(n + 1) / (1 - math.sqrt(max(lam, 0.0))) * math.sqrt(spread)
    fade = 2 / n * min(learner * (1 - eta * n) * sigma, owner * eta * sigma)
    return whole**2 * spread / fade, 2 * owner * whole * network / fade


@pytest.mark.parametrize("owners", [1, 2, 3, 10, 50])
def test_the_constants_are_those_of_the_proof(owners):
    setting = make_setting(owners)
    linear, root = quotient(setting)
    assert bounds.proof_bound(setting) == pytest.approx(linear + root, rel=1e-6)
    total = linear / (setting.alpha * bounds.first_constant(setting))
    assert root == pytest.approx(setting.alpha * bounds.second_constant(setting) * math.sqrt(total), rel=1e-6)


def test_exchanged_constants_are_caught(monkeypatch):
    setting = make_setting()
    first, second = bounds.first_constant(setting), bounds.second_constant(setting)
    monkeypatch.setattr(bounds, "first_constant", lambda _: second)
    monkeypatch.setattr(bounds, "second_constant", lambda _: first)
    linear, root = quotient(setting)
    assert bounds.proof_bound(setting) != pytest.approx(linear + root, rel=0.5)


def test_the_statement_is_looser_than_its_proof():
    for horizon in (10, 1000, 100_000):
        setting = make_setting(horizon=horizon)
        assert bounds.proof_bound(setting) <= bounds.proof_bound_in_print(setting) <= bounds.printed_bound(setting)


def test_limits_are_what_large_horizons_tend_to():
    setting = make_setting(horizon=10**12)
    assert bounds.printed_bound(setting) == pytest.approx(bounds.printed_limit(setting), rel=1e-6)
    assert bounds.proof_bound_in_print(setting) == pytest.approx(bounds.proof_limit(setting), rel=1e-6)
    wider = replace(setting, epsilons=(10.0,) * 3)
    assert bounds.proof_limit(wider) == pytest.approx(bounds.proof_limit(setting) / 4)


def test_the_fitness_follows_from_the_distance():
    assert bounds.fitness_bound(0.5, 3.0) == 0.75


@pytest.mark.parametrize("change", [{"rho": 0.0}, {"epsilons": ()}, {"epsilons": (1.0, math.nan)}, {"records": -1}])
def test_what_makes_no_sense_is_refused(change):
    with pytest.raises(BadInput):
        replace(make_setting(), **change)


def test_lengths_for_other_owners_are_refused():
    with pytest.raises(BadInput):
        bounds.proof_bound(make_setting(), [1.0])
