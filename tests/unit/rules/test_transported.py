"""Public rows that are moved to where the owners' records are: by second moments, for losses of labels."""

from dataclasses import replace

import numpy as np
import pytest
from tests.shifted import CLIP, cost, labelled, noise_model, objective, rule_for, train

from copriv.losses.passes import clipped_average_gradient
from copriv.losses.people import Whose
from copriv.losses.sample import Sample
from copriv.rules import adaptive_newton, adaptive_questions
from copriv.rules.rule import Ask
from copriv.rules.transported import blur, can_move, constant_feature, moved, relabel, transport
from copriv.vectors import Norm

LOGISTIC = objective("logistic")
P, OWNERS, RECORDS = 5, 10, 2000
# Where records differ: another mean, other variances that go together, and many more positive labels.
AWAY, MIXED = (
    np.array([0.25, -0.2, 0.15, 0.1]),
    np.array([[1.5, 0.6, 0, 0], [0, 0.7, 0, 0], [0, 0, 1.6, 0.5], [0, 0, 0, 0.6]]),
)


@pytest.fixture(scope="module")
def public():
    return labelled(3000, 0)


@pytest.fixture(scope="module")
def strangers():
    return [labelled(RECORDS, 10 + i, intercept=0.5, away=AWAY, mixing=MIXED) for i in range(OWNERS)]


def second_moments(sample):
    return sample.columns @ sample.columns.T / sample.records


def looked(public, samples, deviation, squares):
    """A rule, and its state once everybody has answered the look and the question for second moments."""
    rule = rule_for(public, samples, noise_model(OWNERS, deviation, squares=squares), LOGISTIC)
    state, asked = train(rule, samples, order=[*range(OWNERS)] * 2)
    return rule, state, asked


def test_moved_rows_have_the_mean_and_the_covariance_of_the_records(public, strangers):
    joint = Sample.join(strangers)
    rows = transport(public, second_moments(joint), 0.0)
    np.testing.assert_allclose(rows.mean(axis=1), joint.columns.mean(axis=1), atol=1e-9)
    np.testing.assert_allclose(np.cov(rows), np.cov(joint.columns), atol=1e-4)
    assert np.ptp(rows[4]) == 0


def test_rows_stay_where_they_are_if_second_moments_are_theirs(public):
    rows = transport(public, second_moments(public), 0.0)
    assert rows is None or np.allclose(rows, public.columns, atol=1e-9)


def test_noise_that_hides_the_way_of_the_mean_moves_nothing(public, strangers):
    told = second_moments(Sample.join(strangers))
    assert transport(public, told, 1e-6) is not None
    assert transport(public, told, 1.0) is None


def test_changes_within_the_noise_do_not_stretch_rows(public):
    """The mean is told exactly; of the covariance only noise is told, and a twin that believes it stretches rows."""
    generator, noise = np.random.default_rng(3), 1e-5
    away = public.columns + np.append(AWAY, 0)[:, None]
    noisy = np.pad(generator.normal(size=(4, 4)) * np.sqrt(noise), (0, 1))
    told = away @ away.T / public.records + np.triu(noisy) + np.triu(noisy, 1).T
    rows, believed = (transport(public, told, variance)[:4] for variance in (noise, 0.0))
    off, twin = (float(np.abs(np.cov(found) - np.cov(public.columns[:4])).max()) for found in (rows, believed))
    assert off < 1e-3 < 3e-3 < twin


def test_labels_have_the_rate_of_the_records(public, strangers):
    joint = Sample.join(strangers)
    rule = rule_for(public, strangers, noise_model(OWNERS, 1e-6), LOGISTIC)
    geometry = rule.setting.geometry
    gradient = clipped_average_gradient(LOGISTIC.loss, joint, geometry.start, CLIP, Norm.L1)
    found = relabel(geometry, transport(public, second_moments(joint), 0.0), gradient)
    rates = [float(np.mean(sample.targets > 0)) for sample in (public, joint, found)]
    assert rates[1] > 5 * rates[0]
    assert rates[2] == pytest.approx(rates[1], abs=0.03)


@pytest.mark.parametrize(
    "rows",
    [[[0.1, 0.2], [0.3, 0.1]], [[0.1, 0.0], [0.3, 0.0]]],
    ids=["varies", "zeros"],
)
def test_a_feature_that_varies_or_is_nothing_is_no_intercept(rows):
    assert constant_feature(Sample.of_rows(rows, [1.0, -1.0])) is None


def test_only_labels_of_records_with_an_intercept_and_enough_rows_are_moved(public, strangers):
    def can(rows, loss=LOGISTIC):
        return can_move(rule_for(rows, strangers, noise_model(OWNERS, 1e-4), loss).setting)

    people = public.grouped(Whose(np.arange(public.rows) // 2, 5, "person"))
    varied = Sample.of_rows(public.columns.T + np.random.default_rng(1).normal(size=(3000, P)) * 1e-3, public.targets)
    assert can(public)
    assert not any((can(people), can(varied), can(labelled(60, 5)), can(public, objective("squared"))))


def test_a_training_under_a_strong_shift_asks_for_second_moments_and_gains_by_them(public, strangers, monkeypatch):
    """At least twenty times: beside a twin that leaves the rows where they are, and far below the public model."""
    rule = rule_for(public, strangers, noise_model(OWNERS, 2e-4), LOGISTIC)
    state, asked = train(rule, strangers)
    assert [ask.share for _, ask in asked if ask.kind == "second_moments"] == [15] * OWNERS
    ours = cost(rule.model(state), strangers, LOGISTIC)
    monkeypatch.setattr(adaptive_newton, "moved", lambda setting, _: setting)
    monkeypatch.setattr(adaptive_questions, "_moments_would_move", lambda *_, **__: False)
    adaptive_questions.next_question.cache_clear()
    still = rule_for(public, strangers, noise_model(OWNERS, 2e-4), LOGISTIC)
    state, _ = train(still, strangers)
    twin = cost(still.model(state), strangers, LOGISTIC)
    adaptive_questions.next_question.cache_clear()
    assert ours < twin / 20
    assert ours < cost(rule.setting.geometry.start, strangers, LOGISTIC) / 100


def test_without_a_shift_nothing_is_bought(public):
    alike = [labelled(RECORDS, 50 + i) for i in range(OWNERS)]
    _, _, asked = looked(public, alike, 2e-4, 2e-4)
    assert all(ask.kind == "gradient" for _, ask in asked)


def test_second_moments_that_noise_would_blur_are_not_asked_for_and_move_nothing(public, strangers):
    rule, state, asked = looked(public, strangers, 2e-4, 1.0)
    assert not any(ask.kind == "second_moments" and ask.share == 15 for _, ask in asked)
    assert blur(rule.setting.geometry, 1.0) > 1
    told = [(owner, Ask(np.zeros(P), "second_moments", 5), np.zeros(P * (P + 1) // 2)) for owner in range(OWNERS)]
    for owner, ask, answer in told:
        state = rule.learn(state, owner, answer, ask)
    assert moved(rule.setting, state) is rule.setting


def test_rows_move_once_owners_of_a_tenth_of_the_records_have_told_and_were_looked_at(public, strangers):
    crowd = [*strangers, labelled(RECORDS, 99, intercept=0.5, away=AWAY, mixing=MIXED)]
    rule = rule_for(public, crowd, noise_model(len(crowd), 2e-4), LOGISTIC)
    state, _ = train(rule, crowd, order=[*range(len(crowd))] * 2)
    bought = [told for told in state.told if told.ask.kind == "second_moments"]
    assert len(bought) == len(crowd)
    for heard in (0, 1, 2):
        some = replace(state, told=tuple(told for told in state.told if told not in bought[heard:]))
        assert moved(rule.setting, some).is_moved == (heard == 2)
    assert moved(rule.setting, replace(state, told=tuple(bought))) is rule.setting


def test_a_checkpoint_leads_to_the_same_model_to_the_last_bit(public, strangers):
    rule, state, _ = looked(public, strangers, 2e-4, 2e-4)
    again = rule.unpack(rule.pack(state))
    other = rule_for(public, strangers, noise_model(OWNERS, 2e-4, squares=2e-4), LOGISTIC)
    assert np.array_equal(rule.model(state), other.model(again))
    assert not np.array_equal(rule.model(state), rule.setting.geometry.start)
