"""One-shot statistics: exact without noise, repaired with it, and a sensitivity that a search cannot break."""

import math

import numpy as np
import pytest

from copriv.audit.furthest import furthest_change
from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.moments import moment_count, off_diagonal_weight, pack_moments, unpack_moments
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.privacy.sensitivity import of_moments
from copriv.rules.statistics import StatisticsRule
from copriv.vectors import Norm

OBJECTIVE = Objective(choose("squared"), 1e-3, 5.0)


def tell(rule, samples, noise=None):
    state = rule.begin()
    for owner, sample in enumerate(samples):
        moments = pack_moments(sample, rule.norm)
        state = rule.absorb(state, owner, moments if noise is None else moments + noise(moments.size))
    return state


def make_rule(samples, norm=Norm.L2, deviation=0.0):
    sizes = tuple(sample.records for sample in samples)
    return StatisticsRule(samples[0].parameters, sizes, (deviation,) * len(sizes), norm, 1e-3, 5.0)


@pytest.mark.parametrize("norm", Norm)
def test_without_noise_it_is_the_optimum(make_sample, norm):
    samples = [make_sample(records=n, seed=seed) for seed, n in enumerate([300, 50])]
    rule = make_rule(samples, norm)
    assert np.array_equal(rule.question(rule.begin(), 0), np.zeros(4))
    best = minimise(OBJECTIVE, Sample.join(samples))
    np.testing.assert_allclose(rule.model(tell(rule, samples)), best, atol=1e-9)
    alone = minimise(OBJECTIVE, samples[0])
    np.testing.assert_allclose(rule.model(tell(rule, samples[:1])), alone, atol=1e-9)


@pytest.mark.parametrize("norm", Norm)
def test_moments_survive_packing(make_sample, norm):
    sample = make_sample(records=20)
    matrix, vector = unpack_moments(pack_moments(sample, norm), 4, norm)
    np.testing.assert_allclose(matrix, sample.columns @ sample.columns.T)
    np.testing.assert_allclose(vector, sample.columns @ sample.targets)
    with pytest.raises(BadInput):
        unpack_moments(np.ones(3), 4, norm)


def test_impossible_moments_are_repaired(make_sample):
    """Noise beyond the records: the plain solution is thrown about, the repaired one stays put."""
    samples, generator = [make_sample(records=200)], np.random.default_rng(0)
    best, deviation = minimise(OBJECTIVE, samples[0]), 60.0
    rule, naive = make_rule(samples, deviation=deviation), make_rule(samples)
    away = {"repaired": [], "naive": []}
    for _ in range(50):
        moments = deviation * generator.normal(size=moment_count(4))
        for name, r in (("repaired", rule), ("naive", naive)):
            away[name].append(np.sum((r.model(tell(r, samples, lambda _: moments)) - best) ** 2))  # noqa: B023
    assert np.mean(away["repaired"]) < 0.2 * np.mean(away["naive"])


def _length(first, second, norm):
    """How far replacing one record by another moves the packed moments."""
    a, b = (pack_moments(Sample.of_rows([x], [y]), norm) for x, y in (first, second))
    return norm.of(a - b)


def _search(parameters, norm, seeds=16):
    """The furthest pair that climbing from random and from structured pairs finds."""
    generator, furthest = np.random.default_rng(0), 0.0
    for seed in range(seeds):
        pair = generator.normal(size=(2, parameters))
        if seed % 2:
            pair = np.sign(pair)
        pair /= np.linalg.norm(pair, axis=1, keepdims=True)
        here, width = _length((pair[0], 1.0), (pair[1], -1.0), norm), 0.5
        while width > 1e-4:
            there = pair + width * generator.normal(size=pair.shape) / math.sqrt(parameters)
            there /= np.maximum(np.linalg.norm(there, axis=1, keepdims=True), 1)
            moved = max(_length((there[0], 1.0), (there[1], y), norm) for y in (-1.0, 1.0))
            pair, here, width = (there, moved, width * 1.1) if moved > here else (pair, here, width * 0.97)
        furthest = max(furthest, here)
    return furthest


@pytest.mark.parametrize("parameters", [2, 3, 9])
def test_no_pair_of_records_breaks_the_l2_bound_and_a_smaller_one_breaks(parameters):
    found = _search(parameters, Norm.L2)
    bound = of_moments(records=1, parameters=parameters, norm=Norm.L2).value
    assert found <= bound
    # √4.5 is attained at an angle of 60°; a twin that forgets the interplay of xxᵀ and xy would claim √4.
    assert found > 0.999 * math.sqrt(4.5)
    assert found > math.sqrt(4)


def _highest(matrix, vector):
    """Where xᵀAx + bᵀx is largest on the unit sphere: x = (μ − A)⁻¹b/2 with the μ that gives it length 1."""
    values, basis = np.linalg.eigh(matrix)
    along = basis.T @ vector / 2
    low, high = values[-1], values[-1] + np.linalg.norm(along) + 1e-9
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.sum((along / (middle - values)) ** 2) > 1 else (low, middle)
    found = basis @ (along / (high - values))
    return found / np.linalg.norm(found)


def _ascend(pair):
    """With the signs of all changes fixed the L1 change is a quadratic in x and one in z: take both to their tops."""
    matrix, vector = _signs(pair)
    return np.array([_highest(matrix, vector), _highest(-matrix, vector)])


def _signs(pair):
    """Of every entry of xxᵀ − zzᵀ, halved off the diagonal as each counts twice there, and of x + z."""
    change = np.sign(np.outer(pair[0], pair[0]) - np.outer(pair[1], pair[1]))
    return (change + np.diag(np.diag(change))) / 2, np.sign(pair.sum(axis=0))


def _search_in_l1(parameters, starts=100):
    """The furthest pair that is left when no such step gains anything, from random pairs."""
    generator, furthest = np.random.default_rng(0), 0.0
    for _ in range(starts):
        pair = generator.normal(size=(2, parameters))
        pair /= np.linalg.norm(pair, axis=1, keepdims=True)
        here, there = -1.0, 0.0
        while there > here + 1e-9:
            here, pair = there, _ascend(pair)
            there = _length((pair[0], 1.0), (pair[1], -1.0), Norm.L1)
        furthest = max(furthest, here)
    return furthest


@pytest.mark.parametrize(("parameters", "furthest"), [(2, 4.3697), (3, 5.5281), (9, 11.4427), (20, 21.1525)])
def test_no_pair_of_records_breaks_the_l1_bound_and_one_four_per_cent_smaller_breaks(parameters, furthest):
    """The figures of docs/theory/rules.md, and where the furthest records of `copriv audit` are."""
    found = _search_in_l1(parameters)
    bound = of_moments(records=1, parameters=parameters, norm=Norm.L1).value
    assert found == pytest.approx(furthest, abs=1e-3)
    assert found <= bound
    assert found > 0.96 * bound
    assert furthest_change(parameters, Norm.L1) == pytest.approx(found, rel=1e-4)
    # What Cauchy–Schwarz says of xxᵀ and xy together is more than is needed; the L2 bound is far too little.
    together = math.sqrt(4.5) * math.sqrt(2 * parameters + parameters * (parameters - 1) / 4)
    assert math.sqrt(4.5) < bound < together


@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize("parameters", [1, 2, 9])
def test_shorter_records_and_smaller_targets_do_not_go_beyond_unit_ones(parameters, norm):
    """The step of the proof from any lengths to unit vectors, tried at random."""
    generator, bound = np.random.default_rng(1), of_moments(records=1, parameters=parameters, norm=norm).value
    for _ in range(500):
        rows, targets = generator.normal(size=(2, parameters)), generator.uniform(-1, 1, size=2)
        rows *= generator.uniform(size=(2, 1)) ** 0.3 / np.linalg.norm(rows, axis=1, keepdims=True)
        assert _length((rows[0], targets[0]), (rows[1], targets[1]), norm) <= bound


def test_weights_make_the_l2_length_that_of_the_matrix():
    assert off_diagonal_weight(Norm.L1) == 1
    sample = Sample.of_rows([[0.3, -0.4, 0.5]], [0.7])
    x = sample.columns[:, 0]
    assert Norm.L2.of(pack_moments(sample, Norm.L2)) ** 2 == pytest.approx((x @ x) ** 2 + 0.49 * (x @ x))


def test_states_survive_packing_bit_for_bit(make_sample):
    samples = [make_sample(records=30, seed=seed) for seed in range(2)]
    rule = make_rule(samples, deviation=1.0)
    state = tell(rule, samples[:1])
    again = rule.unpack(rule.pack(state))
    assert rule.pack(again) == rule.pack(state)
    assert np.array_equal(rule.model(again), rule.model(state))
    assert not rule.model(rule.begin()).any()
    with pytest.raises(BadInput, match="bytes"):
        rule.unpack(b"1234")


def test_nonsense_is_refused():
    with pytest.raises(BadInput):
        StatisticsRule(1, (), (), Norm.L2, 1e-5, 1.0)
    with pytest.raises(BadInput):
        StatisticsRule(1, (1,), (), Norm.L2, 1e-5, 1.0)
    with pytest.raises(BadInput):
        of_moments(records=0, parameters=1, norm=Norm.L1)
