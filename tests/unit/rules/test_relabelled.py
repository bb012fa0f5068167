"""Public rows with other labels, once owners have told which share of theirs is positive."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from tests.shifted import cost, labelled, noise_model, objective, population, rule_for, strangers, train

from copriv.losses.people import Whose
from copriv.losses.sample import Sample
from copriv.rules import adaptive_newton, relabelled
from copriv.rules.adaptive_newton import KINDS_OF_LABELS, SHARES
from copriv.rules.adaptive_questions import next_question
from copriv.rules.adaptive_state import AdaptiveState, Question, Told
from copriv.rules.relabelled import after_positives, flip, positives_wanted, price_of_positives
from copriv.rules.rule import Ask
from copriv.vectors import Norm

LOGISTIC = objective("logistic")
OWNERS, RECORDS = 10, 1000
# Noise of a whole budget that hides second moments, and that of a share of labels beside it.
LOUD, RATE = 0.05, 0.002


@pytest.fixture(scope="module")
def public():
    return labelled(3000, 0)


@pytest.fixture(scope="module")
def positive():
    """Owners with the rows of the public ones, and many more positive labels."""
    return [labelled(RECORDS, 10 + i, intercept=0.5) for i in range(OWNERS)]


def make(public, samples, *, deviation=LOUD, positives=RATE, of=LOGISTIC):
    return rule_for(public, samples, noise_model(len(samples), deviation, positives=positives), of)


def told(rule, shares, price=5):
    """The state once the first owners have told these shares, without noise."""
    ask = Ask(np.zeros(rule.setting.geometry.parameters), "positives", price)
    answers = tuple(Told(owner, ask, np.array([share])) for owner, share in enumerate(shares))
    return AdaptiveState((Question(ask, len(rule.setting.records)),), answers)


def rate(sample):
    return float(np.mean(sample.targets > 0))


def test_labels_are_told_first_then_owners_are_asked_where_the_other_labels_lead(public, positive):
    rule = make(public, positive)
    _, asked = train(rule, positive, order=[*range(OWNERS)] * 2)
    kinds = [ask.kind for _, ask in asked]
    assert kinds == ["positives"] * OWNERS + ["gradient"] * OWNERS
    assert {ask.share for _, ask in asked[:OWNERS]} == {5}
    start = rule.setting.geometry.start
    costs = [cost(theta, positive, LOGISTIC) for theta in (start, asked[-1][1].theta)]
    assert costs[1] < costs[0] / 20


def test_a_training_gains_by_it(public, positive, monkeypatch):
    """Beside a twin that asks for the same and leaves the labels as they are."""
    rule = make(public, positive)
    ours = cost(rule.model(train(rule, positive)[0]), positive, LOGISTIC)
    monkeypatch.setattr(adaptive_newton, "relabelled", lambda setting, _: setting)
    next_question.cache_clear()
    still = make(public, positive)
    twin = cost(still.model(train(still, positive)[0]), positive, LOGISTIC)
    next_question.cache_clear()
    assert ours < twin / 5


def test_labels_stay_if_noise_may_explain_the_difference(public):
    """Of 40 studies without a shift none changes a label; a twin that believes the noise mostly changes some."""
    alike, generator = [labelled(RECORDS, 50 + i) for i in range(OWNERS)], np.random.default_rng(4)
    rule, changed, believed = make(public, alike, positives=0.05), 0, 0
    for _ in range(40):
        state = told(rule, [rate(each) + generator.laplace() / np.sqrt(2) for each in alike])
        changed += relabelled.relabelled(rule.setting, state) is not rule.setting
        state = told(make(public, alike, positives=1e-6), [one.values[0] for one in state.told])
        believed += relabelled.relabelled(make(public, alike, positives=1e-6).setting, state).known > 0
    assert changed == 0
    assert believed > 30


def test_as_many_are_positive_as_were_told_less_what_noise_may_have_added(public, positive):
    exact = told(make(public, positive), [rate(each) for each in positive])
    found = [
        rate(relabelled.relabelled(make(public, positive, positives=noise).setting, exact).geometry.public)
        for noise in (1e-6, 0.05)
    ]
    truth = rate(Sample.join(positive))
    assert found[0] == pytest.approx(truth, abs=0.01)
    assert truth - 0.5 < found[1] < truth - 0.2


def test_the_model_of_the_new_labels_has_the_old_slopes(public, positive):
    rule = make(public, positive, positives=1e-6)
    after = relabelled.relabelled(rule.setting, told(rule, [rate(each) for each in positive])).geometry
    before = rule.setting.geometry.start
    slopes = np.abs(before[:4]).max()
    np.testing.assert_allclose(after.start[:4], before[:4], atol=0.25 * slopes)
    assert 0.4 * (after.start[4] - before[4]) == pytest.approx(3.5, abs=0.5)


def test_flips_are_few_and_none_is_a_chance():
    generator = np.random.default_rng(1)
    margins = generator.normal(size=20_000) - 2
    before, after = expit(margins), expit(margins + 1)
    labels = np.where(generator.random(margins.size) < before, 1.0, -1.0)
    found = flip(labels, before, after)
    assert np.array_equal(found, flip(labels, before, after))
    assert np.all(found >= labels)
    assert np.mean(found > 0) == pytest.approx(after.mean(), abs=0.01)
    high = margins > -1
    assert np.mean(found[high] > 0) == pytest.approx(after[high].mean(), abs=0.03)
    back = flip(found, after, before)
    assert np.mean(back > 0) == pytest.approx(before.mean(), abs=0.01)
    assert np.array_equal(flip(labels, before, before), labels)


def test_who_comes_late_changes_no_label(public, positive):
    """What is told after the first gradient is not read: its place was chosen without it."""
    rule = make(public, positive)
    shares = [rate(each) for each in positive]
    state = told(rule, shares[:4])
    assert relabelled.relabelled(rule.setting, state) is rule.setting
    gradient = Told(0, Ask(rule.setting.geometry.start, "gradient", 20), np.zeros(5))
    later = tuple(replace(one, values=np.array([0.0])) for one in told(rule, shares).told[4:])
    first, second = (AdaptiveState(state.questions, (*state.told, gradient, *more)) for more in ((), later))
    places = [relabelled.relabelled(rule.setting, each).geometry.start for each in (first, second)]
    assert np.array_equal(*places)
    assert not np.array_equal(places[0], rule.setting.geometry.start)


def test_only_studies_of_labels_ask_for_them(public, positive):
    def wanted(rule):
        return positives_wanted(rule.setting, rule.begin())

    people = public.grouped(Whose(np.arange(public.rows) // 2, 5, "person"))
    assert wanted(make(public, positive)) == 5
    assert wanted(make(people, positive)) == 0
    assert wanted(make(labelled(60, 5), positive)) == 0
    assert wanted(make(population(500, 0), strangers(OWNERS), of=objective())) == 0
    assert wanted(rule_for(public, positive, noise_model(OWNERS, LOUD), LOGISTIC)) == 0


@pytest.mark.parametrize(
    ("deviation", "price"), [(1e-6, 5), (0.002, 5), (0.004, 10), (0.008, 15), (0.02, 20), (0.05, 0)]
)
def test_the_price_follows_the_noise_of_all_together(deviation, price):
    """Of their mean, at whole budgets: at a twentieth of them Laplace noise is twenty times as large."""
    assert price_of_positives(noise_model(OWNERS, 0.1, positives=deviation * np.sqrt(OWNERS))) == price


@pytest.mark.parametrize(("norm", "factor"), [(Norm.L1, 100 / 95), (Norm.L2, np.sqrt(100 / 95))])
def test_what_is_left_for_gradients(norm, factor):
    noise = noise_model(OWNERS, 0.1, norm=norm, positives=1e-6)
    left = after_positives(noise)
    assert left.noise_std == pytest.approx((0.1 * factor,) * OWNERS)
    assert left.second_moments_std == pytest.approx((0.1 * factor,) * OWNERS)
    without = noise_model(OWNERS, 0.1)
    assert after_positives(without) is without


def test_a_menu_without_small_shares_has_no_price(public):
    noise = replace(noise_model(OWNERS, 0.1, positives=1e-6), shares=(30, 70), kinds=KINDS_OF_LABELS)
    assert price_of_positives(noise) == 0
    assert price_of_positives(replace(noise, shares=SHARES)) == 5


def test_owners_that_differ_are_pooled_by_their_records(public):
    """Two rates among owners, exactly told: the share of all records, not of whoever has the least noise."""
    samples = [labelled(400 if i < 5 else 1600, i, intercept=2.0 if i < 5 else -3.0) for i in range(OWNERS)]
    rule = make(public, samples, positives=1e-4)
    found = relabelled.relabelled(rule.setting, told(rule, [rate(each) for each in samples]))
    assert rate(found.geometry.public) == pytest.approx(rate(Sample.join(samples)), abs=0.01)


def test_labels_that_are_rarer_change_by_three_quarters(public, positive):
    """Chances that are too small cost more: from the many to the few the share that was told is not reached."""
    many = Sample.join(positive)
    few = [public.take(np.arange(i * 300, (i + 1) * 300)) for i in range(OWNERS)]
    rule = make(many, few, positives=1e-6)
    found = relabelled.relabelled(rule.setting, told(rule, [rate(each) for each in few]))
    start, truth = rule.setting.geometry.start, rate(Sample.join(few))
    assert rate(many) > 2 * truth
    assert truth + 0.02 < rate(found.geometry.public) < truth + 0.15
    assert cost(found.geometry.start, few, LOGISTIC) < cost(start, few, LOGISTIC) / 3
