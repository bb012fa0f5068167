"""Records whose targets have moved along with their model: what the clip took is read between two guesses.

Seeds are fixed, so nothing here fails by chance.
"""

import numpy as np
import pytest
from tests.shifted import CLIP, MIXED, OBJECTIVE, TILT, P, cost, noise_model, objective, population, rule_for, train

from copriv.losses.passes import average_gradient, clipped_average_gradient
from copriv.losses.sample import Sample
from copriv.rules import reading as module
from copriv.rules.adaptive_inference import inferred
from copriv.rules.geometry import PublicGeometry
from copriv.rules.reading import Reading
from copriv.vectors import Norm

# So short a clip shortens most gradients at the public model, and a few at the best one.
SHORT = 0.25
OWNERS, AWAY = 6, 0.3


def of_another_model(records, seed, away=AWAY):
    """Rows as the public ones are, targets around another model."""
    return population(records, seed, model=TILT * (1 - away))


def errors_of_readings(samples, theta, moved, public, clip=SHORT):
    """Squared errors of deviations that are read as at first, and with the model known to have moved."""
    joint = Sample.join(samples)
    geometry = PublicGeometry.of(public, OBJECTIVE, clip, Norm.L1)
    told = clipped_average_gradient(OBJECTIVE.loss, joint, theta, clip, Norm.L1)
    full = average_gradient(OBJECTIVE.loss, joint, theta) - average_gradient(OBJECTIVE.loss, public, theta)
    true = geometry.whiten.T @ full
    readings = Reading(geometry), Reading(geometry, moved, apart=1.0)
    return [float(np.sum((each.deviations(theta, told[None])[0] - true) ** 2)) for each in readings]


def test_targets_that_move_with_the_model_are_read_better_at_both_ends_of_the_way():
    public, samples = population(4000, 0), [of_another_model(4000, 100 + i) for i in range(3)]
    for theta in (TILT, TILT * (1 - AWAY)):
        first, second = errors_of_readings(samples, theta, -AWAY * TILT, public)
        assert second < 0.4 * first


def test_rows_that_lie_elsewhere_under_the_same_model_are_read_as_before():
    public, samples = population(4000, 0), [population(4000, 100 + i, mixing=MIXED) for i in range(3)]
    first, second = errors_of_readings(samples, TILT * 0.7, np.zeros(P), public)
    assert second == first


def _costs(between, monkeypatch, seeds=range(6)):
    monkeypatch.setattr(module, "_BETWEEN", between)
    found = []
    for seed in seeds:
        samples = [of_another_model(2000, 100 * seed + i) for i in range(OWNERS)]
        rule = rule_for(population(1000, seed), samples, noise_model(OWNERS, 2e-4, clip=SHORT))
        state, _ = train(rule, samples, seed=seed)
        found.append(cost(rule.model(state), samples))
    return float(np.mean(found))


def test_trainings_cost_less_than_with_a_twin_that_reads_once(monkeypatch):
    """Without noise to speak of what is left is the clip."""
    inferred.cache_clear()
    ours = _costs(module._BETWEEN, monkeypatch)
    inferred.cache_clear()
    assert ours < 0.75 * _costs(0.0, monkeypatch)


def _found(samples, public, *, loss="squared", clip=CLIP, meetings=None):
    rule = rule_for(public, samples, noise_model(len(samples), 1e-3, clip=clip), objective(loss))
    state, _ = train(rule, samples, order=meetings)
    return rule.setting, inferred(rule.setting, state)[0]


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_other_losses_are_read_once(loss):
    samples = [population(2000, 100 + i, model=-TILT, loss=loss) for i in range(3)]
    setting, found = _found(samples, population(1000, 0, loss=loss), loss=loss)
    assert len(found.observations) > 1
    assert Reading(setting.geometry).again(found) is None


def test_answers_of_one_place_are_read_once_and_those_of_two_again():
    samples, public = [of_another_model(2000, 100 + i) for i in range(3)], population(1000, 0)
    setting, look = _found(samples, public, clip=SHORT, meetings=range(3))
    assert len(look.observations) == 1
    assert Reading(setting.geometry).again(look) is None
    setting, found = _found(samples, public, clip=SHORT)
    again = Reading(setting.geometry).again(found)
    assert again is not None
    assert again.moved is not None
    assert np.linalg.norm(again.moved + AWAY * TILT) < 0.5 * np.linalg.norm(AWAY * TILT)
    assert again.apart > 0.9


def test_without_another_population_or_a_clip_nothing_changes():
    public = population(1000, 0)
    answers, theta = np.ones((1, P)), TILT * 0.5
    for geometry, apart in (
        (PublicGeometry.of(public, OBJECTIVE, SHORT, Norm.L1), 0.0),
        (PublicGeometry.of(public, OBJECTIVE, 1e6, Norm.L1), 1.0),
    ):
        first, second = Reading(geometry), Reading(geometry, TILT, apart)
        np.testing.assert_allclose(second.deviations(theta, answers), first.deviations(theta, answers), atol=1e-12)
        np.testing.assert_allclose(second.doubt(theta), first.doubt(theta), atol=1e-12)
