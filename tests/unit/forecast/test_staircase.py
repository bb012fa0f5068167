"""Staircase noise: the variance is that of samples drawn another way, it keeps ε, and no γ does better."""

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.forecast import staircase
from copriv.forecast.staircase import Body, radial_variance, square_radii, staircase_variance

DRAWS = 40_000


def fallen(lengths, gamma):
    """k: how often the density has fallen by e^ε at this distance."""
    return np.where(lengths < gamma, 0, np.floor(lengths - gamma) + 1)


def sample(body, parameters, epsilon, gamma):
    """By its density: how far from 0 (r^(p − 1)e^(−kε)), and then in which direction; no balls are mixed."""
    generator = np.random.default_rng(parameters)
    ends = np.arange(0, 60 / min(epsilon, 1) + 3 * parameters / epsilon, 0.002)
    middles = (ends[1:] + ends[:-1]) / 2
    mass = middles ** (parameters - 1) * np.exp(-epsilon * fallen(middles, gamma))
    lengths = generator.choice(middles, size=DRAWS, p=mass / mass.sum())
    shapes = {
        Body.CROSS: generator.laplace(size=(parameters, DRAWS)),
        Body.BALL: generator.normal(size=(parameters, DRAWS)),
        Body.CUBE: generator.uniform(-1, 1, size=(parameters, DRAWS)),
    }
    directions = shapes[body]
    return directions / body.lengths(directions) * lengths


def error(module, body, parameters, epsilon, gamma):
    """How far the variance that a module tells is from that of samples, in standard errors."""
    squares = np.mean(sample(body, parameters, epsilon, gamma) ** 2, axis=0)
    told = float(module.square_radii(parameters, epsilon, np.array([gamma]))[0]) * body.uniform_variance(parameters)
    return abs(float(np.mean(squares)) - told) / (float(np.std(squares)) / np.sqrt(DRAWS))


CASES = [(Body.CROSS, 4, 3.0, 0.5), (Body.BALL, 6, 1.0, 0.3), (Body.CUBE, 3, 8.0, 0.7), (Body.CROSS, 1, 2.0, 0.2)]


@pytest.mark.parametrize("case", CASES)
def test_the_variance_is_that_of_samples(case):
    assert error(staircase, *case) < 4


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("parameters * np.log(radii) -", "(parameters - 1) * np.log(radii) -"),
        ("* np.log(radii) - epsilon * steps", "* np.log(radii) - epsilon * (steps + 1) * 1.1"),
        ("weights * radii**2", "weights * steps**2"),
    ],
)
def test_wrong_weights_are_caught(mistaken, old, new):
    twin = mistaken(staircase, old, new)
    assert max(error(twin, *case) for case in CASES) > 8


@pytest.mark.parametrize("body", Body)
def test_points_that_one_record_can_exchange_differ_by_at_most_e_to_the_epsilon(body):
    generator = np.random.default_rng(0)
    places, moves = generator.uniform(-3, 3, size=(2, 3, 5000))
    moves /= body.lengths(moves)
    before, after = (fallen(body.lengths(points), 0.4) for points in (places, places + moves))
    assert np.max(np.abs(before - after)) == 1


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0, 10.0, 40.0])
@pytest.mark.parametrize("parameters", [1, 2, 10, 60])
def test_the_best_staircase_is_no_louder_than_any_other_nor_than_the_k_norm_mechanism(epsilon, parameters):
    best = staircase_variance(Body.CUBE, parameters, epsilon)
    assert best <= radial_variance(Body.CUBE, parameters, epsilon) * (1 + 1e-12)
    others = square_radii(parameters, epsilon, np.geomspace(1e-7, 1.0, 400)) / 3
    assert best <= float(np.min(others)) * (1 + 2e-6)


def test_with_little_epsilon_it_is_laplace_noise_and_with_much_it_is_far_quieter():
    assert staircase_variance(Body.CROSS, 10, 0.1) == pytest.approx(2 / 0.1**2, rel=1e-5)
    assert staircase_variance(Body.CROSS, 1, 0.004) == pytest.approx(2 / 0.004**2, rel=1e-5)
    # Of one number, the variance falls as e^(−2ε/3) and no longer as 1/ε² (Geng and Viswanath).
    ratio = staircase_variance(Body.CROSS, 1, 33.0) / staircase_variance(Body.CROSS, 1, 30.0)
    assert ratio == pytest.approx(np.exp(-2), rel=1e-3)


def test_clipped_gradients_lie_in_the_body():
    gradients = np.array([[3.0, 0.1], [-4.0, 0.2]])
    clipped = {body: body.clip(gradients, body.lengths(gradients), 1.0) for body in Body}
    assert all(np.all(body.lengths(found) <= 1 + 1e-12) for body, found in clipped.items())
    assert all(np.array_equal(found[:, 1], gradients[:, 1]) for found in clipped.values())
    assert clipped[Body.CUBE][:, 0].tolist() == [1.0, -1.0]


@pytest.mark.parametrize(("parameters", "epsilon"), [(0, 1.0), (3, 0.0), (3, float("inf"))])
def test_noise_for_nothing_or_without_a_promise_is_refused(parameters, epsilon):
    with pytest.raises(BadInput):
        staircase_variance(Body.BALL, parameters, epsilon)
