"""Owners whose noise hides how they differ are asked at one place each, batch after batch, and no budget is split.

Seeds are fixed, so nothing here fails by chance; over others the ratios move by about a fifth.
"""

import math
from collections import Counter

import numpy as np
import pytest
from tests.shifted import TILT, P, cost, noise_model, population, rule_for, strangers, train

from copriv.rules import adaptive_questions
from copriv.rules.adaptive_state import settled
from copriv.rules.hidden_differences import BATCHES
from copriv.vectors import Norm

OWNERS, MUCH = 20, 1e-2
FIRST = math.ceil(OWNERS / BATCHES)


@pytest.fixture(scope="module")
def public():
    return population(2000, 0)


def shifted(owners=OWNERS, seed=200, part=1.0):
    model = (1 - part) * TILT + part * np.linspace(0.4, -0.3, P)
    return [population(2000, seed + i, model=model) for i in range(owners)]


def trained(public, samples, seed=0, deviation=MUCH, norm=Norm.L1, order=None):
    rule = rule_for(public, samples, noise_model(len(samples), deviation, clip=8.0, norm=norm))
    return rule, *train(rule, samples, seed, order)


def mean_cost(public, samples, seeds):
    costs = []
    for seed in range(seeds):
        rule, state, _ = trained(public, samples, seed, deviation=5e-3)
        costs.append(cost(rule.model(state), samples))
    return float(np.mean(costs))


@pytest.mark.parametrize(("owners", "deviation", "share"), [(10, MUCH, 80), (20, MUCH, 80), (23, 2e-3, 50)])
def test_everybody_is_asked_at_one_place_and_each_batch_where_those_before_have_led(public, owners, deviation, share):
    """Those of the first batch are asked for less if something of their differences can be seen."""
    samples = shifted(owners, part=1.0 if deviation == MUCH else 0.2)
    rule, state, asked = trained(public, samples, deviation=deviation)
    first = math.ceil(owners / BATCHES)
    assert [ask.share for _, ask in asked[:owners]] == [share] * first + [80] * (owners - first)
    assert [ask.level for _, ask in asked[owners:]] == [100] * owners
    told = settled(state.told, Norm.L1)
    assert Counter(one.owner for one in told) == dict.fromkeys(range(owners), 1)
    places = Counter(one.ask.theta.tobytes() for one in told)
    assert next(iter(places)) == rule.setting.geometry.start.tobytes()
    assert 2 <= len(places) <= BATCHES
    assert all(rule.ask(state, owner) is None for owner in range(owners))


def test_without_a_shift_all_batches_are_asked_at_the_public_model(public):
    _, state, asked = trained(public, [population(2000, 600 + i) for i in range(OWNERS)])
    assert {ask.theta.tobytes() for _, ask in asked} == {asked[0][1].theta.tobytes()}
    assert [one.ask.level for one in settled(state.told, Norm.L1)] == [100] * OWNERS


@pytest.mark.parametrize(
    ("owners", "deviation", "norm"), [(9, MUCH, Norm.L1), (20, 1e-4, Norm.L1), (20, MUCH, Norm.L2)]
)
def test_few_owners_little_noise_or_delta_are_not_asked_in_batches(public, owners, deviation, norm):
    _, state, _ = trained(public, shifted(owners), deviation=deviation, norm=norm)
    assert state.questions[0].owners == owners or state.questions[0].ask.share == 50
    assert state.questions[0].owners != math.ceil(owners / BATCHES)


def test_it_costs_less_than_a_look_and_the_rest(public, monkeypatch):
    """A moderate shift. Over sizes of shift and noise the ratio is between 0.7 and 1.05, and 0.9 on average."""
    samples = shifted(part=0.5)
    ours = mean_cost(public, samples, 12)
    monkeypatch.setattr(adaptive_questions, "_is_in_batches", lambda _: False)
    assert ours < 0.9 * mean_cost(public, samples, 12)


def test_owners_that_turn_out_to_differ_are_not_asked_in_batches_any_more(public):
    """Models far apart are seen beside much noise: whoever comes after the first batch is looked at."""
    generator = np.random.default_rng(3)
    samples = [population(2000, 800 + i, model=3 * generator.normal(size=P)) for i in range(OWNERS)]
    _, _, asked = trained(public, samples)
    assert [ask.share for _, ask in asked[:OWNERS]] == [80] * FIRST + [20] * (OWNERS - FIRST)


@pytest.mark.parametrize("deviation", [3e-3, MUCH])
def test_a_first_batch_that_stands_for_nobody_else_does_not_mislead(public, monkeypatch, deviation):
    """The first are like the public rows, all others strangers; a twin that keeps nothing for later ends far off."""
    samples = [*(population(2000, 300 + i) for i in range(2)), *strangers(8)]

    def left():
        rule, state, _ = trained(public, samples, deviation=deviation)
        return cost(rule.model(state), samples) / cost(rule.model(rule.begin()), samples)

    ours = left()
    assert ours < 0.05
    monkeypatch.setattr(adaptive_questions, "_FIRST_BATCH", 100)
    monkeypatch.setattr(adaptive_questions, "_BATCH", 100)
    assert left() > 4 * ours


def test_under_a_strong_shift_it_ends_far_below_the_public_model(public):
    samples = strangers(OWNERS)
    rule, state, _ = trained(public, samples)
    assert cost(rule.model(state), samples) < 0.1 * cost(rule.model(rule.begin()), samples)


def test_owners_that_never_come_hold_nobody_up_and_late_ones_are_asked_where_others_have_led(public):
    order = [*range(8), *range(8), *range(8), 19, 19]
    _, _, asked = trained(public, shifted(), order=order)
    assert Counter(owner for owner, _ in asked) == dict.fromkeys([*range(8), 19], 2)
    assert not np.array_equal(asked[0][1].theta, asked[-1][1].theta)
