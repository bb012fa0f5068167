"""Public Newton that looks first: keeps to its menu, forgets nothing, and pays under a shift what it should."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.shifted import (
    OBJECTIVE,
    TILT,
    P,
    answer_to,
    cost,
    noise_model,
    objective,
    population,
    rule_for,
    strangers,
    train,
)

from copriv.errors import BadInput
from copriv.losses.optimum import minimise
from copriv.losses.passes import clipped_average_gradient
from copriv.rules import adaptive_questions, difference, tilted
from copriv.rules.adaptive_inference import _aside, _bought, inferred
from copriv.rules.adaptive_newton import SHARES
from copriv.rules.adaptive_questions import MOST_ANSWERS
from copriv.rules.adaptive_state import AdaptiveState, Question, Told, settled
from copriv.rules.newton import NewtonRule
from copriv.rules.rule import Ask
from copriv.rules.tilted import least_expected
from copriv.vectors import Norm

SEEDS = range(2)
OTHER = np.linspace(0.8, -0.4, P)
# Long enough that nothing of these populations is cut.
CLIP = 8.0


@pytest.fixture(scope="module")
def public():
    return population(2000, 0)


def alike(owners, seed=50):
    return [population(4000, seed + i) for i in range(owners)]


def noisy(owners, deviation, **changes):
    return noise_model(owners, deviation, clip=CLIP, **changes)


def spent(asked):
    total = Counter()
    for owner, ask in asked:
        total[owner] += ask.share
    return total


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("owners", [1, 2, 3, 15])
def test_owners_give_all_they_have_and_no_more_at_shares_of_the_menu(public, owners, norm, shifted):
    samples = strangers(owners) if shifted else alike(owners)
    rule = rule_for(public, samples, noisy(owners, 3e-3, norm=norm))
    state, asked = train(rule, samples)
    assert spent(asked) == dict.fromkeys(range(owners), 100)
    assert {ask.level for _, ask in asked} <= set(SHARES)
    assert {ask.kind for _, ask in asked} <= {"gradient", "second_moments"}
    assert all(ask.before == 0 for _, ask in asked) or norm is Norm.L1
    assert all(not ask.theta.any() for _, ask in asked if ask.kind == "second_moments")
    assert max(Counter(owner for owner, _ in asked).values()) <= MOST_ANSWERS
    assert np.max(np.abs(rule.model(state))) <= OBJECTIVE.limit
    assert all(rule.ask(state, owner) is None for owner in range(owners))


def test_a_menu_that_does_not_add_up_to_all_is_kept_to(public):
    for shares in ((15, 40), (30,), (100,), (7, 11, 90)):
        samples = strangers(4)
        rule = rule_for(public, samples, noisy(4, 1e-3, shares=shares))
        state, asked = train(rule, samples)
        assert {ask.level for _, ask in asked} <= set(shares)
        assert all(total <= 100 for total in spent(asked).values())
        assert all(rule.ask(state, owner) is None for owner in range(4))


def test_second_moments_that_are_not_on_the_menu_are_not_asked_for(public):
    samples = strangers(3)
    rule = rule_for(public, samples, noisy(3, 1e-3, kinds=("gradient",)))
    _, asked = train(rule, samples)
    assert {ask.kind for _, ask in asked} == {"gradient"}


@pytest.mark.parametrize("owners", [2, 10])
def test_a_state_is_packed_to_the_last_bit_and_goes_on_as_it_would_have(public, owners):
    samples = strangers(owners)
    rule = rule_for(public, samples, noisy(owners, 1e-3))
    state, _ = train(rule, samples, order=[*range(owners), 0, 1])
    again = rule.unpack(rule.pack(state))
    assert rule.pack(again) == rule.pack(state)
    assert rule.model(again).tobytes() == rule.model(state).tobytes()
    for owner in range(owners):
        ours, theirs = rule.ask(state, owner), rule.ask(again, owner)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert (ours.kind, ours.share, ours.theta.tobytes()) == (theirs.kind, theirs.share, theirs.theta.tobytes())


@pytest.mark.parametrize("data", [b"", b"\x00", b"no state at all"])
def test_bytes_that_are_no_state_are_refused(public, data):
    with pytest.raises(BadInput):
        rule_for(public, alike(1), noisy(1, 1e-3)).unpack(data)


def test_a_rule_without_a_menu_or_owners_is_refused(public):
    with pytest.raises(BadInput):
        rule_for(public, alike(2), noisy(2, 1e-3, shares=()))
    with pytest.raises(BadInput):
        rule_for(public, alike(2), noisy(3, 1e-3))
    with pytest.raises(BadInput):
        rule_for(public, [], noisy(0, 1e-3))


def test_the_first_question_is_a_look_at_the_public_model(public):
    for owners in (1, 3, 4, 19, 30):
        rule = rule_for(public, alike(1) * owners, noisy(owners, 1e-3))
        first = rule.ask(rule.begin(), owners - 1)
        np.testing.assert_array_equal(first.theta, minimise(OBJECTIVE, public))
        assert first.kind == "gradient"
        assert first.share <= 20
        np.testing.assert_array_equal(rule.model(rule.begin()), first.theta)


def test_an_owner_that_comes_early_again_is_asked_something_new(public):
    """It does not wait for the others: the next question is settled with what is known."""
    samples = strangers(5)
    rule = rule_for(public, samples, noisy(5, 1e-3))
    _, asked = train(rule, samples, order=[0] * 8 + [1, 2, 3, 4] * 8)
    assert [owner for owner, _ in asked][:2] == [0, 0]
    assert not np.array_equal(asked[0][1].theta, asked[1][1].theta) or asked[1][1].kind == "second_moments"
    assert spent(asked) == dict.fromkeys(range(5), 100)
    assert max(Counter(owner for owner, _ in asked).values()) <= MOST_ANSWERS


def test_an_owner_that_never_comes_holds_nobody_up(public):
    samples = strangers(6)
    rule = rule_for(public, samples, noisy(6, 1e-3))
    state, asked = train(rule, samples, order=[0, 1, 2, 3, 4] * 8)
    assert spent(asked) == dict.fromkeys(range(5), 100)
    assert cost(rule.model(state), samples) < 0.02 * cost(rule.model(rule.begin()), samples)


def test_an_owner_that_answers_one_question_twice_counts_twice(public):
    """A model in a corner of the box may be asked at again: two halves stand for the owner as one whole does."""
    setting = rule_for(public, alike(2), noisy(2, 1e-3)).setting
    whole, halves = _aside(setting, [0], np.ones(1), 0.1), _aside(setting, [0, 0], np.full(2, 0.5), 0.1)
    np.testing.assert_allclose(whole, halves)


def test_an_answer_to_an_older_question_counts(public):
    """Two owners are asked at once; the second answers after the question of the hour has changed."""
    samples = alike(4)
    rule = rule_for(public, samples, noisy(4, 1e-3))
    late = rule.ask(rule.begin(), 3)
    state, _ = train(rule, samples, order=[0, 1, 2, 0])
    after = rule.learn(state, 3, np.zeros(P), late)
    assert len(after.questions) == len(state.questions)
    assert after.left(3) == 100 - late.share
    assert not np.array_equal(rule.model(after), rule.model(state))
    unasked = rule.learn(state, 3, np.zeros(P), Ask(np.ones(P), "gradient", 20))
    assert unasked.questions[-1].owners == 1
    assert unasked.left(3) == 80


def test_with_a_strong_shift_and_little_noise_second_moments_are_bought_and_without_one_they_are_not(public):
    for owners in (3, 10):
        for samples, expected in ((strangers(owners), True), (alike(owners), False)):
            rule = rule_for(public, samples, noisy(owners, 1e-3))
            _, asked = train(rule, samples)
            assert any(ask.kind == "second_moments" for _, ask in asked) == expected


class _Unbent:
    """The twin that does not know that the Hessian differs, too: the expected difference of gradients alone."""

    def __call__(self, geometry, intercept, hessian, places):
        return least_expected(geometry, intercept, np.eye(hessian.shape[0]), places)


def _older(public, samples, deviation, seed):
    """The rule without a menu, one answer each for the whole budget."""
    sizes = [each.records for each in samples]
    rule = NewtonRule.of(public, OBJECTIVE, records=sizes, noise_std=[deviation] * len(sizes), clip=CLIP, norm=Norm.L1)
    generator, state = np.random.default_rng(seed), rule.begin()
    for owner, sample in enumerate(samples):
        truth = clipped_average_gradient(OBJECTIVE.loss, sample, rule.question(state, owner), CLIP, Norm.L1)
        state = rule.absorb(state, owner, truth + deviation * generator.laplace(size=P) / np.sqrt(2))
    return rule.model(state)


@pytest.mark.parametrize("owners", [3, 10])
def test_under_a_strong_shift_it_beats_the_public_model_the_older_rule_and_a_twin(public, owners, monkeypatch):
    samples = strangers(owners)
    rule = rule_for(public, samples, noisy(owners, 1e-3))
    ours = np.median([cost(rule.model(train(rule, samples, seed)[0]), samples) for seed in SEEDS])
    older = np.median([cost(_older(public, samples, 1e-3, seed), samples) for seed in SEEDS])
    stayed = cost(rule.model(rule.begin()), samples)
    assert ours < 0.02 * stayed
    assert ours < 0.1 * older
    monkeypatch.setattr(adaptive_questions, "least_expected", _Unbent())
    twin = rule_for(public, samples, noisy(owners, 1e-3))
    ignored = np.median([cost(twin.model(train(twin, samples, seed)[0]), samples) for seed in SEEDS])
    assert ignored > 10 * ours


def test_without_a_shift_it_costs_about_what_everything_at_once_costs():
    """Owners of many records and Gaussian noise: over draws, less than twice what one answer of everybody costs."""
    ratios = []
    for seed in range(4):
        public, samples = population(2000, 900 + seed), alike(10, seed=1000 + 20 * seed)
        rule = rule_for(public, samples, noisy(10, 1e-3, norm=Norm.L2))
        ours = cost(rule.model(train(rule, samples, seed)[0]), samples)
        ratios.append((ours, _at_once(public, samples, rule, seed), cost(rule.model(rule.begin()), samples)))
    ours, at_once, stayed = np.mean(ratios, axis=0)
    assert ours < 2 * at_once
    assert ours < 0.3 * stayed


def _at_once(public, samples, rule, seed):
    """Every owner tells all it can at the public model, and the model steps there."""
    state, generator = rule.begin(), np.random.default_rng(seed)
    for owner, sample in enumerate(samples):
        truth = clipped_average_gradient(OBJECTIVE.loss, sample, rule.setting.geometry.start, CLIP, Norm.L2)
        answer = truth + rule.setting.noise.noise_std[owner] * generator.normal(size=P)
        state = rule.learn(state, owner, answer, Ask(rule.setting.geometry.start, "gradient", 100))
    return cost(rule.model(state), samples)


def test_owners_that_differ_are_all_asked_at_the_same_places(public):
    """Six models around the public one: who is asked where matters, so every question goes to everybody."""
    generator = np.random.default_rng(7)
    samples = [population(4000, 70 + i, model=0.5 * generator.normal(size=P)) for i in range(6)]
    rule = rule_for(public, samples, noisy(6, 1e-4))
    state, asked = train(rule, samples)
    assert inferred(rule.setting, state)[1].expected > 0.01
    places = Counter(ask.theta.tobytes() for _, ask in asked if ask.before == 0)
    assert set(places.values()) == {6}


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_other_losses_gain_from_it_too(loss):
    goal = objective(loss, limit=20.0, regularization=1e-3)
    public = population(2000, 0, loss=loss)
    samples = [population(4000, 90 + i, model=0.8 * TILT + 0.2 * OTHER, loss=loss) for i in range(5)]
    rule = rule_for(public, samples, noisy(5, 1e-3), of=goal)
    state, asked = train(rule, samples)
    assert spent(asked) == dict.fromkeys(range(5), 100)
    assert cost(rule.model(state), samples, goal) < 0.1 * cost(rule.model(rule.begin()), samples, goal)


def test_bounded_slopes_do_not_drive_the_model_to_the_border_of_the_box(monkeypatch):
    """A strong shift under Huber's loss: the public gradient cannot balance the tilt; a twin without reach runs off."""
    goal = objective("huber", limit=20.0, regularization=1e-3)
    public, samples = population(2000, 0), [population(4000, 90 + i, model=OTHER) for i in range(2)]
    rule = rule_for(public, samples, noisy(2, 1e-3), of=goal)
    stayed = cost(rule.model(rule.begin()), samples, goal)
    assert cost(rule.model(train(rule, samples)[0]), samples, goal) < stayed
    monkeypatch.setattr(tilted, "_REACH", 1e9)
    monkeypatch.setattr(tilted, "_FIRST_REACH", 1e9)
    twin = rule_for(public, samples, noisy(2, 1e-3), of=goal)
    assert cost(twin.model(train(twin, samples)[0]), samples, goal) > stayed


@pytest.mark.parametrize("owners", [3, 10, 30])
def test_without_a_shift_the_first_answers_are_made_finer_and_nothing_is_lost(public, owners):
    """Every budget ends in one answer at the public model, at a level of 100."""
    samples = alike(owners)
    rule = rule_for(public, samples, noisy(owners, 3e-3))
    state, asked = train(rule, samples)
    assert {(ask.level, ask.before > 0) for _, ask in asked[-owners:]} == {(100, True)}
    told = settled(state.told, Norm.L1)
    assert [one.ask.level for one in told] == [100] * owners
    assert {one.ask.theta.tobytes() for one in told} == {rule.setting.geometry.start.tobytes()}


def test_a_finer_answer_takes_the_place_of_the_former_and_independent_ones_are_averaged(public):
    theta = np.ones(P)
    coarse = Told(0, Ask(theta, "gradient", 20), np.full(P, 4.0))
    fine, other = Told(0, Ask(theta, "gradient", 60, 20), np.ones(P)), Told(0, Ask(theta, "gradient", 60), np.ones(P))
    (kept,) = settled([coarse, fine], Norm.L1)
    assert kept is fine
    (both,) = settled([coarse, other], Norm.L2)
    assert both.ask.level == 80
    np.testing.assert_allclose(both.values, (20 * 4 + 60 * 1) / 80)
    assert len(settled([coarse, Told(1, fine.ask, fine.values)], Norm.L1)) == 2


def test_a_look_that_noise_would_hide_is_not_taken(public):
    samples = alike(10)
    _, asked = train(rule_for(public, samples, noisy(10, 1.0)), samples)
    assert [ask.share for _, ask in asked] == [100] * 10


def mixed_company(owners=10, seed=300):
    """The first two owners are like the public rows, the others are of another population."""
    return [*alike(2, seed), *strangers(owners - 2, seed=seed + 50)]


def test_nobody_is_asked_for_all_once_others_have_shown_a_shift_that_the_look_did_not(public):
    """The question is for everything in the belief that there is no strong shift; the answers of strangers end it."""
    samples = strangers(8)
    rule = rule_for(public, samples, noisy(len(samples), 1e-2))
    theta = rule.setting.geometry.start
    state, generator = rule.begin(), np.random.default_rng(0)
    ask = Ask(theta, "gradient", 100)
    state = AdaptiveState((Question(ask=Ask(theta, "gradient", 0), owners=8),), ())
    for owner in range(4):
        state = rule.learn(state, owner, answer_to(samples[owner], ask, rule, owner, generator), ask)
    assert state.open_question(7) is not None
    assert adaptive_questions.is_strong(rule.setting, state)
    assert adaptive_questions.open_question(rule.setting, state, 7) is None
    knowing = AdaptiveState((replace(state.questions[0], strong=True),), state.told)
    assert adaptive_questions.open_question(rule.setting, knowing, 7) is not None


def test_of_owners_that_differ_strongly_something_is_kept_to_see_where_the_rest_led(public):
    samples = mixed_company()
    rule = rule_for(public, samples, noisy(len(samples), 1e-2))
    state, asked = train(rule, samples)
    kept = [question for question in state.questions if question.kept]
    assert len(kept) == 1
    assert kept[0].strong
    assert spent(asked) == dict.fromkeys(range(len(samples)), 100)
    assert cost(rule.model(state), samples) < 0.01 * cost(rule.model(rule.begin()), samples)


def test_owners_whose_second_moments_differ_say_less_of_all_of_them(public):
    def variance(samples):
        rule = rule_for(public, [*samples, *alike(4)], noisy(len(samples) + 4, 1e-3))
        state, generator = rule.begin(), np.random.default_rng(0)
        ask = Ask(np.zeros(P), "second_moments", 50)
        for owner, sample in enumerate(samples):
            state = rule.learn(state, owner, answer_to(sample, ask, rule, owner, generator), ask)
        return float(_bought(rule.setting, state).variance.mean())

    same, other = variance(alike(4, seed=400)), variance([*alike(2, seed=400), *strangers(2)])
    assert other > 5 * same


def test_under_a_shift_what_the_clip_takes_leaves_doubt(public):
    """A short clip takes much of the public gradient, and nobody knows what it takes of private ones."""
    geometry = rule_for(public, alike(1), noise_model(1, 1e-3, clip=0.05)).setting.geometry
    assert np.linalg.norm(geometry.clipping_bias) > 0
    doubts = difference._misread(geometry)
    assert doubts[0] == 0
    assert np.all(doubts[1:] > 0)
    unclipped = rule_for(public, alike(1), noisy(1, 1e-3)).setting.geometry
    assert np.all(difference._misread(unclipped) <= 1e-6 * doubts[1])
