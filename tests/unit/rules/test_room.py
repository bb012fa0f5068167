"""Second moments in the room of clipped gradients: what they say of the Hessian, and what that is worth.

Seeds are fixed, so nothing here fails by chance.
"""

from dataclasses import replace

import numpy as np
import pytest
from tests.shifted import (
    CLIP,
    MIXED,
    OBJECTIVE,
    P,
    answer_to,
    cost,
    labelled,
    noise_model,
    objective,
    population,
    rule_for,
    strangers,
    train,
)

from copriv.losses.filled import seen_second_moments
from copriv.losses.sample import Sample
from copriv.rules import adaptive_inference
from copriv.rules.adaptive_inference import _asked, _hessian, _pooled, inferred
from copriv.rules.difference import HessianObservation
from copriv.rules.geometry import PublicGeometry
from copriv.rules.reading import Reading
from copriv.rules.relabelled import relabelled
from copriv.rules.room import DOUBTS, agreement, choose_fill, read_together, room_at
from copriv.rules.rule import Ask
from copriv.vectors import Norm

OWNERS = 6


def geometry_of(public, clip=CLIP, norm=Norm.L1, of=OBJECTIVE):
    return PublicGeometry.of(public, of, clip, norm)


def true_change(geometry, samples):
    """By how much the Hessian of these records differs from the public one, in the geometry's coordinates."""
    curvature = geometry.objective.curvature(Sample.join(samples), geometry.start)
    return geometry.whiten.T @ curvature @ geometry.whiten - np.eye(geometry.parameters)


def reading(geometry, samples, fill):
    """What is read of records without noise, at the public model."""
    joint, loss = Sample.join(samples), geometry.objective.loss
    seen = seen_second_moments(loss, joint, geometry.start, (geometry.clip, fill), geometry.norm)
    return room_at(geometry, geometry.start, fill).change(seen)


@pytest.mark.parametrize("norm", list(Norm))
def test_most_public_rows_are_told_whole_where_half_of_the_clip_is_left(norm):
    public = population(4000, 0)
    fill, lengths = choose_fill(public, CLIP, norm), np.linalg.norm(public.columns, axis=0)
    sums = np.abs(public.columns).sum(axis=0)
    sizes = (sums**2 + lengths**2) / 2 if norm is Norm.L1 else lengths**2
    assert np.mean(0.99 * fill * sizes <= CLIP / 2) >= 0.95
    assert np.mean(1.01 * fill * sizes <= CLIP / 2) <= 0.95


def test_rows_without_length_leave_nothing_to_fill_with():
    assert choose_fill(Sample.of_rows(np.zeros((30, 3)), np.zeros(30)), CLIP, Norm.L1) == 0


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_records_like_the_public_rows_have_the_same_hessian(loss, norm):
    public = population(6000, 0, loss=loss)
    geometry = geometry_of(public, norm=norm, of=objective(loss))
    read = reading(geometry, [population(6000, 1, loss=loss)], choose_fill(public, CLIP, norm))
    assert np.max(np.abs(read)) < 0.1


@pytest.mark.parametrize("norm", list(Norm))
def test_the_hessian_of_another_population_is_read_where_rows_have_room(norm):
    public, samples = population(6000, 0), [population(6000, i, mixing=MIXED) for i in (1, 2)]
    geometry = geometry_of(public, norm=norm)
    true, read = true_change(geometry, samples), reading(geometry, samples, choose_fill(public, CLIP, norm))
    assert np.linalg.norm(true) > 2
    assert np.linalg.norm(read - true) < 0.25 * np.linalg.norm(true)


def test_the_more_is_told_of_each_row_the_fewer_are_whole():
    public, samples = population(6000, 0), [population(6000, 1, mixing=MIXED)]
    geometry, fill = geometry_of(public), choose_fill(population(6000, 0), CLIP, Norm.L1)
    true = true_change(geometry, samples)
    errors = [np.linalg.norm(reading(geometry, samples, part * fill) - true) for part in (0.1, 1, 10)]
    assert errors[0] < errors[1] < errors[2]


def observation(change, variance):
    return HessianObservation(np.asarray(change) * np.ones((2, 2)), np.full((2, 2), variance))


def test_readings_of_several_places_are_weighed_by_precision_and_doubted():
    both = read_together([observation(0.0, 0.01), observation(0.3, 0.02)], None, 0.02)
    np.testing.assert_allclose(both.change, 0.1)
    assert np.all(both.variance > 1 / 150)
    assert np.all(both.variance < 1.1 / 150)
    larger = read_together([observation(4.0, 0.01), observation(4.3, 0.02)], None, 0.02)
    assert np.all(larger.variance > both.variance)
    assert np.all(read_together([observation(4.0, 0.01)], None, 0.1).variance > larger.variance)


def test_what_noise_blurs_is_left_to_what_was_bought():
    bought = observation(0.5, 0.1)
    assert read_together([observation(9.0, 5.0)], bought, 0.02) is bought
    assert read_together([observation(9.0, 5.0)], None, 0.02) is None
    assert read_together([], bought, 0.02) is bought
    both = read_together([observation(0.4, 0.1)], bought, 0.02)
    np.testing.assert_allclose(both.change, 0.45, atol=0.01)


def costs(fill, deviation, runs=8):
    """ψ of trainings of strangers, filled or not, each with public rows of its own."""
    found = []
    for seed in range(runs):
        samples, public = strangers(OWNERS, 2000, 100 * seed), population(2000, seed)
        noise = noise_model(OWNERS, deviation, kinds=("gradient",), fill=fill)
        rule = rule_for(public, samples, noise)
        state, _ = train(rule, samples, seed)
        found.append(cost(rule.model(state), samples))
    return np.asarray(found)


@pytest.mark.parametrize("deviation", [5e-5, 3e-2])
def test_filled_gradients_cost_less_where_the_hessian_differs(deviation):
    """The same records and seeds for both; the twin's gradients are told alone."""
    fill = choose_fill(population(2000, 0), CLIP, Norm.L1)
    filled, alone = costs(fill, deviation), costs(0.0, deviation)
    assert np.exp(np.mean(np.log(filled / alone))) < 0.6


def doubted(state_of, fill, factor):
    """The variance of the reading that counts, of second moments that are told `factor` times too large."""
    samples, public = strangers(OWNERS, 2000), population(2000, 0)
    rule = rule_for(public, samples, noise_model(OWNERS, 1e-5, kinds=("gradient",), fill=fill))
    state = state_of(rule, samples)
    told = tuple(replace(one, values=np.append(one.values[:P], factor * one.values[P:])) for one in state.told)
    state = replace(state, told=told)
    pooled = [
        _pooled(rule.setting, each, 0.0)[0] for each in _asked(rule.setting, state, Reading(rule.setting.geometry))
    ]
    return _hessian(rule.setting, state, pooled).variance


def test_gradients_of_several_places_that_contradict_a_reading_raise_its_doubt():
    """Of one place they say nothing of the Hessian; of two, they agree better with the truth than with ten times it."""
    fill = choose_fill(population(2000, 0), CLIP, Norm.L1)

    def at(places):
        def state_of(rule, samples):
            state, generator = rule.begin(), np.random.default_rng(0)
            for theta in places(rule):
                for owner, sample in enumerate(samples):
                    ask = Ask(theta, "gradient", 20)
                    state = rule.learn(state, owner, answer_to(sample, ask, rule, owner, generator), ask)
            return state

        return state_of

    one, two = (
        at(lambda rule: [rule.setting.geometry.start]),
        at(lambda rule: [rule.setting.geometry.start, rule.setting.geometry.start + 0.2]),
    )
    assert np.mean(doubted(two, fill, 10.0)) > 20 * np.mean(doubted(one, fill, 10.0))
    assert np.mean(doubted(two, fill, 10.0)) > 20 * np.mean(doubted(two, fill, 1.0))


def test_the_state_keeps_filled_answers_to_the_last_bit():
    fill = choose_fill(population(2000, 0), CLIP, Norm.L1)
    samples = strangers(2, 500)
    rule = rule_for(population(1000, 0), samples, noise_model(2, 1e-3, fill=fill))
    state, _ = train(rule, samples, 1)
    assert {told.values.size for told in state.told if told.ask.kind == "gradient"} == {P + P * (P + 1) // 2}
    again = rule.unpack(rule.pack(state))
    assert rule.pack(again) == rule.pack(state)
    np.testing.assert_array_equal(rule.model(again), rule.model(state))


def test_labels_that_move_are_read_beside_the_moved_rows():
    """With other labels or rows, what is seen of the public ones is that of the changed ones."""
    public, samples = labelled(4000, 0), [labelled(3000, 10 + i, intercept=-0.5) for i in range(OWNERS)]
    of = objective("logistic", regularization=1e-3)
    fill = choose_fill(public, CLIP, Norm.L1)
    rule = rule_for(public, samples, noise_model(OWNERS, 1e-4, positives=1e-4, fill=fill), of)
    state, _ = train(rule, samples)
    setting = relabelled(rule.setting, state)
    assert setting.geometry is not rule.setting.geometry
    found, _ = inferred(setting, state)
    assert np.all(np.isfinite(found.hessian))
    assert cost(rule.model(state), samples, of) < 0.1 * cost(rule.setting.geometry.start, samples, of)


def test_bought_second_moments_that_contradict_a_reading_raise_its_doubt():
    """The twin that does not compare them takes the smallest doubt that gradients allow."""
    p = 3
    seen = HessianObservation(np.diag([11.0, 0.2, 0.1]), np.full((p, p), 1e-4))
    true, like = np.diag([69.0, 0.2, 0.1]), seen.change
    bought = [HessianObservation(change, np.full((p, p), 0.5)) for change in (true, like)]
    likely = [[agreement([seen], one, doubt) for doubt in DOUBTS] for one in bought]
    assert DOUBTS[int(np.argmax(likely[0]))] == DOUBTS[-1]
    assert max(likely[0]) - likely[0][0] > 100
    assert likely[1][0] == max(likely[1])
    assert agreement([seen], None, 0.1) == agreement([], bought[0], 0.1) == 0
    both = read_together([seen], bought[0], DOUBTS[-1])
    assert both.change[0, 0] > 65
    assert read_together([seen], bought[0], DOUBTS[0]).change[0, 0] < 20


def test_the_rule_compares_what_was_bought_with_what_was_read(monkeypatch):
    fill, samples = choose_fill(population(2000, 0), CLIP, Norm.L1), strangers(OWNERS, 2000)
    rule = rule_for(population(2000, 0), samples, noise_model(OWNERS, 1e-4, fill=fill))
    state, generator = rule.begin(), np.random.default_rng(0)
    for theta, kind in ((rule.setting.geometry.start, "gradient"), (np.zeros(P), "second_moments")):
        for owner, sample in enumerate(samples):
            ask = Ask(theta, kind, 20)
            values = answer_to(sample, ask, rule, owner, generator)
            if kind == "gradient":
                values = np.append(values[:P], 0.2 * values[P:])
            state = rule.learn(state, owner, values, ask)

    def off():
        hessian = _hessian(rule.setting, state, [])
        return np.abs(hessian.change - true_change(rule.setting.geometry, samples)).max()

    compared = off()
    monkeypatch.setattr(adaptive_inference, "agreement", lambda *_: 0.0)
    assert compared < 0.3 * off()
