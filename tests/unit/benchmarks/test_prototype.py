"""The prototype measured again is the one that was described, and the tasks of a benchmark come back in order."""

import numpy as np
import pytest
from benchmarks.prototype_rule import PrototypeRule, prototype_cost

from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.passes import clipped_average_gradient
from copriv.losses.sample import Sample
from copriv.privacy.guarantee import Guarantee
from copriv.simulation.cost import Scene, promised
from copriv.vectors import Norm

OBJECTIVE = Objective(choose("squared"), 1e-5, 50.0)


def population(records, seed, tilt=0.0):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(records, 3)) / 4
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return Sample.of_rows(rows, np.clip(rows @ [0.5, -0.2, tilt] + 0.1 * generator.normal(size=records), -1, 1))


def make_rule(public, samples, *, deviation=0.0, clip=1e9, roaming=True):
    sizes = tuple(sample.records for sample in samples)
    start = minimise(OBJECTIVE, public)
    return PrototypeRule(public, OBJECTIVE, start, sizes, (deviation,) * len(sizes), clip, Norm.L1, roaming=roaming)


def train(rule, samples, noise=lambda: 0.0):
    state = rule.begin()
    for owner, sample in enumerate(samples):
        asked = rule.question(state, owner)
        answer = clipped_average_gradient(OBJECTIVE.loss, sample, asked, rule.clip, rule.norm)
        state = rule.absorb(state, owner, answer + noise())
    return rule.model(state)


@pytest.mark.parametrize("roaming", [False, True])
def test_without_noise_and_with_the_public_hessian_it_is_exact(roaming):
    public = population(500, 0)
    samples = [Sample(public.columns, public.targets + shift @ public.columns) for shift in 0.1 * np.eye(3)]
    samples.append(Sample.join([public, public]))
    model = train(make_rule(public, samples, roaming=roaming), samples)
    np.testing.assert_allclose(model, minimise(OBJECTIVE, Sample.join(samples)), atol=1e-10)


def test_noise_beyond_everything_leaves_the_public_model():
    public, samples = population(500, 1), [population(500, seed, 0.3) for seed in (2, 3)]
    rule = make_rule(public, samples, deviation=1e3)
    generator = np.random.default_rng(0)
    np.testing.assert_allclose(train(rule, samples, lambda: 1e3 * generator.normal(size=3)), rule.start, atol=1e-2)


def test_the_share_of_the_answers_is_that_of_the_two_variances():
    public = population(500, 4)
    far = Sample(public.columns, public.targets + np.array([0.0, 0.0, 0.3]) @ public.columns)
    loud, silent = (make_rule(public, [far], deviation=deviation) for deviation in (0.003, 0.0))
    values, basis = np.linalg.eigh(OBJECTIVE.curvature(public, loud.start))
    halves = values / 2
    given = OBJECTIVE.fitness(public, loud.start) / (public.records * halves)
    share = given / (given + 0.003**2 / (4 * halves**2))
    moves = [basis.T @ (train(rule, [far]) - rule.start) for rule in (loud, silent)]
    np.testing.assert_allclose(moves[0], share * moves[1], rtol=1e-6)
    assert np.all((share > 0.05) & (share < 0.95))


def test_its_settings_are_told_by_the_private_records():
    """The best of all settings is at most what any one of them costs."""
    scene = Scene.of(OBJECTIVE, [population(800, seed, 0.2) for seed in range(5, 8)], population(500, 9))
    protection = promised(Guarantee.of(5), 3)
    found = prototype_cost(scene, protection, runs=4, seed=0)
    assert 0 < found < scene.psi(minimise(OBJECTIVE, scene.public))
