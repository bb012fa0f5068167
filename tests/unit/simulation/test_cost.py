"""The cost harness: the noise of the promise, shared readings that change nothing, and ψ as foreseen."""

import msgspec
import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.moments import moment_count
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.planning.newton_cost import menu_rule, newton_costs, newton_prediction
from copriv.privacy.exact import SimulatedVector
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import make_commitment
from copriv.protocol.plain_terms import plain_terms
from copriv.rules.adaptive_newton import KINDS_OF_LABELS, SHARES
from copriv.rules.averaged import AveragedRule
from copriv.rules.rule import Ask
from copriv.simulation.cost import Protection, Scene, _MenuReader, promised, radial, simulate_rule
from copriv.simulation.radial import Radial
from copriv.vectors import Norm

OBJECTIVE = Objective(choose("squared"), 1e-5, 50.0)


def population(records, seed, parameters=5):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(records, parameters)) / 4
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    noise = 0.05 * generator.standard_t(4, size=records)
    return Sample.of_rows(rows, np.clip(rows @ np.linspace(-0.5, 0.5, parameters) + noise, -1, 1))


def make_scene(seed, owners=5, records=4000, public=2000):
    samples = [population(records, 100 * seed + i + 1) for i in range(owners)]
    return Scene.of(OBJECTIVE, samples, population(public, 100 * seed))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_is_that_of_the_promise(delta):
    terms = plain_terms(parameters=5, limit=50.0, clip=0.3, rule="newton", horizon=5, step=1.0)
    guarantee = Guarantee.of(0.7, delta)
    commitment = make_commitment(terms, guarantee, records=123, answers=2)
    protection = promised(guarantee, 5)
    assert protection.norm is commitment.norm
    assert protection.of([123], 0.3, 2)[0].noise_std == commitment.calibration.mechanism.noise_std


def test_the_noise_of_further_kinds_is_that_of_a_promise_with_a_menu():
    terms = plain_terms(parameters=5, limit=50.0, clip=0.3, rule="newton", horizon=5, step=1.0)
    terms = msgspec.structs.replace(terms, shares=SHARES, kinds=KINDS_OF_LABELS)
    for guarantee in (Guarantee.of(0.7), Guarantee.of(0.7, 1e-6)):
        commitment = make_commitment(terms, guarantee, records=123, answers=5)
        protection = promised(guarantee, 5)
        assert protection.second_moments(123).noise_std == commitment.whole_moments.mechanism.noise_std
        assert protection.positives(123).noise_std == commitment.whole_positives.mechanism.noise_std
        assert protection.of([123], 0.3, 1)[0].noise_std == commitment.calibration.mechanism.noise_std


def test_a_rule_with_a_menu_needs_noise_for_it():
    scene, protection = make_scene(10, owners=2, records=500), radial(1.0, 5)
    start = minimise(OBJECTIVE, scene.public)
    rule = menu_rule(scene, promised(Guarantee.of(1), 5), start, newton_prediction(scene, protection, start))
    with pytest.raises(BadInput, match="noise for none"):
        simulate_rule(rule, scene, protection, clip=0.5, answers=5, runs=1, seed=0)


def test_a_kind_without_noise_is_named():
    """A menu of labels, and protection that knows none for their share."""
    scene, whole = make_scene(10, owners=2, records=500), promised(Guarantee.of(1), 5)
    reader = _MenuReader.of(scene, Protection(whole.norm, whole.noise, whole.second_moments), 0.5, 0.0, ())
    assert reader.answer(0, Ask(np.zeros(5), "second_moments", 20), np.random.default_rng(0)).size == 15
    with pytest.raises(BadInput, match="positives, and noise for none"):
        reader.answer(0, Ask(np.zeros(5), "positives", 20), np.random.default_rng(0))


def test_radial_noise_has_its_deviation_and_length():
    noise, generator = Radial(0.5, 6), np.random.default_rng(0)
    drawn = np.stack([noise.simulate_noise(SimulatedVector(np.zeros(6)), generator) for _ in range(40_000)])
    assert drawn.std() == pytest.approx(noise.noise_std, rel=0.02)
    assert np.linalg.norm(drawn, axis=1).mean() == pytest.approx(6 * 0.5, rel=0.02)
    assert radial(1.0, 6).norm is Norm.L2
    assert radial(2.0, 6).of([100], 1.0, 3)[0].noise_std == pytest.approx(np.sqrt(7) * 3 * 0.02 / 2, rel=1e-6)


@pytest.fixture(scope="module")
def scenes():
    """Six, each with the cost of its public model."""
    made = [make_scene(seed) for seed in range(6)]
    return [(scene, scene.psi(minimise(OBJECTIVE, scene.public))) for scene in made]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_cost_is_below_public_and_as_foreseen(scenes, epsilon, delta):
    measured, predicted, public = [], [], []
    for seed, (scene, cost_of_public) in enumerate(scenes):
        costs, plan = newton_costs(scene, promised(Guarantee.of(epsilon, delta), 5), runs=4, seed=seed)
        measured.append(costs.mean())
        predicted.append(plan.cost)
        public.append(cost_of_public)
    assert np.mean(measured) < np.mean(public)
    assert 0.4 < np.mean(measured) / np.mean(predicted) < 2.5


def test_more_budget_never_costs_more():
    scene = make_scene(7)
    costs = [newton_costs(scene, promised(Guarantee.of(e), 5), runs=8, seed=0)[0].mean() for e in (0.1, 1, 10)]
    assert costs == sorted(costs, reverse=True)


def test_runs_are_reproducible_and_differ_from_each_other():
    scene, protection = make_scene(8, owners=2, records=500), promised(Guarantee.of(1), 5)
    first, again = (newton_costs(scene, protection, runs=4, seed=3)[0] for _ in range(2))
    assert np.array_equal(first, again)
    assert np.unique(first).size == 4
    assert not np.array_equal(first, newton_costs(scene, protection, runs=4, seed=4)[0])


def test_any_rule_can_be_costed():
    scene, protection = make_scene(9, owners=3), promised(Guarantee.of(10), 5)
    rule = AveragedRule(5, scene.records, 3.0, 60, OBJECTIVE.regularization, OBJECTIVE.limit)
    states = simulate_rule(rule, scene, protection, clip=0.5, answers=20, runs=3, seed=0)
    assert all(state.answers == 60 for state in states)
    assert np.mean([scene.psi(rule.model(state)) for state in states]) < 0.1 * scene.psi(np.zeros(5))
    assert moment_count(5) == 20
