"""The compiled passes against the obvious NumPy expressions."""

import importlib.util
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copriv.errors import BadInput
from copriv.losses import passes
from copriv.losses.blocks import hold
from copriv.losses.huber import HuberLoss
from copriv.losses.logistic import LogisticLoss
from copriv.losses.passes import (
    average_curvature,
    average_gradient,
    average_value,
    bounded_average_value,
    clipped_average_gradient,
    clipped_average_gradients,
    gradient_norms,
    record_values,
)
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.vectors import BLOCK, Norm

LOSSES = [SquaredLoss(), HuberLoss(0.7), LogisticLoss()]


def _value(loss, margins, targets):
    if loss.name == "squared":
        return (margins - targets) ** 2
    if loss.name == "huber":
        size = np.abs(margins - targets)
        return np.where(size <= loss.threshold, size**2, 2 * loss.threshold * size - loss.threshold**2)
    return np.logaddexp(0, -targets * margins)


def _slope(loss, margins, targets):
    if loss.name == "squared":
        return 2 * (margins - targets)
    if loss.name == "huber":
        return 2 * np.clip(margins - targets, -loss.threshold, loss.threshold)
    return -targets / (1 + np.exp(targets * margins))


def _problem(records, parameters, seed, labels):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(records, parameters))
    targets = generator.choice([-1.0, 1.0], records) if labels else generator.normal(size=records)
    return rows, targets, generator.normal(size=parameters)


problems = given(
    loss=st.sampled_from(LOSSES),
    norm=st.sampled_from(list(Norm)),
    records=st.one_of(st.integers(1, 40), st.sampled_from([BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17])),
    parameters=st.integers(1, 13),
    clip=st.sampled_from([1e-3, 0.5, 3.0, 1e6]),
    seed=st.integers(0, 2**32),
)


@problems
def test_clipped_average_gradient_is_the_numpy_expression(loss, norm, records, parameters, clip, seed):
    rows, targets, theta = _problem(records, parameters, seed, loss.name == "logistic")
    gradients = _slope(loss, rows @ theta, targets)[:, None] * rows
    lengths = np.linalg.norm(gradients, ord=norm.value, axis=1)
    expected = (gradients * np.minimum(1, clip / np.maximum(lengths, 1e-300))[:, None]).mean(axis=0)
    sample = Sample.of_rows(rows, targets)
    np.testing.assert_allclose(clipped_average_gradient(loss, sample, theta, clip, norm), expected, atol=1e-10)
    np.testing.assert_allclose(gradient_norms(loss, sample, theta, norm), lengths, atol=1e-10)
    assert norm.of(clipped_average_gradient(loss, sample, theta, clip, norm)) <= clip * (1 + 1e-12)


@problems
def test_values_gradients_and_curvatures_belong_together(loss, norm, records, parameters, clip, seed):
    rows, targets, theta = _problem(records, parameters, seed, loss.name == "logistic")
    sample = Sample.of_rows(rows, targets)
    np.testing.assert_allclose(
        average_value(loss, sample, theta), _value(loss, rows @ theta, targets).mean(), rtol=1e-12
    )
    direction = np.random.default_rng(seed).normal(size=parameters)
    small = 1e-6 * direction / np.linalg.norm(direction)
    change = average_value(loss, sample, theta + small) - average_value(loss, sample, theta - small)
    gradient = average_gradient(loss, sample, theta)
    assert change / 2 == pytest.approx(
        gradient @ small, abs=1e-13 * (1 + abs(average_value(loss, sample, theta))) + 1e-11
    )
    if loss.name != "huber":  # its curvature jumps
        bend = average_gradient(loss, sample, theta + small) - average_gradient(loss, sample, theta - small)
        np.testing.assert_allclose(average_curvature(loss, sample, theta) @ small, bend / 2, atol=1e-11)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@given(margin=st.floats(0, 50), target=st.floats(0, 5), seed=st.integers(0, 1000))
def test_bounds_hold(loss, margin, target, seed):
    generator = np.random.default_rng(seed)
    margins = np.append(generator.uniform(-margin, margin, 50), [margin, -margin])
    targets = np.append(generator.uniform(-target, target, 50), [-target, target])
    assert np.all(np.abs(_slope(loss, margins, targets)) <= loss.slope_bound(margin, target) * (1 + 1e-12) + 1e-15)
    assert np.all(_value(loss, margins, targets) <= loss.value_bound(margin, target) * (1 + 1e-12) + 1e-15)


def test_the_result_does_not_depend_on_the_number_of_cores(make_sample, monkeypatch):
    import numba

    sample, theta = make_sample(records=20_000, parameters=7), np.linspace(-1, 1, 7)
    alone = clipped_average_gradient(SquaredLoss(), sample, theta, 0.3, Norm.L1)
    assert numba.get_num_threads() == 1
    monkeypatch.setattr(passes, "_RECORDS_PER_CORE", 1000)
    together = clipped_average_gradient(SquaredLoss(), sample, theta, 0.3, Norm.L1)
    assert numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS
    assert np.array_equal(together, alone)


@pytest.mark.parametrize(("before", "after"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_that_wait_sleep_unless_the_user_wants_otherwise(before, after, monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if before:
        monkeypatch.setenv("OMP_WAIT_POLICY", before)
    spec = importlib.util.find_spec("copriv.vectors")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert os.environ["OMP_WAIT_POLICY"] == after


def test_wrong_shapes_and_clips_are_refused(make_sample):
    sample = make_sample()
    with pytest.raises(BadInput, match="features"):
        average_value(SquaredLoss(), sample, np.zeros(3))
    for clip in (0.0, -1.0, float("nan")):
        with pytest.raises(BadInput, match="clip"):
            clipped_average_gradient(SquaredLoss(), sample, np.zeros(4), clip, Norm.L1)
    with pytest.raises(BadInput, match="threshold"):
        HuberLoss(0.0)


@pytest.mark.parametrize(
    ("rows", "targets"), [([[1.0]], [1.0, 2.0]), (np.empty((0, 2)), []), ([[np.nan]], [1.0]), ([[1.0]], [np.inf])]
)
def test_a_sample_is_finite_and_fits_together(rows, targets):
    with pytest.raises(BadInput):
        Sample.of_rows(rows, targets)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("norm", list(Norm))
def test_many_models_in_one_reading_are_the_same_to_the_last_bit(make_sample, loss, norm):
    sample = make_sample(records=1300, parameters=5, labels=loss.name == "logistic")
    thetas = np.random.default_rng(0).normal(size=(7, 5))
    together = clipped_average_gradients(loss, sample, thetas, 0.4, norm)
    for theta, gradient in zip(thetas, together, strict=True):
        assert np.array_equal(gradient, clipped_average_gradient(loss, sample, theta, 0.4, norm))


@problems
def test_bounded_values_are_the_numpy_expression(loss, norm, records, parameters, clip, seed):
    rows, targets, theta = _problem(records, parameters, seed, loss.name == "logistic")
    sample, values = Sample.of_rows(rows, targets), _value(loss, rows @ theta, targets)
    found = bounded_average_value(loss, sample, theta, clip)
    assert found == pytest.approx(np.minimum(values, clip).mean(), rel=1e-12)
    np.testing.assert_allclose(record_values(loss, sample, theta), values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("huge", [1e200, 1e308])
def test_every_term_is_within_the_bound_whatever_overflows(loss, huge):
    """Margins of ∞ and ∞ − ∞ count as the bound: what comes out is a number, and at most the bound."""
    rows = np.array([[huge, huge], [huge, -huge], [-huge, huge], [1.0, 0.0]])
    sample = Sample.of_rows(rows, [1.0, -1.0, 1.0, 1.0])
    for theta in ([huge, huge], [-huge, huge], [5e-324, huge]):
        assert 0 <= bounded_average_value(loss, sample, np.array(theta), 0.25) <= 0.25
        for row in range(4):
            alone = Sample.of_rows(rows[row : row + 1], [1.0])
            assert 0 <= bounded_average_value(loss, alone, np.array(theta), 0.25) <= 0.25


@pytest.mark.parametrize(
    ("value", "held"), [(np.nan, 0.25), (np.inf, 0.25), (-np.inf, 0.0), (-1e-300, 0.0), (0.1, 0.1), (0.25, 0.25)]
)
def test_what_is_no_loss_is_held_within_the_bound(value, held):
    assert hold(value, 0.25) == held


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_a_bounded_value_does_not_depend_on_the_number_of_cores(loss, make_sample, monkeypatch):
    sample, theta = make_sample(records=20_000, parameters=7, labels=True), np.linspace(-1, 1, 7)
    alone = bounded_average_value(loss, sample, theta, 0.9)
    monkeypatch.setattr(passes, "_RECORDS_PER_CORE", 1000)
    assert bounded_average_value(loss, sample, theta, 0.9) == alone


@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan"), float("inf")])
def test_a_loss_is_bounded_by_a_number(make_sample, bound):
    with pytest.raises(BadInput, match="loss bound"):
        bounded_average_value(SquaredLoss(), make_sample(), np.zeros(4), bound)
