"""θ* is the minimiser: against closed forms, against another solver, with and without an active box."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.objective import Objective, relative_fitness
from copriv.losses.optimum import TOLERANCE, minimise, optimality_gap
from copriv.vectors import Norm


@pytest.mark.parametrize("name", ["squared", "huber", "logistic"])
@pytest.mark.parametrize("limit", [1e3, 0.2])
@given(seed=st.integers(0, 10_000), parameters=st.integers(1, 8))
def test_no_other_solver_finds_better(make_sample, name, limit, seed, parameters):
    sample = make_sample(records=200, parameters=parameters, seed=seed, labels=name == "logistic")
    objective = Objective(choose(name, 0.05), regularization=1e-3, limit=limit)
    theta = minimise(objective, sample)
    assert np.all(np.abs(theta) <= limit)
    assert optimality_gap(objective, theta, objective.gradient(sample, theta)) <= TOLERANCE
    other = minimize(
        lambda point: objective.fitness(sample, point),
        np.zeros(parameters),
        jac=lambda point: objective.gradient(sample, point),
        bounds=[(-limit, limit)] * parameters,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-12},
    )
    assert objective.fitness(sample, theta) <= other.fun + 1e-12


def test_the_squared_loss_has_its_closed_form(make_sample):
    sample = make_sample(records=1000, parameters=6)
    objective = Objective(choose("squared"), regularization=1e-5, limit=100.0)
    rows = sample.columns.T
    closed = np.linalg.solve(rows.T @ rows / 1000 + 1e-5 * np.eye(6), rows.T @ sample.targets / 1000)
    np.testing.assert_allclose(minimise(objective, sample), closed, atol=1e-9)


def test_the_box_can_bind(make_sample):
    """The limit is reached, and clipping the free minimiser would not be the answer."""
    sample = make_sample(records=300, parameters=4)
    free = minimise(Objective(choose("squared"), 1e-3, 100.0), sample)
    tight = Objective(choose("squared"), 1e-3, 0.3)
    theta = minimise(tight, sample)
    assert np.max(np.abs(theta)) == pytest.approx(0.3)
    assert tight.fitness(sample, theta) < tight.fitness(sample, tight.project(free))


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("name", ["squared", "huber", "logistic"])
def test_the_gradient_bound_covers_the_box(make_sample, name, norm):
    sample = make_sample(records=300, parameters=5, labels=name == "logistic")
    objective = Objective(choose(name, 0.3), 1e-5, 2.0)
    bound = objective.gradient_bound(row_norm=1.0, target=1.0, parameters=5, norm=norm)
    from copriv.losses.passes import gradient_norms

    for corner in np.random.default_rng(0).choice([-2.0, 2.0], size=(40, 5)):
        assert np.max(gradient_norms(objective.loss, sample, corner, norm)) <= bound * (1 + 1e-12)


def test_relative_fitness_is_the_papers():
    assert relative_fitness(3.0, 2.0) == 0.5


@pytest.mark.parametrize(("regularization", "limit"), [(0.0, 1.0), (-1.0, 1.0), (1e-5, 0.0), (1e-5, float("inf"))])
def test_theory_needs_strong_convexity_and_a_box(regularization, limit):
    with pytest.raises(BadInput):
        Objective(choose("squared"), regularization, limit)


def test_an_unknown_loss_is_named():
    with pytest.raises(BadInput, match="'hinge'"):
        choose("hinge")
