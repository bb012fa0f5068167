"""Who stays where everybody was asked first: nobody under a strong shift, as one place says nothing of the Hessian.

Who stays tells a part first, and the rest once that part shows no shift either.
"""

from dataclasses import replace

import numpy as np
import pytest
from tests.shifted import MIXED, TILT, P, answer_to, cost, noise_model, population, rule_for, strangers, train

from copriv.rules import adaptive_questions
from copriv.rules.adaptive_newton import AdaptiveNewton
from copriv.rules.adaptive_questions import next_question
from copriv.rules.rule import Ask

OWNERS, DEVIATION = 12, 3e-3


def _looked(public, samples, deviation=DEVIATION):
    """A rule, and its state after everybody has answered the first question."""
    rule = rule_for(public, samples, noise_model(OWNERS, deviation))
    state, _ = train(rule, samples, order=range(OWNERS))
    assert len(state.questions) == 1
    return rule, state


def test_answers_of_one_place_become_finer_unless_a_strong_shift_is_known(monkeypatch):
    alike = [population(1000, 500 + i) for i in range(OWNERS)]
    rule, state = _looked(population(1500, 0), alike)
    next_question.cache_clear()
    assert next_question(rule.setting, state).finer is not None
    next_question.cache_clear()
    monkeypatch.setattr(adaptive_questions, "is_strong", lambda *_: True)
    assert next_question(rule.setting, state).finer is None
    next_question.cache_clear()


def test_strangers_are_asked_at_two_places_at_least():
    samples = strangers(OWNERS)
    rule, state = _looked(population(1500, 0), samples)
    assert adaptive_questions.is_strong(rule.setting, state)
    state, asked = train(rule, samples)
    places = {ask.theta.tobytes() for _, ask in asked if ask.kind == "gradient"}
    assert len(places) >= 2
    assert cost(rule.model(state), samples) < 0.1 * cost(rule.setting.geometry.start, samples)


def _little_apart():
    """Owners of nearly the public population, whose noise hides by how little they differ from it."""
    return [population(1000, 500 + i, model=0.9 * TILT) for i in range(OWNERS)]


def _nearly_alike_rule():
    return rule_for(population(1500, 0), _little_apart(), noise_model(OWNERS, 3e-2))


def test_who_is_near_stays_where_noise_makes_all_plans_cost_alike(monkeypatch):
    """Trainings with seeds 1, 4 and 6: asked at the model, which is hardly another one, owners would split budgets."""
    rule = _nearly_alike_rule()

    def places(seed):
        next_question.cache_clear()
        _, asked = train(rule, _little_apart(), seed=seed)
        assert all(sum(ask.share for who, ask in asked if who == owner) == 100 for owner in range(OWNERS))
        return len({ask.theta.tobytes() for _, ask in asked})

    assert [places(seed) for seed in (1, 4, 6)] == [1, 1, 1]
    monkeypatch.setattr(adaptive_questions, "_NEAR", 0.0)
    assert [places(seed) for seed in (1, 4, 6)] == [2, 2, 2]
    next_question.cache_clear()


def test_who_has_told_nothing_where_most_was_told_is_asked_at_the_model():
    """Owners asked elsewhere have told more than the look: of the others nobody goes back to where that was."""
    rule, samples, generator = _nearly_alike_rule(), _little_apart(), np.random.default_rng(7)
    start = rule.setting.geometry.start
    elsewhere, state = start + 1e-9, rule.begin()
    asks = [(owner, Ask(start, "gradient", 20)) for owner in range(OWNERS)]
    asks += [(owner, Ask(elsewhere, "gradient", 80)) for owner in range(OWNERS // 2)]
    for owner, ask in asks:
        state = rule.learn(state, owner, answer_to(samples[owner], ask, rule, owner, generator), ask)
    finer = next_question(rule.setting, state).finer
    assert np.array_equal(finer, elsewhere)
    last = rule.ask(state, OWNERS - 1)
    assert (last.share, last.before) == (80, 0)
    assert np.array_equal(last.theta, rule.model(state))


def _alike():
    return [population(1000, 500 + i) for i in range(OWNERS)]


def test_who_stays_tells_a_part_first_and_then_the_rest_at_the_same_model():
    samples = _alike()
    rule, state = _looked(population(1500, 0), samples)
    look, start = state.told[0].ask.share, rule.setting.geometry.start
    _, asked = train(rule, samples)
    for owner in range(OWNERS):
        asks = [ask for who, ask in asked if who == owner]
        assert [ask.level for ask in asks] == [look, 40, 100]
        assert all(np.array_equal(ask.theta, start) for ask in asks)
        assert sum(ask.share for ask in asks) == 100


def test_a_menu_without_a_level_between_lets_owners_tell_the_rest_at_once():
    samples, noise = _alike(), noise_model(OWNERS, DEVIATION, shares=(20, 60, 80, 100))
    _, asked = train(rule_for(population(1500, 0), samples, noise), samples)
    assert {ask.level for _, ask in asked} == {20, 100}


def test_who_was_not_looked_at_keeps_nothing():
    samples = _alike()
    rule = rule_for(population(1500, 0), samples, noise_model(OWNERS, DEVIATION))
    late = OWNERS - 1
    state, _ = train(rule, samples, order=[*range(late), 0])
    assert [question.kept for question in state.questions] == [0, 60]
    assert rule.ask(state, late).share == state.told[0].ask.share
    forgotten = replace(state, questions=state.questions[1:])
    assert rule.ask(forgotten, late).share == 100


def _others():
    """Owners of another population, that differs less than that of `strangers`."""
    mixing = np.eye(P) + 0.7 * (MIXED - np.eye(P))
    return [population(1000, 100 + i, model=-TILT / 20, mixing=mixing) for i in range(OWNERS)]


def _misled(rule, seed):
    """The cost of a training in which the look, by chance, tells nothing of a shift."""
    generator, alike, others, state = np.random.default_rng(seed), _alike(), _others(), rule.begin()
    for met, owner in enumerate(list(range(OWNERS)) * 20):
        ask = rule.ask(state, owner)
        if ask is not None:
            records = (alike if met < OWNERS else others)[owner]
            state = rule.learn(state, owner, answer_to(records, ask, rule, owner, generator), ask)
    return cost(rule.model(state), others)


def test_a_part_first_shows_a_shift_that_the_look_has_hidden(monkeypatch):
    """Means of six trainings are 0.04 and 3.4, where the public model has 3.3."""
    rule = rule_for(population(1500, 0), _alike(), noise_model(OWNERS, DEVIATION))
    in_parts = np.mean([_misled(rule, seed) for seed in range(3)])
    monkeypatch.setattr(adaptive_questions, "_LOOKED", 0)
    next_question.cache_clear()
    at_once = np.mean([_misled(AdaptiveNewton(rule.setting), seed) for seed in range(3)])
    next_question.cache_clear()
    assert in_parts < 0.1 * cost(rule.setting.geometry.start, _others())
    assert in_parts < 0.1 * at_once


@pytest.mark.parametrize("meetings", [OWNERS, OWNERS + 3, 2 * OWNERS, 2 * OWNERS + 5])
def test_what_is_kept_survives_a_checkpoint(meetings):
    samples = _alike()
    rule, _ = _looked(population(1500, 0), samples)
    state, _ = train(rule, samples, order=(list(range(OWNERS)) * 3)[:meetings])
    again = rule.unpack(rule.pack(state))
    assert [(one.kept, one.above) for one in again.questions] == [(one.kept, one.above) for one in state.questions]
    for owner in range(OWNERS):
        assert _words(rule.ask(state, owner)) == _words(rule.ask(again, owner))


def _words(ask):
    return ask and (ask.share, ask.before, ask.theta.tobytes())
