"""Public Newton: exact where it can be, never staler than it says, and better than its twins without each part."""

from itertools import product

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.objective import Objective, relative_fitness
from copriv.losses.optimum import minimise
from copriv.losses.passes import clipped_average_gradient, gradient_norms
from copriv.losses.sample import Sample
from copriv.rules.newton import NewtonRule
from copriv.vectors import Norm

OBJECTIVE = Objective(choose("squared"), 1e-5, 50.0)


def population(records, generator, shift=0.0, parameters=4):
    """Bounded records around a model; heavy-tailed residuals, so that clips bite."""
    rows = generator.normal(size=(records, parameters)) / 4
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    noise = 0.1 * generator.standard_t(3, size=records)
    return Sample.of_rows(rows, np.clip(rows @ (np.linspace(-0.6, 0.7, parameters) + shift) + noise, -1, 1))


def mirrored(sample, theta):
    """The same rows with targets of another exact model: the same Hessian, another optimum."""
    return Sample.of_rows(sample.columns.T, sample.targets + sample.columns.T @ theta)


def train(rule, samples, clip, norm=Norm.L1, noise=None, rounds=1):
    state = rule.begin()
    for owner in list(range(len(samples))) * rounds:
        asked = rule.question(state, owner)
        answer = clipped_average_gradient(rule.objective.loss, samples[owner], asked, clip, norm)
        state = rule.absorb(state, owner, answer if noise is None else answer + noise())
    return state


def make_rule(public, samples, *, clip=1e9, deviation=0.0, objective=OBJECTIVE, norm=Norm.L1):
    sizes = [sample.records for sample in samples]
    return NewtonRule.of(public, objective, records=sizes, noise_std=[deviation] * len(sizes), clip=clip, norm=norm)


@pytest.mark.parametrize("rounds", [1, 2])
def test_without_noise_and_with_the_public_hessian_one_answer_each_is_exact(rounds):
    generator = np.random.default_rng(0)
    public = population(2000, generator)
    samples = [mirrored(public, generator.normal(size=4)) for _ in range(5)]
    rule = make_rule(public, samples)
    best = minimise(OBJECTIVE, Sample.join(samples))
    np.testing.assert_allclose(rule.model(train(rule, samples, 1e9, rounds=rounds)), best, atol=1e-10, rtol=0)
    assert np.max(np.abs(rule.model(rule.begin()) - best)) > 1e-2


def test_unequal_owners_count_by_their_records():
    generator = np.random.default_rng(1)
    public = population(1500, generator)
    samples = [mirrored(public, generator.normal(size=4)), Sample.join([public, public, public])]
    best = minimise(OBJECTIVE, Sample.join(samples))
    rule = make_rule(public, samples)
    np.testing.assert_allclose(rule.model(train(rule, samples, 1e9)), best, atol=1e-10, rtol=0)
    crossed = NewtonRule.of(public, OBJECTIVE, records=[1, 1], noise_std=[0, 0], clip=1e9, norm=Norm.L1)
    assert np.max(np.abs(crossed.model(train(crossed, samples, 1e9)) - best)) > 1e-2


def test_an_answer_never_goes_stale():
    """Whatever the order of answers, and wherever the later ones were asked for, the model is the same."""
    generator = np.random.default_rng(2)
    public = population(1000, generator)
    samples = [mirrored(public, 0.01 * generator.normal(size=4)) for _ in range(3)]
    rule = make_rule(public, samples, deviation=1e-5)
    forwards, backwards = rule.begin(), rule.begin()
    for owner in range(3):
        for direction, i in (("forwards", owner), ("backwards", 2 - owner)):
            state = forwards if direction == "forwards" else backwards
            asked = rule.question(state, i)
            answer = clipped_average_gradient(OBJECTIVE.loss, samples[i], asked, 1e9, Norm.L1)
            state = rule.absorb(state, i, answer)
            forwards, backwards = (state, backwards) if direction == "forwards" else (forwards, state)
    np.testing.assert_allclose(rule.model(forwards), rule.model(backwards), atol=2e-4)


def _psi(theta, samples):
    joint = Sample.join(samples)
    best = OBJECTIVE.fitness(joint, minimise(OBJECTIVE, joint))
    return relative_fitness(OBJECTIVE.fitness(joint, theta), best)


class _Uncorrected(NewtonRule):
    """The twin that takes clipped answers for full ones: public rows answer without being clipped."""

    def absorb(self, state, owner, answer):
        public = self.objective.gradient(self.public, self.question(state, owner))
        alike = clipped_average_gradient(
            self.objective.loss, self.public, self.question(state, owner), self.clip, self.norm
        )
        ridge = 2 * self.objective.regularization * self.question(state, owner)
        return NewtonRule.absorb(self, state, owner, answer - (public - ridge) + alike)


def _skewed(records, generator):
    """Rows with an intercept, and residuals that are rarely large and then positive: a clip moves their mean."""
    rows = np.column_stack([generator.normal(size=(records, 3)) / 5, np.full(records, 0.5)])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return Sample.of_rows(rows, np.clip(rows @ np.full(4, 0.1) + 0.1 * generator.exponential(size=records), -1, 1))


def test_the_clip_bias_is_corrected_and_a_twin_without_correction_is_worse():
    generator = np.random.default_rng(3)
    public = _skewed(10_000, generator)
    samples = [_skewed(20_000, generator) for _ in range(3)]
    theta = minimise(OBJECTIVE, public)
    clip = float(np.quantile(gradient_norms(OBJECTIVE.loss, public, theta, Norm.L1), 0.9))
    rule = make_rule(public, samples, clip=clip)
    twin = _Uncorrected(public, OBJECTIVE, rule.records, rule.noise_std, rule.clip, rule.norm, rule.outlook)
    ours, theirs = (_psi(r.model(train(r, samples, clip)), samples) for r in (rule, twin))
    assert ours < _psi(theta, samples)
    assert theirs > 10 * ours


@pytest.mark.parametrize(("owners", "deviation"), [*product((2, 6), (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 10.0)), (20, 1e-2)])
def test_it_is_never_worse_than_public_or_private_evidence_alone(owners, deviation):
    """On a grid of noise and owners: at most a little above the better of the two, on average over draws."""
    costs = np.zeros(3)
    for seed in range(12):
        generator = np.random.default_rng(seed)
        public = population(500, generator)
        samples = [population(2000, generator) for _ in range(owners)]
        rule = make_rule(public, samples, deviation=deviation)
        state = train(rule, samples, 1e9, noise=lambda g=generator: deviation * g.normal(size=4))
        answers = state.deviations @ rule.outlook.basis.T
        private = rule.outlook.start - np.linalg.solve(rule.outlook.curvature, answers.mean(axis=0))
        models = (rule.model(state), rule.outlook.start, OBJECTIVE.project(private))
        costs += [_psi(theta, samples) for theta in models]
    ours, public_only, private_only = costs
    assert ours <= 1.1 * min(public_only, private_only)


def test_owners_that_differ_are_first_asked_at_the_public_model():
    generator = np.random.default_rng(4)
    public = population(3000, generator)
    alike = [population(3000, generator) for _ in range(2)]
    apart = [population(3000, generator, shift) for shift in (1.5, -1.5)]
    for samples, moved in ((alike, True), (apart, False)):
        rule = make_rule(public, samples, deviation=1e-5)
        answer = clipped_average_gradient(OBJECTIVE.loss, samples[0], rule.outlook.start, 1e9, Norm.L1)
        state = rule.absorb(rule.begin(), 0, answer)
        assert np.array_equal(rule.question(state, 0), state.central)
        assert np.array_equal(rule.question(state, 1), state.central if moved else rule.outlook.start)


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_other_losses_move_towards_the_joint_optimum(loss, make_sample):
    objective = Objective(choose(loss, 0.3 if loss == "huber" else 0.0), 1e-3, 50.0)
    public, *samples = (
        make_sample(records=n, seed=s, labels=loss == "logistic") for s, n in enumerate([300, 5000, 5000])
    )
    rule = make_rule(public, samples, objective=objective)
    joint = Sample.join(samples)
    best = minimise(objective, joint)
    before = np.linalg.norm(rule.outlook.start - best)
    once, twice = (np.linalg.norm(rule.model(train(rule, samples, 1e9, rounds=k)) - best) for k in (1, 2))
    assert once < 0.5 * before
    assert twice < 0.25 * before


def test_states_survive_packing_bit_for_bit_and_are_never_changed():
    generator = np.random.default_rng(5)
    public = population(200, generator)
    samples = [population(100, generator) for _ in range(3)]
    rule = make_rule(public, samples, deviation=0.01)
    before = rule.begin()
    state = train(rule, samples, 1e9, noise=lambda: 0.01 * generator.normal(size=4))
    for kept in (before, state):
        again = rule.unpack(rule.pack(kept))
        for name in ("central", "newcomer", "owners", "questions", "deviations"):
            assert np.array_equal(getattr(again, name), getattr(kept, name))
        assert rule.pack(again) == rule.pack(kept)
        assert np.array_equal(rule.absorb(again, 1, np.ones(4)).central, rule.absorb(kept, 1, np.ones(4)).central)
    assert before.owners.size == 0
    with pytest.raises(ValueError, match="read-only"):
        state.central[0] = 1.0
    with pytest.raises(BadInput, match="bytes"):
        rule.unpack(rule.pack(state)[:-1])
    with pytest.raises(BadInput, match="bytes"):
        rule.unpack(b"")


def test_the_model_stays_in_the_box():
    generator = np.random.default_rng(6)
    public = population(200, generator)
    objective = Objective(choose("squared"), 1e-5, 0.65)
    rule = make_rule(public, [public], objective=objective, deviation=1e-9)
    state = rule.absorb(rule.begin(), 0, np.full(4, 50.0))
    assert np.max(np.abs(rule.model(state))) <= 0.65


@pytest.mark.parametrize(
    ("records", "deviations"), [([], []), ([1], [1.0, 1.0]), ([0], [1.0]), ([1], [-1.0]), ([1], [float("nan")])]
)
def test_nonsense_is_refused(records, deviations):
    public = population(50, np.random.default_rng(7))
    with pytest.raises(BadInput):
        NewtonRule.of(public, OBJECTIVE, records=records, noise_std=deviations, clip=1.0, norm=Norm.L1)
