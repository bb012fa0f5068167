"""What makes a forecast fast says the same as what is slow: condensed owners, ends without the way, few steps tried."""

import numpy as np
import pytest

from copriv.forecast import moments_averaged_final, owner_quadrature
from copriv.forecast.moments_averaged import follow_averaged
from copriv.forecast.moments_averaged_final import end_averaged
from copriv.forecast.moments_paper import follow_paper
from copriv.forecast.owner_groups import OwnerGroups
from copriv.forecast.owner_quadrature import condense, condense_but_the_loudest, gauss
from copriv.forecast.spectrum import Spectrum
from copriv.forecast.step_search import best_step
from copriv.losses.quadratic import SufficientStatistics
from copriv.rules.averaged import AveragedRule
from copriv.rules.paper import PaperRule
from copriv.schedule.poisson import availability

LAMBDA, OWNERS = 1e-3, 60
RATES = {"equal": [1.0] * OWNERS, "two": [1.0, 3.0] * (OWNERS // 2)}
NOISE = {
    "one promise": lambda sizes, _: [30.0 / n for n in sizes],
    "all promises": lambda sizes, chance: [30.0 * chance.uniform(0.5, 2) / n for n in sizes],
    "one loud": lambda sizes, _: [(1500.0 if i == 7 else 30.0) / n for i, n in enumerate(sizes)],
}
SIZES = {
    "uniform": lambda chance: chance.integers(500, 2000, size=OWNERS),
    "from tiny to huge": lambda chance: np.exp(chance.normal(7, 1.3, size=OWNERS)).astype(int) + 20,
}


@pytest.fixture(scope="module")
def landscape():
    chance = np.random.default_rng(0)
    rows = chance.normal(size=(2000, 4)) / 2 * np.linspace(0.3, 1.0, 4)
    targets = rows @ [0.6, -0.4, 0.3, 0.2] + 0.3 * chance.normal(size=2000)
    part = SufficientStatistics(2 * rows.T @ rows / 2000, 2 * rows.T @ targets / 2000, float(np.mean(targets**2)), 2000)
    return Spectrum.of(part, LAMBDA, np.diag([0.1, 0.2, 0.1, 0.3]))


def crowd(sizes, noise, rates):
    chance = np.random.default_rng(3)
    records = [int(n) for n in SIZES[sizes](chance)]
    gammas = tuple(availability(RATES[rates]).tolist())
    return records, gammas, OwnerGroups.of(records, gammas, NOISE[noise](records, chance), [1 / n for n in records])


def paper_cost(landscape, records, gammas, kinds, turn=1.5):
    share = max(n / (g * sum(records)) for n, g in zip(records, gammas, strict=True))
    step = 2 / (share * landscape.stiffness[-1]) * 0.5**turn
    path = follow_paper(PaperRule(4, tuple(records), gammas, step, LAMBDA, 9.0), landscape, kinds, 600)
    return path.end(landscape)


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("sizes", SIZES)
def test_a_few_typical_owners_cost_what_all_of_them_do(landscape, sizes, noise, rates):
    records, gammas, kinds = crowd(sizes, noise, rates)
    assert kinds.counts.size > 50
    for turn in (1.5, 5.5):
        exact = paper_cost(landscape, records, gammas, kinds, turn)
        told = paper_cost(landscape, records, gammas, condense_but_the_loudest(kinds, 6), turn)
        compared = paper_cost(landscape, records, gammas, condense(kinds, 2), turn)
        assert told == pytest.approx(exact, rel=1e-4)
        assert compared == pytest.approx(exact, rel=1e-2)


def test_one_average_owner_is_not_enough(landscape):
    records, gammas, kinds = crowd("from tiny to huge", "all promises", "equal")
    exact = paper_cost(landscape, records, gammas, kinds)
    assert paper_cost(landscape, records, gammas, condense(kinds, 1)) != pytest.approx(exact, rel=1e-2)


@pytest.mark.parametrize("sizes", SIZES)
def test_owners_records_and_noise_are_kept(sizes):
    _, _, kinds = crowd(sizes, "one loud", "two")
    few = condense(kinds, 5)
    assert few.counts.size == 10
    assert few.owners == OWNERS
    for sums in (
        lambda k: k.counts @ k.availability,
        lambda k: k.counts @ k.shares,
        lambda k: k.counts @ k.shares**2,
        lambda k: k.counts @ (k.shares * k.deviations) ** 2,
        lambda k: k.counts @ k.differences,
    ):
        assert sums(few) == pytest.approx(sums(kinds), rel=1e-9)
    assert np.all(few.deviations >= 0)
    assert np.all(few.counts > 0)


def test_the_loudest_owner_still_wanders_as_far(landscape):
    records, gammas, kinds = crowd("uniform", "one loud", "equal")
    rule = PaperRule(4, tuple(records), gammas, 0.5, LAMBDA, 9.0)
    exact = follow_paper(rule, landscape, kinds, 600).reach(landscape)
    assert follow_paper(rule, landscape, condense_but_the_loudest(kinds, 6), 600).reach(landscape) == pytest.approx(
        exact, rel=1e-3
    )
    assert follow_paper(rule, landscape, condense(kinds, 6), 600).reach(landscape) < 0.9 * exact


def test_few_kinds_stay_as_they_are():
    kinds = OwnerGroups.of([10, 20, 30], [1 / 3] * 3, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(condense(kinds, 3).shares, kinds.shares)
    assert condense_but_the_loudest(kinds, 3) is kinds


def test_gauss_has_all_moments_up_to_its_degree():
    chance = np.random.default_rng(1)
    points, masses = chance.uniform(1, 3, size=50), chance.uniform(0.5, 2, size=50)
    nodes, weights = gauss(points, masses, 4)
    for degree in range(8):
        assert weights @ nodes**degree == pytest.approx(masses @ points**degree, rel=1e-10)
    assert weights @ nodes**8 != pytest.approx(masses @ points**8, rel=1e-7)


def test_gauss_of_fewer_points_than_nodes_ends_early():
    nodes, weights = gauss(np.array([1.0, 2.0, 2.0]), np.ones(3), 5)
    np.testing.assert_allclose(nodes, [1, 2])
    np.testing.assert_allclose(weights, [1, 2])


def test_variances_never_become_negative():
    points = np.linspace(1, 2, 40)
    masses = np.where(np.arange(40) == 13, 1e6, 1e-6)
    nodes, _ = gauss(points, np.ones(40), 6)
    assert np.any(masses @ owner_quadrature._interpolation(points, nodes) < 0)
    handed = owner_quadrature._hand_over(points, masses, nodes)
    assert np.all(handed >= 0)
    assert handed.sum() == pytest.approx(masses.sum())


@pytest.mark.parametrize("horizon", [1, 2, 3, 60, 601, 7680])
@pytest.mark.parametrize("step", [0.002, 0.05, 0.1])
def test_the_end_is_that_of_the_whole_way(landscape, horizon, step):
    records, _, kinds = crowd("from tiny to huge", "all promises", "two")
    rule = AveragedRule(4, tuple(records), step, horizon, LAMBDA, 9.0)
    assert end_averaged(rule, landscape, kinds) == pytest.approx(
        follow_averaged(rule, landscape, kinds).end(landscape), rel=1e-9
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("step[6, 4], step[6, 5], step[6, 6] = shift, carried, slope", "step[6, 4], step[6, 6] = shift, slope"),
        ("2 * step[6, :] + step[3, :]", "step[6, :] + step[3, :]"),
        (
            "_advance(state, _answer(motion[j], True), counted)",
            "_advance(state, _answer(motion[j], True), counted - 1)",
        ),
        ("for c in range(b, a + 1)", "for c in range(b + 1, a + 1)"),
    ],
)
def test_a_mistake_in_the_squaring_is_seen(landscape, mistaken, old, new):
    twin = mistaken(moments_averaged_final, old, new)
    records, _, kinds = crowd("uniform", "all promises", "equal")
    rule = AveragedRule(4, tuple(records), 0.05, 601, LAMBDA, 9.0)
    exact = follow_averaged(rule, landscape, kinds).end(landscape)
    assert twin.end_averaged(rule, landscape, kinds) != pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("place", range(14))
def test_the_best_step_of_the_ladder_is_found_with_fewer_trials(place):
    steps = [0.5**k for k in range(14)]
    asked = []

    def cost(step):
        asked.append(step)
        return 1 + np.log2(step / steps[place]) ** 2

    best, least = best_step(cost, steps)
    assert best == steps[place]
    assert least == 1
    assert len(asked) <= 14


def test_steps_that_are_not_stable_are_passed_over():
    best, _ = best_step(lambda step: np.nan if step > 0.1 else 1 / step, [0.5**k for k in range(14)])
    assert 0.05 < best <= 0.1


def test_what_is_beaten_by_far_is_not_looked_at_twice():
    steps, asked = [0.5**k for k in range(14)], []

    def cost(step):
        asked.append(step)
        return 1 + np.log2(step) ** 2

    best_step(cost, steps, beaten=1e-3)
    assert len(asked) == 5
    best_step(cost, steps, beaten=0.5)
    assert len(asked) > 10
