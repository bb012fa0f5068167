"""Averaged steps: the paper's fixed point, reached with one model and the mean of the path."""

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.objective import Objective, relative_fitness
from copriv.losses.optimum import minimise
from copriv.losses.passes import average_gradient
from copriv.losses.sample import Sample
from copriv.rules.averaged import AveragedRule

OBJECTIVE = Objective(choose("squared"), 1e-5, 5.0)


def train(rule, samples, rounds, noise=None, seed=0):
    generator, state = np.random.default_rng(seed), rule.begin()
    for _ in range(rounds):
        for owner in generator.permutation(len(samples)):
            answer = average_gradient(OBJECTIVE.loss, samples[owner], rule.question(state, owner))
            state = rule.absorb(state, int(owner), answer if noise is None else answer + noise(generator))
    return state


def make_rule(samples, rounds, step=0.5):
    sizes = tuple(sample.records for sample in samples)
    return AveragedRule(samples[0].parameters, sizes, step, rounds * len(sizes), 1e-5, 5.0)


def _psi(theta, samples):
    joint = Sample.join(samples)
    return relative_fitness(OBJECTIVE.fitness(joint, theta), OBJECTIVE.fitness(joint, minimise(OBJECTIVE, joint)))


def test_it_converges_without_noise_for_unequal_owners(make_sample):
    samples = [make_sample(records=n, seed=seed) for seed, n in enumerate([3000, 6000, 2000])]
    rule = make_rule(samples, 200)
    assert _psi(rule.model(train(rule, samples, 200)), samples) < 1e-4
    blind = AveragedRule(4, (1, 1, 1), 0.5, 600, 1e-5, 5.0)
    assert np.max(np.abs(blind.model(train(blind, samples, 200)) - rule.model(train(rule, samples, 200)))) > 1e-4


def test_the_mean_of_the_path_is_quieter_than_its_end(make_sample):
    samples = [make_sample(records=2000, seed=seed) for seed in range(3)]
    rule = make_rule(samples, 50)
    states = [train(rule, samples, 50, lambda g: 0.05 * g.normal(size=4), seed) for seed in range(20)]
    mean = np.mean([_psi(rule.model(state), samples) for state in states])
    end = np.mean([_psi(state.central, samples) for state in states])
    assert mean < 0.2 * end


def test_only_the_second_half_counts():
    rule = AveragedRule(1, (1,), 1.0, 4, 1e-9, 100.0)
    state, seen = rule.begin(), []
    for answer in (-1.0, -1.0, -1.0, -1.0):
        state = rule.absorb(state, 0, np.array([answer]))
        seen.append(float(rule.model(state)[0]))
    assert seen == pytest.approx([1.0, 2.0, 3.0, 3.5])


def test_states_survive_packing_bit_for_bit(make_sample):
    samples = [make_sample(records=50, seed=seed) for seed in range(2)]
    rule = make_rule(samples, 3)
    state = train(rule, samples, 2)
    again = rule.unpack(rule.pack(state))
    assert rule.pack(again) == rule.pack(state)
    assert np.array_equal(rule.model(again), rule.model(state))
    with pytest.raises(BadInput, match="bytes"):
        rule.unpack(rule.pack(state)[:-8])


@pytest.mark.parametrize(("records", "step", "horizon"), [((), 1.0, 1), ((0,), 1.0, 1), ((1,), 0.0, 1), ((1,), 1.0, 0)])
def test_nonsense_is_refused(records, step, horizon):
    with pytest.raises(BadInput):
        AveragedRule(1, records, step, horizon, 1e-5, 1.0)
