"""The model of least expected fitness is the minimiser in the box, and that of the private records if all is known."""

import numpy as np
import pytest
from tests.shifted import CLIP, MIXED, TILT, P, objective, population

from copriv.losses.optimum import bounded_step, minimise
from copriv.losses.sample import Sample
from copriv.rules.geometry import PublicGeometry
from copriv.rules.tilted import _descend, least_expected
from copriv.vectors import Norm

INTERCEPT = np.array([0.05, -0.1, 0.08, 0.02])
FACTOR = np.array([[1.2, 0.3, 0.0, -0.2], [0.3, 0.9, 0.1, 0.0], [0.0, 0.1, 2.0, 0.4], [-0.2, 0.0, 0.4, 0.7]])
HESSIAN = np.eye(P) + FACTOR @ FACTOR.T
WIDE, TIGHT = 20.0, 0.1


def geometry_of(loss, limit):
    return PublicGeometry.of(population(1500, 0, mixing=MIXED, loss=loss), objective(loss, limit, 1e-2), CLIP, Norm.L1)


def projected_gradient(geometry, theta, intercept, hessian):
    """‖θ − Π(θ − ∇)‖∞ for the tilted and bent public fitness: 0 exactly at its minimiser in the box."""
    away = theta - geometry.start
    inverse = geometry.unwhiten
    gradient = geometry.objective.gradient(geometry.public, theta) + inverse.T @ intercept
    gradient = gradient + inverse.T @ (hessian - np.eye(P)) @ inverse @ away
    return np.max(np.abs(theta - geometry.objective.project(theta - gradient)))


@pytest.mark.parametrize("limit", [WIDE, TIGHT])
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_no_direction_within_the_box_leads_further_down(loss, limit):
    geometry = geometry_of(loss, limit)
    theta = least_expected(geometry, INTERCEPT, HESSIAN, places=2)
    assert np.max(np.abs(theta)) <= limit
    assert projected_gradient(geometry, theta, INTERCEPT, HESSIAN) < 1e-7
    assert (np.max(np.abs(theta)) == limit) == (limit == TIGHT)
    clipped = geometry.objective.project(least_expected(geometry_of(loss, 1e3), INTERCEPT, HESSIAN, places=2))
    if limit == TIGHT:
        assert projected_gradient(geometry, clipped, INTERCEPT, HESSIAN) > 1e-4


@pytest.mark.parametrize("limit", [WIDE, TIGHT])
def test_with_the_true_difference_it_is_the_model_of_the_private_records(limit):
    geometry = geometry_of("squared", limit)
    private = population(3000, 1, model=-TILT, mixing=np.eye(P) + MIXED.T)
    goal = geometry.objective
    at_start = goal.gradient(private, geometry.start) - goal.gradient(geometry.public, geometry.start)
    hessian = geometry.whiten.T @ goal.curvature(private, geometry.start) @ geometry.whiten
    theta = least_expected(geometry, geometry.whiten.T @ at_start, hessian)
    np.testing.assert_allclose(theta, minimise(goal, private), atol=1e-8)
    ignored = least_expected(geometry, geometry.whiten.T @ at_start, np.eye(P))
    assert np.max(np.abs(ignored - minimise(goal, private))) > 0.01


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_without_a_difference_it_is_the_public_model(loss):
    geometry = geometry_of(loss, WIDE)
    np.testing.assert_allclose(least_expected(geometry, np.zeros(P), np.eye(P)), geometry.start, atol=1e-8)


def test_a_bend_that_is_no_hessian_still_gives_a_model_in_the_box():
    geometry = geometry_of("logistic", 2.0)
    theta = least_expected(geometry, INTERCEPT, np.diag([1e-6, 1.0, 1.0, 1e-6]))
    assert np.all(np.isfinite(theta))
    assert np.max(np.abs(theta)) <= 2.0


def test_a_tilt_without_a_bottom_near_leads_to_the_model_of_the_quadratic():
    """Expected to be flatter than the public fitness ever is, a tilted fitness of labels falls on and on."""
    geometry = geometry_of("logistic", 50.0)
    hessian, intercept = np.diag([1.0, 1.0, 1.0, 0.15]), np.array([0.0, 0.0, 0.0, 0.12])
    inverse = geometry.unwhiten
    fallen = _descend(geometry, inverse.T @ intercept, inverse.T @ (hessian - np.eye(P)) @ inverse)
    slope = geometry.whiten.T @ geometry.objective.gradient(geometry.public, geometry.start) + intercept
    step = -np.linalg.solve(hessian, slope)
    assert np.linalg.norm(geometry.place(fallen)) > 5 * np.linalg.norm(step)
    theta = least_expected(geometry, intercept, hessian, places=2)
    np.testing.assert_allclose(geometry.place(theta), step, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_a_bounded_step_is_the_best_one_in_the_box(seed):
    generator = np.random.default_rng(seed)
    factor, gradient = generator.normal(size=(P, P)), generator.normal(size=P)
    curvature, theta = factor @ factor.T + 0.1 * np.eye(P), generator.uniform(-0.3, 0.3, size=P)
    step = bounded_step(0.3, theta, gradient, curvature)
    assert np.max(np.abs(theta + step)) <= 0.3 + 1e-12
    slope = curvature @ step + gradient
    assert np.max(np.abs(theta + step - np.clip(theta + step - slope, -0.3, 0.3))) < 1e-9
    free = np.linalg.solve(curvature, -gradient)
    np.testing.assert_allclose(bounded_step(1e6, theta, gradient, curvature), free, atol=1e-12)
    twin = np.clip(theta + free, -0.3, 0.3) - theta
    value = [d @ curvature @ d / 2 + gradient @ d for d in (step, twin)]
    assert value[0] < value[1] - 1e-6


def test_a_step_at_the_border_of_the_box_goes_along_it():
    """The public model lies on the border: its gradient points outside, and nothing of it is forgotten."""
    rows = population(800, 3).columns.T
    public = Sample.of_rows(rows, np.clip(rows @ np.full(P, 0.9), -1, 1))
    geometry = PublicGeometry.of(public, objective("squared", 0.4, 1e-3), CLIP, Norm.L1)
    assert np.max(np.abs(geometry.start)) == 0.4
    theta = least_expected(geometry, np.full(P, 0.01), np.eye(P))
    assert projected_gradient(geometry, theta, np.full(P, 0.01), np.eye(P)) < 1e-9
