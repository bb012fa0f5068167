"""Public rows from elsewhere: intervals that hold, a twin that believes in its public rows, and answers that tell."""

from dataclasses import replace

import numpy as np
import pytest
from tests.shifted import MIXED, OBJECTIVE, TILT, P, cost, noise_model, population, rule_for, strangers, train

from copriv.forecast.forecast import Forecast
from copriv.forecast.foresight import Foresight, is_worth_telling
from copriv.forecast.shifts import from_elsewhere, given_distance, shift_costs
from copriv.rules.adaptive_state import AdaptiveState
from copriv.rules.difference import ALPHAS
from copriv.rules.newton import NewtonRule
from copriv.runtime.events import Note, Warned
from copriv.runtime.oracle import Oracle

OWNERS, DOUBT = 4, 0.7


def rule_of(samples, deviation=2e-3):
    return rule_for(population(2000, 0), samples, noise_model(OWNERS, deviation))


def elsewhere(size, seed):
    """Owners whose model differs by so much of the public one's, and their rows too."""
    mixing = np.eye(P) + size * (MIXED - np.eye(P))
    return [population(3000, 1000 * seed + i, model=(1 - size) * TILT, mixing=mixing) for i in range(OWNERS)]


@pytest.fixture(scope="module")
def trainings():
    """What was forecast for every size of a shift at two prices, and what became of it."""
    found = []
    for seed, (size, deviation) in enumerate([(size, std) for size in (0.03, 0.1, 0.3, 1) for std in (1e-3, 1e-2)], 1):
        samples = elsewhere(size, seed)
        rule = rule_of(samples, deviation)
        ahead = Foresight.of(rule)
        forecast = Forecast(ahead.predicted, 0.4 * ahead.predicted, 0.0, doubt=DOUBT, shifts=ahead.costs)
        for again in range(2):
            state, _ = train(rule, samples, again)
            found.append((forecast, cost(rule.model(state), samples)))
    return found


def inside(trainings, interval):
    return np.mean([low < psi < high for (low, high), psi in [(interval(ahead), psi) for ahead, psi in trainings]])


def test_intervals_hold_whatever_the_shift_and_a_twin_that_ignores_shifts_is_caught(trainings):
    assert inside(trainings, lambda ahead: ahead.elsewhere) >= 0.9
    assert inside(trainings, lambda ahead: replace(ahead, doubt=0.0, shifts=None).interval) < 0.6


def test_the_interval_from_elsewhere_holds_the_usual_one():
    ahead = Foresight.of(rule_of(elsewhere(0, 1)))
    forecast = Forecast(ahead.predicted, 0.4 * ahead.predicted, 0.0, doubt=DOUBT, shifts=ahead.costs)
    low, high = forecast.interval
    least, most = forecast.elsewhere
    assert least <= low < ahead.predicted < high < most
    assert forecast.without_shifts().elsewhere is None
    assert forecast.under(from_elsewhere()) == forecast.elsewhere


def test_costs_grow_with_the_shift_and_fall_with_the_budget():
    samples = elsewhere(0, 2)
    loud, soft = (Foresight.of(rule_of(samples, std)).costs.costs for std in (1e-2, 1e-3))
    assert np.all(np.diff(loud, axis=0) >= -1e-12)
    assert np.all(np.diff(loud, axis=2) >= 0)
    assert np.all(soft <= loud)


def test_without_second_moments_on_the_menu_nothing_gets_cheaper():
    rule = rule_of(elsewhere(0, 3))
    setting = rule.setting
    without = replace(setting.noise, kinds=("gradient",), second_moments_std=())
    poor = shift_costs(setting.geometry, setting.records, without, 1e-4).costs
    assert np.all(poor >= shift_costs(setting.geometry, setting.records, setting.noise, 1e-4).costs - 1e-15)


def test_what_an_owner_sees_at_home_tells_of_the_shift():
    near, far = (given_distance(squared, 1e-3, 0.5).sum(axis=1) for squared in (1e-3, 0.1))
    assert near[ALPHAS < 3e-3].sum() > 0.97
    assert far[(ALPHAS > 0.01) & (ALPHAS < 1)].sum() > 0.97
    assert near.sum() == pytest.approx(1)


def test_answers_move_the_forecast_towards_the_truth():
    samples = strangers(OWNERS)
    rule = rule_of(samples)
    ahead = Foresight.of(rule)
    state, _ = train(rule, samples)
    truth, found = cost(rule.model(state), samples), ahead.after(state)
    assert abs(np.log(found.relative_fitness / truth)) < 0.7 * abs(np.log(ahead.predicted / truth))
    assert found.interval[0] < truth < found.interval[1]
    assert not found.fits
    assert "these public rows do not fit" in found.verdict
    # A twin that never looks at the answers stays where it was.
    unmoved = ahead.after(AdaptiveState(state.questions, ()))
    assert abs(np.log(unmoved.relative_fitness / truth)) > abs(np.log(found.relative_fitness / truth))


def test_without_a_shift_the_forecast_stays_and_the_rows_fit():
    samples = elsewhere(0, 4)
    rule = rule_of(samples)
    ahead = Foresight.of(rule)
    state, _ = train(rule, samples)
    found = ahead.after(state)
    assert found.fits
    assert found.verdict == ""
    assert found.relative_fitness == pytest.approx(ahead.predicted, rel=0.5)
    assert found.words.startswith(f"ψ expected after {len(state.told)} answers: ")


@pytest.mark.parametrize(("samples", "warned"), [(strangers(OWNERS), True), (elsewhere(0, 5), False)])
def test_news_is_told_once_and_kept_in_any_case(samples, warned):
    rule, told, kept = rule_of(samples), [], []
    oracle = Oracle(rule, told.append, kept)
    state, _ = train(rule, samples)
    for answers in range(len(state.told) + 1):
        oracle.see(AdaptiveState(state.questions, state.told[:answers]))
    oracle.end()
    assert [each.answers for each in kept][:3] == [1, 2, 3]
    assert kept[-1].answers == len(state.told)
    assert sum(isinstance(event, Warned) for event in told) == int(warned)
    assert any(isinstance(event, Note) and "predicted before" in event.words for event in told) == warned


def test_rules_that_do_not_look_foresee_nothing():
    public = population(2000, 0)
    rule = NewtonRule.of(public, OBJECTIVE, records=[10], noise_std=[1.0], clip=1.0, norm=noise_model(1, 1.0).norm)
    assert Foresight.of(rule) is None
    told, kept = [], []
    oracle = Oracle(rule, told.append, kept)
    oracle.see(rule.begin())
    oracle.end()
    assert (told, kept) == ([], [])
    assert not is_worth_telling(0)
