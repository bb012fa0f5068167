"""Newton without public rows: second moments first, then gradients, and what that is worth."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.shifted import P, objective, population

from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.privacy.guarantee import Guarantee
from copriv.rules.adaptive_newton import KINDS, SHARES
from copriv.rules.adaptive_questions import MOST_ANSWERS
from copriv.rules.learned_curvature import ROUNDS, LearnedCurvature
from copriv.rules.rule import answer_size
from copriv.rules.setting import NoiseModel
from copriv.simulation.cost import Scene, promised, simulate_rule
from copriv.vectors import Norm

CLIP = 1.0


def scene(loss):
    samples = [population(2000, 7 + i, loss=loss) for i in range(6)]
    return Scene.of(Objective(choose(loss, 0.5), 1e-2 if loss == "logistic" else 1e-5, 10.0), samples, samples[0])


def rule_of(at, protection):
    squares = protection.second_moments
    deviations = tuple(each.noise_std for each in protection.of(at.records, CLIP, 1))
    second = tuple(squares(size).noise_std for size in at.records)
    noise = NoiseModel(deviations, CLIP, protection.norm, None, SHARES, KINDS, second)
    return LearnedCurvature(P, at.objective, at.records, noise)


def costs(at, epsilon, delta=0.0):
    protection = promised(Guarantee.of(epsilon, delta), P)
    rule = rule_of(at, protection)
    states = simulate_rule(rule, at, protection, clip=CLIP, answers=MOST_ANSWERS, runs=6, seed=3)
    return float(np.mean([at.psi(rule.model(state)) for state in states]))


def test_the_rounds_are_of_the_menu_and_come_to_the_whole_budget():
    assert sum(ROUNDS) == 100
    assert set(ROUNDS) <= set(SHARES)
    assert len(ROUNDS) <= MOST_ANSWERS


@pytest.mark.parametrize("loss", ["logistic", "huber", "squared"])
def test_more_budget_helps_and_a_large_one_beats_training_alone(loss):
    at = scene(loss)
    nothing = at.psi(np.zeros(P))
    alone = float(np.median([at.psi(minimise(at.objective, sample)) for sample in at.samples]))
    found = [costs(at, epsilon) for epsilon in (0.1, 1.0, 100.0)]
    assert found[2] < found[1] < found[0] < 1.05 * nothing
    assert found[2] < alone
    assert costs(at, 1.0, 1e-6) < nothing


def test_without_its_second_moments_it_is_far_worse(monkeypatch):
    at = scene("logistic")
    known = costs(at, 100.0)
    flat = lambda rule, _told: (np.full(P, rule.objective.loss.curvature_bound), np.eye(P))  # noqa: E731
    monkeypatch.setattr(LearnedCurvature, "_curvature", flat)
    assert costs(at, 100.0) > 3 * known


def test_owners_are_asked_for_everything_once_in_any_order_and_nothing_is_forgotten():
    rule = rule_of(scene("logistic"), promised(Guarantee.of(1.0), P))
    stream, state, spent = np.random.default_rng(0), rule.begin(), Counter()
    for owner in stream.integers(6, size=200).tolist():
        ask = rule.ask(state, owner)
        if ask is not None:
            spent[owner] += ask.share
            assert not (ask.kind == "second_moments" and ask.theta.any())
            state = rule.learn(state, owner, 0.1 * stream.normal(size=answer_size(ask.kind, P)), ask)
    assert spent == dict.fromkeys(range(6), 100)
    again = rule.unpack(rule.pack(state))
    assert np.array_equal(rule.model(again), rule.model(state))


@pytest.mark.parametrize("wild", [np.nan, np.inf, -1e308, 0.0])
def test_the_model_stays_in_the_box_whatever_is_answered(wild):
    at = scene("logistic")
    rule = rule_of(at, promised(Guarantee.of(1.0), P))
    for norm in Norm:
        tried = replace(rule, noise=replace(rule.noise, norm=norm))
        state = tried.begin()
        for owner in list(range(6)) * MOST_ANSWERS:
            ask = tried.ask(state, owner)
            state = tried.learn(state, owner, np.full(answer_size(ask.kind, P), wild), ask)
        assert np.all(np.abs(tried.model(state)) <= at.objective.limit)


def test_one_stranger_with_few_records_does_not_end_a_round():
    samples = [population(2000, 1, loss="logistic"), population(100, 2, loss="logistic")]
    at = Scene.of(objective("logistic", regularization=1e-3), samples, Sample.join(samples))
    rule = rule_of(at, promised(Guarantee.of(1.0), P))
    state = rule.begin()
    for owner in (0, 1, 0, 1):
        ask = rule.ask(state, owner)
        state = rule.learn(state, owner, np.full(answer_size(ask.kind, P), 0.1), ask)
    after = rule.model(state)
    ask = rule.ask(state, 1)
    state = rule.learn(state, 1, np.full(P, 9.0), ask)
    assert np.array_equal(rule.model(state), after)
