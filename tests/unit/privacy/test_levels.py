"""Levels of noise: each has its exact law, increments are independent, and a pair costs what its finer part costs.

Secure draws cannot be seeded: every test accepts at a level of one in a million, and each has a twin that it catches.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from copriv.entropy import secure, seeded
from copriv.errors import BadGuarantee, BadInput
from copriv.privacy import levels
from copriv.privacy.exact import PrivateVector
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.laplace import Laplace
from copriv.privacy.levels import release_levels, simulate_increment, simulate_levels
from copriv.privacy.mechanism import grid_exponent
from copriv.protocol.commitment import make_commitment
from copriv.protocol.plain_terms import plain_terms

LEVEL = 1e-6
DRAWS = 6000
# In units of the grid: so few that atoms and lattice show.
FINE, COARSE = 2.5, 4.0


def bits(count):
    return secure().randbytes(count)


def noise(scale, count=DRAWS):
    return np.array(levels._noise(scale, count))


def increments(fine, coarse, count=DRAWS):
    return np.array(levels._increments(fine, coarse, count, bits))


def honest(count=DRAWS):
    fine = noise(FINE, count)
    return fine, fine + increments(FINE, COARSE, count)


def has_law(values, scale):
    """Chi-square against the discrete Laplace law of a scale in units, tails pooled."""
    reach = int(4 * scale)
    cells = np.arange(-reach, reach + 1)
    mass = (1 - math.exp(-1 / scale)) / (1 + math.exp(-1 / scale)) * np.exp(-np.abs(cells) / scale)
    tail = (1 - mass.sum()) / 2
    counts = [np.sum(values < -reach), *(np.sum(values == cell) for cell in cells), np.sum(values > reach)]
    expected = len(values) * np.array([tail, *mass, tail])
    return stats.chisquare(counts, expected).pvalue > LEVEL


def are_independent(one, other, scale):
    """Contingency of two arrays, each in five cells."""
    edges = np.array([-1.5, -0.2, 0.2, 1.5]) * scale
    table = np.zeros((5, 5))
    np.add.at(table, (np.digitize(one, edges), np.digitize(other, edges)), 1)
    return stats.chi2_contingency(table).pvalue > LEVEL


def certified_epsilon(pairs, shift):
    """A lower bound of the ε of (fine, coarse) between exact answers that are so far apart, over many corners.

    A pair with the exact answer x is a pair of noise moved by x; so one sample does for both answers.
    """
    places = [(fine, coarse) for fine in range(-1, shift + 2) for coarse in range(-1, shift + 2)]
    found = 0.0
    for fine, coarse in places:
        below = _corner(pairs, fine, coarse)
        moved = _corner(pairs, fine - shift, coarse - shift)
        low = stats.beta.ppf(LEVEL / len(places), below, len(pairs[0]) - below + 1)
        high = stats.beta.isf(LEVEL / len(places), moved + 1, len(pairs[0]) - moved)
        found = max(found, math.log(low / high))
    return found


def _corner(pairs, fine, coarse):
    return int(np.sum((pairs[0] <= fine) & (pairs[1] <= coarse)))


def fresh(count=DRAWS):
    """A finer answer that is drawn anew, and paid for as if it were not."""
    return noise(FINE, count), noise(COARSE, count)


def averaged(count=DRAWS):
    """The coarse answer first; the fine one is its average with an answer for the difference of the prices."""
    coarse, rest = noise(COARSE, count), noise(1 / (1 / FINE - 1 / COARSE), count)
    weight = FINE / COARSE
    return np.rint(weight * coarse + (1 - weight) * rest), coarse


def wrong_atom(count=DRAWS):
    """The increment is 0 as often as one of its two halves should be."""
    fine, stays = noise(FINE, count), np.random.default_rng(1).random(count) < FINE / COARSE
    return fine, fine + np.where(stays, 0, noise(COARSE, count))


def test_every_level_has_its_law_and_another_scale_is_caught():
    fine, coarse = honest()
    assert has_law(fine, FINE)
    assert has_law(coarse, COARSE)
    assert not has_law(coarse, 1.2 * COARSE)
    assert not has_law(averaged()[0], FINE)
    assert not has_law(wrong_atom()[1], COARSE)


def test_a_chain_of_levels_has_the_law_of_each():
    values = noise(1.5)
    for fine, coarse in ((1.5, 2.0), (2.0, 2.0), (2.0, 6.0)):
        values = values + increments(fine, coarse)
        assert has_law(values, coarse)


def test_increments_are_independent_of_the_finer_answer_and_of_each_other():
    fine, coarse = honest()
    assert are_independent(fine, coarse - fine, COARSE)
    assert not are_independent(fine, fresh()[1] - fine, COARSE)
    other, again = honest()
    assert are_independent(coarse - fine, again - other, COARSE)
    assert not are_independent(coarse - fine, coarse - fine, COARSE)


def test_a_pair_costs_what_its_finer_part_costs_and_fresh_noise_costs_both():
    shift, count = 2, 60_000
    paid = shift / FINE
    assert certified_epsilon(honest(count), shift) <= paid
    assert certified_epsilon(fresh(count), shift) > paid


def test_extra_noise_that_is_used_again_tells_the_exact_answers_apart():
    """Two questions: with one increment for both, the coarse answers differ as the fine ones do, for less."""
    (fine, coarse), (other, again) = honest(), honest()
    assert not np.array_equal(coarse - again, fine - other)
    reused = other + (coarse - fine)
    assert np.array_equal(coarse - reused, fine - other)
    assert not are_independent(coarse - fine, reused - other, COARSE)


@pytest.mark.parametrize(("fine", "coarse"), [(1.0, 1.5), (2.5, 4.0), (2.0**40, 1.9 * 2.0**43), (3e12, 3.0000001e12)])
def test_probabilities_are_known_to_any_precision(fine, coarse):
    with localcontext(prec=120):
        exact = (1 - (-1 / Decimal(coarse)).exp()) / (1 - (-1 / Decimal(fine)).exp())
        for size in (64, 128, 256):
            low, high = levels._Probability(fine, coarse).bounds(size)
            assert Decimal(low) < exact * (1 << size) < Decimal(high)
            assert high - low <= 2


def test_a_coin_draws_on_until_it_is_decided():
    probability = levels._Probability(FINE, COARSE)
    low, _ = probability.bounds(128)
    first, rest = divmod(low, 1 << 64)
    assert probability.low <= first < probability.high
    for word, expected in ((rest - 1, True), (rest + 3, False)):
        drawn = iter([word])
        assert levels._is_below(first, probability, lambda count, of=drawn: next(of).to_bytes(count)) is expected
        assert next(drawn, None) is None


def test_coins_fall_as_often_as_they_should():
    probability = levels._Probability(FINE, COARSE)
    heads = sum(levels._toss(probability, 20_000, bits))
    assert stats.binomtest(heads, 20_000, probability.low / 2**64).pvalue > LEVEL
    assert stats.binomtest(heads, 20_000, (FINE / COARSE) ** 2).pvalue < LEVEL


def test_releases_are_on_one_grid_around_the_exact_answer():
    exact, scales = np.array([0.3, -7.0, 0.0]), [0.01, 0.02, 0.9]
    told = np.array([release_levels(PrivateVector(exact), scales, bits) for _ in range(400)])
    grid = 2.0 ** grid_exponent(0.01)
    assert np.array_equal(told / grid, np.rint(told / grid))
    for place, scale in enumerate(scales):
        assert stats.kstest((told[:, place] - exact).ravel(), stats.laplace(scale=scale).cdf).pvalue > LEVEL
        assert stats.kstest((told[:, place] - exact).ravel(), stats.laplace(scale=2 * scale).cdf).pvalue < LEVEL


@pytest.mark.parametrize("parameters", [1, 10, 3000])
def test_the_price_of_a_level_covers_the_rounding_of_the_stack(parameters):
    """Rounding moves neighbours apart by at most a unit a number: (Δ + p·grid)/b, within what is quoted."""
    from copriv.privacy.sensitivity import Sensitivity
    from copriv.vectors import Norm

    grid, change = Fraction(2) ** grid_exponent(1e-3), Sensitivity(1e-3, Norm.L1)
    for scale in (1e-3, 1.7e-3, 0.1):
        true = (Fraction(change.value) + parameters * grid) / Fraction(scale)
        assert true * 10**9 <= Laplace(scale).cost(change, parameters).nano
        assert true * 10**9 > Laplace(1.000001 * scale).cost(change, parameters).nano


@pytest.mark.parametrize("scales", [[], [0.0], [2.0, 1.0], [1.0, math.inf], [math.nan]])
def test_scales_have_to_rise(scales):
    with pytest.raises(BadInput):
        release_levels(PrivateVector(np.zeros(2)), scales, bits)
    with pytest.raises(BadInput):
        simulate_levels(np.zeros(2), scales, seeded(1, "levels"))


def test_an_answer_beyond_its_grid_is_refused():
    with pytest.raises(BadInput, match="too large for the grid"):
        release_levels(PrivateVector(np.array([1e300])), [1e-300], bits)


def test_simulated_levels_have_the_same_law():
    told = simulate_levels(np.zeros(20_000), [1.0, 1.5, 4.0], seeded(3, "levels"))
    for place, scale in enumerate((1.0, 1.5, 4.0)):
        assert stats.kstest(told[place], stats.laplace(scale=scale).cdf).pvalue > LEVEL
    assert are_independent(told[0], told[1] - told[0], 1.0)
    assert stats.binomtest(int(np.sum(told[1] == told[0])), 20_000, 1 / 1.5**2).pvalue > LEVEL
    wrong = told[0] + seeded(4, "levels").laplace(scale=1.5, size=20_000)
    assert stats.kstest(wrong, stats.laplace(scale=1.5).cdf).pvalue < LEVEL


def test_increments_take_scales_that_differ_from_owner_to_owner():
    fine, coarse = np.array([[1.0], [2.0]]), np.array([[1.0], [6.0]])
    drawn = simulate_increment(fine, coarse, (2, 5000), seeded(1, "levels"))
    assert not drawn[0].any()
    assert stats.binomtest(int(np.sum(drawn[1] == 0)), 5000, 1 / 9).pvalue > LEVEL


def test_a_share_that_hardly_pays_for_rounding_is_refused():
    """Its noise was widened out of all proportion: 64 bits cut it off, and the coarse answer was the fine one."""
    terms = plain_terms(rule="newton", parameters=21_923, clip=0.183965, shares=(1, 50), kinds=("gradient",), answers=3)
    with pytest.raises(BadGuarantee, match="rounding alone"):
        make_commitment(terms, Guarantee.of("1e-6"), records=200, answers=3)


def test_noise_that_64_bits_could_cut_off_is_refused():
    with pytest.raises(BadInput, match="units of the finest grid"):
        release_levels(PrivateVector(np.zeros(2)), [1.0, 2.0**20], secure().randbytes)
