"""Moments against the simulation kernel: E ψ within three standard errors everywhere, and no mistake goes unseen."""

import functools
import zlib
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.forecast import moments, moments_averaged, moments_paper
from copriv.forecast.moments import averaged_moments, paper_moments, tell
from copriv.forecast.moments_heterogeneous import follow_averaged_apart, follow_paper_apart
from copriv.forecast.owner_groups import OwnerGroups
from copriv.forecast.spectrum import Spectrum
from copriv.losses.quadratic import SufficientStatistics
from copriv.rules.averaged import AveragedRule
from copriv.rules.paper import CentralStep, PaperRule
from copriv.schedule.poisson import availability
from copriv.simulation.averaged import simulate_averaged
from copriv.simulation.quadratic import Noise, simulate

LAMBDA, WIDE, RUNS = 0.02, 1e9, 500
SIZES = {"one": (400,), "equal": (300,) * 3, "unequal": (100, 900, 400, 100), "many": (200,) * 12}
NOISE = {"equal": lambda n: [0.4] * n, "unequal": lambda n: [0.1 + 0.9 * i / n for i in range(n)]}
RATES = {"equal": lambda n: [1.0] * n, "unequal": lambda n: [1.0 + i % 3 for i in range(n)]}
SETTINGS = [(15, 0.5), (60, 0.25), (150, 0.06)]


def make_statistics(records, parameters=3, seed=0, tilt=0.0):
    """Of records around a true model; `tilt` moves that model."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(records, parameters)) / 2 * np.linspace(0.6, 1.2, parameters)
    truth = np.linspace(-0.6, 0.7, parameters) + tilt
    targets = rows @ truth + 0.3 * generator.normal(size=records)
    return SufficientStatistics(
        2 * rows.T @ rows / records, 2 * rows.T @ targets / records, float(np.mean(targets**2)), records
    )


@dataclass(frozen=True)
class Cell:
    rule: str
    sizes: str
    noise: str
    rates: str
    horizon: int
    step: float
    central: CentralStep
    own: bool

    @property
    def statistics(self):
        sizes = SIZES[self.sizes]
        if self.own:
            return tuple(make_statistics(n, seed=i + 1, tilt=0.3 * (i % 2)) for i, n in enumerate(sizes))
        return tuple(replace(make_statistics(2000), records=n) for n in sizes)

    @property
    def deviations(self):
        return NOISE[self.noise](len(SIZES[self.sizes]))

    @property
    def gammas(self):
        return tuple(availability(RATES[self.rates](len(SIZES[self.sizes]))).tolist())

    def made(self):
        sizes = SIZES[self.sizes]
        if self.rule == "paper":
            return PaperRule(3, sizes, self.gammas, self.step, LAMBDA, WIDE, self.central)
        return AveragedRule(3, sizes, self.step, self.horizon, LAMBDA, WIDE)


def _grid():
    """Every combination of sizes, noise and rates; horizon, step, central step and owners' statistics take turns."""
    cells = []
    for number, (rule, sizes, noise, rates) in enumerate(product(("paper", "averaged"), SIZES, NOISE, RATES)):
        for turn in range(2):
            horizon, step = SETTINGS[(number + turn) % len(SETTINGS)]
            central = list(CentralStep)[(number // 2 + turn) % 2]
            cells.append(Cell(rule, sizes, noise, rates, horizon, step, central, bool(turn)))
    return cells


GRID = _grid()


@functools.cache
def simulated(cell):
    """ψ at the end of many runs, with a seed of its own."""
    seed = zlib.crc32(repr(cell).encode())
    noise = Noise("laplace", np.asarray(cell.deviations), np.full(len(cell.deviations), 10**6))
    if cell.rule == "paper":
        paths = simulate(cell.made(), cell.statistics, noise, horizon=cell.horizon, runs=RUNS, seed=seed)
        return paths.psi[:, -1]
    return simulate_averaged(cell.made(), cell.statistics, noise, runs=RUNS, seed=seed, availability=cell.gammas).psi


def worked_out(cell):
    if cell.rule == "paper":
        return paper_moments(cell.made(), cell.statistics, cell.deviations, cell.horizon)
    return averaged_moments(cell.made(), cell.statistics, cell.deviations, cell.gammas)


def errors(cells):
    """By how many standard errors of the mean each cell's simulation misses the moments."""
    found = []
    for cell in cells:
        psi = simulated(cell)
        found.append((worked_out(cell).expected[-1] - psi.mean()) / (psi.std() / np.sqrt(RUNS)))
    return np.abs(found)


def test_expected_fitness_is_that_of_simulation_on_the_whole_grid():
    missed = errors(GRID)
    assert len(GRID) >= 50
    assert np.max(missed) < 3, GRID[int(np.argmax(missed))]
    assert np.mean(missed**2) < 1.5


PAPER_MISTAKES = [
    ("(p_l + 2 * m_lo[a] + p[a]) / 4", "(p_l + 1.8 * m_lo[a] + p[a]) / 4"),
    ("central / 2 * seen[a]", "central / 2.2 * seen[a]"),
    ("rule.step / kinds.availability", "rule.step * kinds.counts.sum() * np.ones_like(kinds.availability)"),
    ("lam / rule.owners + np.outer", "lam + np.outer"),
    ("(pull * kinds.deviations) ** 2", "1.1 * (pull * kinds.deviations) ** 2"),
    ("- 2 * lam * kinds.shares[:, None])", "- lam * kinds.shares[:, None])"),
    ("stay + left[b]) * row[b] + turn", "stay + left[b]) * row[b] + 1.05 * turn"),
    ("-gammas[a] * row[a]", "0.0 * row[a]"),
]
AVERAGED_MISTAKES = [
    ("square += 2 * cross + q", "square += 1.8 * cross + q"),
    ("slope * cross + shift * total", "0.95 * slope * cross + shift * total"),
    ("(pulls * kinds.deviations) ** 2", "1.1 * (pulls * kinds.deviations) ** 2"),
    ("rule.step * kinds.owners * kinds.shares", "rule.step * kinds.owners * kinds.shares**1.05"),
    ("rule.horizon // 2,", "rule.horizon // 3,"),
]


def _alike(rule):
    return [cell for cell in GRID if cell.rule == rule and not cell.own]


@pytest.mark.parametrize(("old", "new"), PAPER_MISTAKES)
def test_a_mistake_in_one_coefficient_of_algorithm_1_fails_the_test(mistaken, monkeypatch, old, new):
    monkeypatch.setattr(moments, "follow_paper", mistaken(moments_paper, old, new).follow_paper)
    assert np.max(errors(_alike("paper"))) > 3


@pytest.mark.parametrize(("old", "new"), AVERAGED_MISTAKES)
def test_a_mistake_in_one_coefficient_of_averaged_steps_fails_the_test(mistaken, monkeypatch, old, new):
    monkeypatch.setattr(moments, "follow_averaged", mistaken(moments_averaged, old, new).follow_averaged)
    assert np.max(errors(_alike("averaged"))) > 3


@pytest.mark.parametrize("cell", _alike("paper") + _alike("averaged"), ids=str)
def test_decoupled_and_coupled_moments_are_the_same(cell):
    fast = worked_out(cell)
    if cell.rule == "paper":
        slow = follow_paper_apart(cell.made(), cell.statistics, cell.deviations, cell.horizon)
    else:
        slow = follow_averaged_apart(cell.made(), cell.statistics, cell.deviations, cell.gammas)
    np.testing.assert_allclose(fast.expected, slow.expected(), rtol=1e-9)
    np.testing.assert_allclose(fast.distance, slow.distance(), rtol=1e-9)


def test_the_whole_path_is_expected():
    cell = GRID[8]
    noise = Noise("gaussian", np.asarray(cell.deviations), np.full(len(cell.deviations), 10**6))
    paths = simulate(cell.made(), cell.statistics, noise, horizon=cell.horizon, runs=2000, seed=1)
    found = worked_out(cell)
    np.testing.assert_allclose(found.expected[1:], paths.psi.mean(axis=0)[1:], rtol=0.1)


@pytest.mark.parametrize("rule", ["paper", "averaged"])
@pytest.mark.parametrize("own", [False, True])
def test_the_deviation_of_a_gaussian_model_is_about_that_of_simulation(rule, own):
    cell = Cell(rule, "unequal", "equal", "equal", 150, 0.06, CentralStep.PROOF, own)
    assert worked_out(cell).deviation[-1] == pytest.approx(simulated(cell).std(), rel=0.15)


def _differing(rule, sizes, gammas, scale, draws):
    """Simulated f(θ) − f* for owners whose offsets are drawn anew, and the moments that foretell its mean."""
    base, generator = make_statistics(2000), np.random.default_rng(3)
    spread = scale * np.diag([1.0, 0.5, 2.0])
    landscape = Spectrum.of(base, LAMBDA, spread)
    kinds = OwnerGroups.of(sizes, gammas, [0.1] * len(sizes), [1 / n for n in sizes])
    noise = Noise("gaussian", np.full(len(sizes), 0.1), np.full(len(sizes), 10**6))
    excess = []
    for draw in range(draws):
        moved = [generator.multivariate_normal(np.zeros(3), spread / n) for n in sizes]
        parts = [replace(base, offset=base.offset + d, records=n) for d, n in zip(moved, sizes, strict=True)]
        joint = SufficientStatistics.joint(parts)
        best = joint.fitness(joint.minimiser(LAMBDA), LAMBDA)
        if isinstance(rule, PaperRule):
            psi = simulate(rule, parts, noise, horizon=100, runs=4, seed=draw).psi[:, -1]
        else:
            psi = simulate_averaged(rule, parts, noise, runs=4, seed=draw, availability=gammas).psi
        excess.append(psi.mean() * best)
    path = (
        moments_paper.follow_paper(rule, landscape, kinds, 100)
        if isinstance(rule, PaperRule)
        else moments_averaged.follow_averaged(rule, landscape, kinds)
    )
    return np.asarray(excess), tell(path, landscape).expected[-1] * landscape.best


@pytest.mark.parametrize("kind", ["paper", "averaged"])
@pytest.mark.parametrize("sizes", [(50, 50, 50), (20, 200, 20, 60)])
def test_owners_that_differ_by_sampling_are_foretold(kind, sizes):
    gammas = tuple(availability([1.0 + (i % 2) for i in range(len(sizes))]).tolist())
    rule = (
        PaperRule(3, sizes, gammas, 0.2, LAMBDA, WIDE)
        if kind == "paper"
        else AveragedRule(3, sizes, 0.4, 100, LAMBDA, WIDE)
    )
    excess, expected = _differing(rule, sizes, gammas, 2.0, 300)
    assert abs(excess.mean() - expected) < 3 * excess.std() / np.sqrt(excess.size)
    alike = _differing(rule, sizes, gammas, 1e-12, 1)[1]
    assert abs(excess.mean() - alike) > 3 * excess.std() / np.sqrt(excess.size)


def test_the_kernel_of_averaged_steps_is_the_rule():
    sizes = (300, 500, 200)
    rule = AveragedRule(3, sizes, 0.3, 41, LAMBDA, 0.5)
    parts = [make_statistics(n, seed=n) for n in sizes]
    runs = simulate_averaged(rule, parts, Noise("none", np.zeros(3), np.asarray([9, 40, 40])), runs=3, seed=2)
    for model, met in zip(runs.models, runs.met, strict=True):
        state, left = rule.begin(), [9, 40, 40]
        for owner in met:
            if left[owner] > 0:
                left[owner] -= 1
                state = rule.absorb(state, owner, parts[owner].curvature @ state.central - parts[owner].offset)
        np.testing.assert_allclose(model, rule.model(state), atol=1e-12)


def test_equal_owners_are_one_kind_however_many():
    kinds = OwnerGroups.of([10] * 5000, [1 / 5000] * 5000, [1.0] * 5000)
    assert kinds.counts.tolist() == [5000.0]
    assert kinds.owners == 5000


@pytest.mark.parametrize(
    ("records", "gammas", "noise"),
    [((), (), ()), ((5, 5), (0.5, 0.5), (1.0,)), ((5, 0), (0.5, 0.5), (1.0, 1.0)), ((5,), (0.4,), (1.0,)),
     ((5,), (1.0,), (-1.0,)), ((5,), (1.0,), (np.nan,))],
)  # fmt: skip
def test_owners_that_make_no_sense_are_refused(records, gammas, noise):
    with pytest.raises(BadInput):
        OwnerGroups.of(records, gammas, noise)


def test_statistics_of_other_owners_and_an_empty_horizon_are_refused():
    rule = PaperRule(3, (300,), (1.0,), 0.1, LAMBDA, WIDE)
    with pytest.raises(BadInput, match="statistics"):
        paper_moments(rule, [make_statistics(200)], [0.1], 10)
    with pytest.raises(BadInput, match="horizon"):
        paper_moments(rule, [make_statistics(300)], [0.1], 0)
