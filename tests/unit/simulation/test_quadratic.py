"""Simulation from sufficient statistics: the same algorithm as the live one, only faster."""

import numpy as np
import pytest
from numba import set_num_threads
from scipy import stats

from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.objective import Objective, relative_fitness
from copriv.losses.optimum import minimise
from copriv.losses.passes import average_gradient
from copriv.losses.sample import Sample
from copriv.rules.paper import CentralStep, PaperRule
from copriv.schedule.poisson import availability
from copriv.simulation.quadratic import Noise, SufficientStatistics, simulate

SIZES = (400, 900, 300)


@pytest.fixture(scope="module")
def samples():
    generator = np.random.default_rng(0)
    found = []
    for size in SIZES:
        rows = generator.normal(size=(size, 4)) / 3
        found.append(
            Sample.of_rows(rows, np.clip(rows @ [0.5, -0.3, 0.2, 0.1] + 0.1 * generator.normal(size=size), -1, 1))
        )
    return found


def _rule(step=0.3, rates=(1.0, 1.0, 1.0), central=CentralStep.PROOF):
    return PaperRule(4, SIZES, tuple(availability(rates).tolist()), step, 1e-4, 5.0, central)


def _live(samples, rule, met, noise):
    """The learner's own rule, answer by answer, over the records."""
    objective, joint = Objective(choose("squared"), 1e-4, 5.0), Sample.join(samples)
    best = objective.fitness(joint, minimise(objective, joint))
    state, path = rule.begin(), []
    for owner, extra in zip(met, noise, strict=True):
        answer = average_gradient(choose("squared"), samples[owner], rule.question(state, owner)) + extra
        state = rule.absorb(state, owner, answer)
        path.append(relative_fitness(objective.fitness(joint, rule.model(state)), best))
    return np.array(path)


@pytest.mark.parametrize("central", list(CentralStep))
@pytest.mark.parametrize("rates", [(1.0, 1.0, 1.0), (1.0, 2.0, 5.0)])
def test_without_noise_every_iterate_is_the_live_one(samples, rates, central):
    rule = _rule(rates=rates, central=central)
    paths = simulate(
        rule, [SufficientStatistics.of(s) for s in samples], Noise.none(3, 150), horizon=150, runs=3, seed=2
    )
    for psi, met in zip(paths.psi, paths.met, strict=True):
        np.testing.assert_allclose(psi, _live(samples, rule, met, np.zeros((150, 4))), atol=1e-10)
    assert len({tuple(met) for met in paths.met}) == 3
    np.testing.assert_array_equal(paths.answers, [np.bincount(met, minlength=3) for met in paths.met])


def test_the_same_seed_gives_the_same_bits_on_any_number_of_cores(samples, monkeypatch):
    from copriv.simulation import quadratic

    statistics = [SufficientStatistics.of(s) for s in samples]
    noise = Noise("laplace", np.full(3, 0.1), np.full(3, 30, dtype=np.int64))
    together = simulate(_rule(), statistics, noise, horizon=100, runs=5, seed=1)
    monkeypatch.setattr(quadratic, "set_num_threads", lambda _: set_num_threads(1))
    alone = simulate(_rule(), statistics, noise, horizon=100, runs=5, seed=1)
    assert np.array_equal(together.psi, alone.psi)
    assert not np.array_equal(together.psi, simulate(_rule(), statistics, noise, horizon=100, runs=5, seed=2).psi)


def test_fewer_runs_are_the_first_of_more(samples):
    """A run depends on the seed and its number only, so studies can be extended."""
    statistics = [SufficientStatistics.of(s) for s in samples]
    noise = Noise("gaussian", np.full(3, 0.1), np.full(3, 100, dtype=np.int64))
    few, more = (simulate(_rule(), statistics, noise, horizon=60, runs=n, seed=1) for n in (2, 6))
    assert np.array_equal(few.psi, more.psi[:2])


def test_long_horizons_are_run_in_pieces_without_a_seam(samples, monkeypatch):
    from copriv.simulation import quadratic

    statistics = [SufficientStatistics.of(s) for s in samples]
    noise = Noise("laplace", np.full(3, 0.1), np.full(3, 30, dtype=np.int64))
    whole = simulate(_rule(), statistics, noise, horizon=97, runs=2, seed=1)
    monkeypatch.setattr(quadratic, "_NUMBERS_AT_ONCE", 80)
    np.testing.assert_array_equal(simulate(_rule(), statistics, noise, horizon=97, runs=2, seed=1).psi, whole.psi)


def test_caps_silence_owners(samples):
    noise = Noise("laplace", np.full(3, 0.1), np.array([0, 5, 500]))
    paths = simulate(_rule(), [SufficientStatistics.of(s) for s in samples], noise, horizon=200, runs=2, seed=1)
    assert paths.answers[:, 0].tolist() == [0, 0]
    assert paths.answers[:, 1].tolist() == [5, 5]


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_noisy_runs_have_the_distribution_of_live_ones(samples, kind):
    """Two-sample Kolmogorov–Smirnov on ψ at the end, level 1e-3, fixed seeds; 1.5 times the noise is told apart."""
    rule, deviation, generator = _rule(), 0.2, np.random.default_rng(5)
    draw = (
        (lambda: generator.laplace(scale=deviation / 2**0.5, size=(60, 4)))
        if kind == "laplace"
        else (lambda: generator.normal(scale=deviation, size=(60, 4)))
    )
    live = [_live(samples, rule, generator.integers(3, size=60), draw())[-1] for _ in range(150)]
    statistics = [SufficientStatistics.of(s) for s in samples]

    def ends(scale):
        noise = Noise(kind, np.full(3, scale * deviation), np.full(3, 60, dtype=np.int64))
        return simulate(rule, statistics, noise, horizon=60, runs=400, seed=3).psi[:, -1]

    assert stats.ks_2samp(live, ends(1.0)).pvalue > 1e-3
    assert stats.ks_2samp(live, ends(1.5)).pvalue < 1e-3


def test_owners_of_one_kind_share_their_statistics(samples):
    kinds = np.array([0, 1, 0, 1, 0])
    two = [SufficientStatistics.of(samples[0]), SufficientStatistics.of(samples[1])]
    sizes = tuple(two[kind].records for kind in kinds)
    rule = PaperRule(4, sizes, (0.2,) * 5, 0.3, 1e-4, 5.0)
    arguments = {"horizon": 80, "runs": 2, "seed": 1}
    shared = simulate(rule, two, Noise.none(5, 80), statistic_of=kinds, **arguments)
    listed = simulate(rule, [two[kind] for kind in kinds], Noise.none(5, 80), **arguments)
    np.testing.assert_allclose(shared.psi, listed.psi, atol=1e-12)


def test_what_does_not_fit_together_is_refused(samples):
    statistics = [SufficientStatistics.of(s) for s in samples]
    with pytest.raises(BadInput, match="of 3 owners"):
        simulate(_rule(), statistics, Noise.none(2, 10), horizon=10, runs=1, seed=0)
    wrong = PaperRule(5, SIZES, (1 / 3,) * 3, 0.3, 1e-4, 5.0)
    with pytest.raises(BadInput, match="features"):
        simulate(wrong, statistics, Noise.none(3, 10), horizon=10, runs=1, seed=0)
