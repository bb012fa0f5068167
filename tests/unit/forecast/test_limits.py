"""Limits are below what is forecast; one noise for all is that of merged owners; information binds where it should."""

import math

import numpy as np
import pytest

from copriv.forecast import limits as limits_module
from copriv.forecast.limits import clipped_moments, find_limits, times
from copriv.forecast.staircase import Body
from copriv.losses.sample import Sample
from copriv.planning.outline import gather_evidence, outline_of
from copriv.planning.scenario import Scenario
from copriv.planning.search import work_out
from copriv.planning.training_spec import TrainingSpec
from copriv.privacy.guarantee import Guarantee
from copriv.rules.public_moments import PublicMoments
from copriv.vectors import Norm

SPEC = TrainingSpec(guarantees=(Guarantee.of(1),))


def population(records, parameters=6):
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(records, parameters)) * np.linspace(0.1, 0.4, parameters)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    noise = 0.05 * generator.standard_t(4, size=records)
    return Sample.of_rows(rows, np.clip(rows @ np.linspace(-0.5, 0.5, parameters) + noise, -1, 1))


EVIDENCE = gather_evidence(population(3000), SPEC)


def candidate(scenario, rule="newton"):
    return work_out(outline_of(scenario, EVIDENCE, SPEC), rule)


def limits(scenario, module=limits_module):
    return module.find_limits(candidate(scenario).setting, EVIDENCE)


UNLIKE = ((9000, 700, 40), (2.0, 0.3, 8.0))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 10.0, 60.0])
def test_every_forecast_is_above_every_limit(epsilon, delta):
    for records in ([5000], [2000] * 12, [30] * 3, [100_000, 10, 10]):
        chosen = candidate(Scenario(records, epsilon, delta, accountant="zcdp"))
        found = find_limits(chosen.setting, EVIDENCE)
        assert 0 < found.one_noise <= found.best_noise < chosen.relative_fitness


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("heterogeneity", [0.0, 0.01])
def test_owners_may_differ(delta, heterogeneity):
    records, epsilon = UNLIKE
    chosen = candidate(Scenario(records, epsilon, delta, heterogeneity=heterogeneity, accountant="zcdp"))
    found = find_limits(chosen.setting, EVIDENCE)
    assert 0 < found.one_noise < found.best_noise < chosen.relative_fitness


def test_a_rule_does_not_change_the_limit_and_is_held_against_it_all_the_same():
    scenario = Scenario([4000] * 5, 1.0)
    statistics = candidate(scenario, "statistics")
    found = find_limits(statistics.setting, EVIDENCE)
    assert found == limits(scenario)
    assert times(statistics.relative_fitness, found.best_noise) > times(
        candidate(scenario).relative_fitness, found.best_noise
    )


def merged(module):
    """What one noise for all costs ten owners, over what the best noise costs one owner of all their records."""
    apart, together = Scenario([2000] * 10, 1.0), Scenario([20_000], 1.0)
    return limits(apart, module).one_noise / limits(together, module).best_noise


def test_one_noise_for_all_is_the_best_noise_of_merged_owners(mistaken):
    assert merged(limits_module) == pytest.approx(1, rel=1e-9)
    louder = mistaken(
        limits_module, "max(noise.variances) * (2 / self.total) ** 2", "max(noise.variances) / self.total"
    )
    assert merged(louder) > 1.1


def test_one_strict_owner_does_not_make_the_noise_of_all_loud():
    """By records its promise would ask for a hundred times the noise, so it counts less."""
    crowd, strict = Scenario([5000] * 10, 1.0), Scenario([5000] * 10 + [50], [1.0] * 10 + [0.01])
    assert limits(strict).one_noise < 1.1 * limits(crowd).one_noise


@pytest.mark.parametrize(("body", "norm"), [(Body.CROSS, Norm.L1), (Body.BALL, Norm.L2)])
def test_moments_under_a_clip_are_those_of_the_rule(body, norm):
    for clip in (0.05, 0.2, 1.0):
        found = clipped_moments(EVIDENCE, body, clips=[clip])[0]
        known = PublicMoments.of(EVIDENCE.sample, EVIDENCE.objective, clip, norm, EVIDENCE.start)
        price = np.diag(known.sampled.T @ np.linalg.solve(known.curvature, known.sampled)) / 2
        assert found.spread == pytest.approx(known.spread)
        assert found.price == pytest.approx(price)
        assert found.unexplained == pytest.approx(known.unexplained, abs=1e-9 * float(price @ known.spread))


def test_a_cube_hides_less_than_a_ball_of_the_same_bound():
    hidden = {body: clipped_moments(EVIDENCE, body, clips=[0.05])[0].unexplained for body in Body}
    assert hidden[Body.CUBE] < hidden[Body.BALL] < hidden[Body.CROSS]


def test_laplace_noise_is_near_the_best_at_small_epsilon_and_further_off_at_large():
    ratios = {}
    for epsilon in (0.1, 1.0, 10.0):
        chosen = candidate(Scenario([10_000] * 10, epsilon))
        ratios[epsilon] = times(chosen.relative_fitness, find_limits(chosen.setting, EVIDENCE).best_noise)
    assert 1 < ratios[0.1] < 1.3
    assert 1 < ratios[1.0] < 1.8
    assert 2 < ratios[10.0] < 3.3


def test_the_information_limit_binds_where_promises_are_small_for_the_records():
    # √(p/n) = 0.032: below about twice of it promises tell less than records do.
    assert limits(Scenario([6000] * 4, 0.05)).binding == 4
    assert limits(Scenario([6000] * 4, 0.08)).binding == 0
    assert limits(Scenario([6000, 60], 0.08)).binding == 1
    free, bound = limits(Scenario([6000] * 4, 1.0)).information, limits(Scenario([6000] * 4, 0.02)).information
    assert free == pytest.approx(EVIDENCE.view.excess_risk_rate / 27_000 / EVIDENCE.view.fitness, rel=1e-3)
    assert 1.5 * free < bound < EVIDENCE.view.excess_risk_rate / 3000 / EVIDENCE.view.fitness


def test_with_delta_gaussian_noise_takes_part_and_is_the_best_for_many_numbers():
    wide = gather_evidence(population(1000, 40), SPEC)
    scenarios = (Scenario([2000] * 5, 0.5, delta, accountant="zcdp") for delta in (0.0, 1e-6))
    outlines = (outline_of(scenario, wide, SPEC) for scenario in scenarios)
    settings = (outline.setting("newton", (1,) * 5, clip=1.0, step=0.0) for outline in outlines)
    pure, gaussian = (find_limits(setting, wide) for setting in settings)
    assert (pure.noise, gaussian.noise, gaussian.body) == ("staircase", "gaussian", "L2 ball")
    assert gaussian.best_noise < pure.best_noise
    assert gaussian.one_noise < pure.one_noise


def test_nothing_is_infinitely_many_times_nothing():
    assert times(1.0, 0.0) == math.inf
