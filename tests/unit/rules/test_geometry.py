"""The coordinates of the public rows: what is said of them holds, by algebra and by chance."""

import numpy as np
import pytest
from tests.shifted import CLIP, MIXED, OBJECTIVE, P, objective, population

from copriv.losses.moments import pack_second_moments, unpack_second_moments
from copriv.losses.passes import average_gradient, clipped_average_gradient
from copriv.losses.sample import Sample
from copriv.rules.geometry import PublicGeometry
from copriv.vectors import Norm


@pytest.fixture(scope="module")
def geometry():
    return PublicGeometry.of(population(3000, 0), OBJECTIVE, CLIP, Norm.L1)


def test_the_public_hessian_is_the_identity_and_places_lead_back(geometry):
    np.testing.assert_allclose(geometry.whiten.T @ geometry.curvature @ geometry.whiten, np.eye(P), atol=1e-12)
    np.testing.assert_allclose(geometry.unwhiten @ geometry.whiten, np.eye(P), atol=1e-12)
    theta = geometry.start + np.linspace(0.1, 0.5, P)
    np.testing.assert_allclose(geometry.model(geometry.place(theta)), theta, atol=1e-12)
    np.testing.assert_array_equal(geometry.place(geometry.start), np.zeros(P))


def test_the_public_gradient_at_a_place_is_the_place(geometry):
    place = np.array([0.3, -0.2, 0.1, 0.4])
    gradient = OBJECTIVE.gradient(geometry.public, geometry.model(place))
    np.testing.assert_allclose(geometry.whiten.T @ gradient, place, atol=1e-9)


def test_deviations_are_what_answers_differ_by_at_the_same_model(geometry):
    theta = geometry.start + 0.1
    others = population(2000, 1, mixing=MIXED)
    answers = np.stack(
        [clipped_average_gradient(OBJECTIVE.loss, each, theta, CLIP, Norm.L1) for each in (geometry.public, others)]
    )
    found = geometry.deviations(theta, answers)
    np.testing.assert_allclose(found[0], 0, atol=1e-15)
    np.testing.assert_allclose(found[1], geometry.whiten.T @ (answers[1] - answers[0]), atol=1e-14)


def test_noise_in_a_gradient_has_the_variance_that_is_said(geometry):
    noise = np.random.default_rng(2).normal(size=(40_000, P)) @ geometry.whiten
    np.testing.assert_allclose(noise.var(axis=0) * geometry.values, 1, rtol=0.05)


def test_second_moments_tell_the_hessian_of_the_squared_loss(geometry):
    """And not at all without their change of coordinates."""
    others = population(2000, 3, mixing=MIXED)
    moments = unpack_second_moments(pack_second_moments(others, Norm.L1), P, Norm.L1)
    curvature = OBJECTIVE.curvature(others, geometry.start)
    true = geometry.whiten.T @ curvature @ geometry.whiten - np.eye(P)
    np.testing.assert_allclose(geometry.hessian_change(moments), true, rtol=1e-8, atol=1e-8)
    twin = geometry.whiten.T @ (moments - geometry.second_moments) @ geometry.whiten
    assert np.max(np.abs(twin - true)) > 0.1
    np.testing.assert_allclose(geometry.hessian_change(geometry.second_moments), 0, atol=1e-12)


def test_a_feature_that_public_rows_do_not_have_changes_the_hessian_as_much_as_the_regularizer_lets_it():
    public = population(1000, 3)
    rows = public.columns.T.copy()
    rows[:, -1] = 0
    geometry = PublicGeometry.of(Sample.of_rows(rows, public.targets), OBJECTIVE, CLIP, Norm.L1)
    true = geometry.whiten.T @ OBJECTIVE.curvature(public, geometry.start) @ geometry.whiten - np.eye(P)
    moments = unpack_second_moments(pack_second_moments(public, Norm.L1), P, Norm.L1)
    np.testing.assert_allclose(geometry.hessian_change(moments), true, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("norm", list(Norm))
def test_noise_in_second_moments_has_the_variance_that_is_said(norm):
    geometry = PublicGeometry.of(population(1000, 4, mixing=MIXED), OBJECTIVE, CLIP, norm)
    generator, repeats = np.random.default_rng(4), 10_000
    noise = np.stack([unpack_second_moments(each, P, norm) for each in 0.3 * generator.normal(size=(repeats, 10))])
    changes = geometry.lift @ noise @ geometry.lift.T
    one = geometry.hessian_change(geometry.second_moments + noise[0])
    np.testing.assert_allclose(one, changes[0], atol=1e-9)
    np.testing.assert_allclose(changes.var(axis=0) / geometry.hessian_noise(0.09), 1, atol=0.07)
    lengths = np.sum(geometry.lift**2, axis=1)
    twin = 0.09 * np.outer(lengths, lengths)  # as if entries on both sides of the diagonal had noise of their own
    assert np.max(np.abs(changes.var(axis=0) / twin - 1)) > 0.2


def test_without_a_clip_nothing_is_restored_and_nothing_in_doubt(geometry):
    free = PublicGeometry.of(geometry.public, OBJECTIVE, 1e9, Norm.L1, geometry.start)
    np.testing.assert_allclose(free.restoring, np.eye(P), atol=1e-6)
    np.testing.assert_allclose(free.clipping_doubt(free.start + 0.3), 0, atol=1e-15)


def test_what_a_clip_takes_is_restored_on_average():
    """The best linear guess of full gradients: over many samples it errs less than the clipped ones as they are."""
    public = population(20_000, 5)
    clip = 0.05
    geometry = PublicGeometry.of(public, OBJECTIVE, clip, Norm.L2)
    errors = []
    for i in range(60):
        picked = np.random.default_rng(i).integers(public.records, size=500)
        sample = Sample.of_rows(public.columns.T[picked], public.targets[picked])
        theta = geometry.start
        clipped = clipped_average_gradient(OBJECTIVE.loss, sample, theta, clip, Norm.L2)
        full = average_gradient(OBJECTIVE.loss, sample, theta) - average_gradient(OBJECTIVE.loss, public, theta)
        seen = geometry.deviations(theta, clipped[None])[0]
        true = geometry.whiten.T @ full
        errors.append((np.sum((geometry.restoring @ seen - true) ** 2), np.sum((seen - true) ** 2)))
    ours, unrestored = np.mean(errors, axis=0)
    assert ours < 0.8 * unrestored
    assert np.max(np.abs(geometry.clipping_doubt(geometry.start + 0.3))) > 0.01


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_other_losses_have_the_same_coordinates(loss):
    geometry = PublicGeometry.of(population(2000, 6, loss=loss), objective(loss, regularization=1e-3), CLIP, Norm.L1)
    np.testing.assert_allclose(geometry.whiten.T @ geometry.curvature @ geometry.whiten, np.eye(P), atol=1e-10)
    assert np.all(geometry.unevenness > 0)
    assert np.all(np.linalg.eigvalsh(geometry.spread) > 0)
