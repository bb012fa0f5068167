"""Who stays where everybody was asked first: nobody under a strong shift, as one place says nothing of the Hessian."""

from tests.shifted import cost, noise_model, population, rule_for, strangers, train

from copriv.rules import adaptive_questions
from copriv.rules.adaptive_questions import next_question

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
