"""The derivative of the clipped average gradient is that of finite differences, for records and for people."""

import numpy as np
import pytest

from copriv.losses.choose import choose
from copriv.losses.clipped_curvature import clipped_curvature
from copriv.losses.passes import average_curvature, clipped_average_gradient, gradient_norms
from copriv.losses.people import Whose
from copriv.losses.sample import Sample
from copriv.vectors import Norm

P, STEP = 3, 1e-6
THETA = np.array([0.3, -0.4, 0.2])


def sample_of(*, people, loss):
    generator = np.random.default_rng(9)
    rows = generator.normal(size=(300, P)) / 3
    targets = generator.random(300) * 2 - 1
    whole = Sample.of_rows(rows, np.sign(targets) if loss == "logistic" else targets)
    return whole.grouped(Whose(generator.integers(0, 120, 300), 40, "person")) if people else whole


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_it_is_the_derivative(loss, people, norm):
    chosen, sample = choose(loss), sample_of(people=people, loss=loss)
    clip = float(np.quantile(gradient_norms(chosen, sample, THETA, norm), 0.7))
    apart = [
        clipped_average_gradient(chosen, sample, THETA + step, clip, norm)
        - clipped_average_gradient(chosen, sample, THETA - step, clip, norm)
        for step in STEP * np.eye(P)
    ]
    found = clipped_curvature(chosen, sample, THETA, clip, norm)
    assert np.allclose(found, np.stack(apart, axis=1) / (2 * STEP), atol=1e-6)
    assert np.abs(found - average_curvature(chosen, sample, THETA)).max() > 0.005


@pytest.mark.parametrize("people", [False, True])
def test_without_a_clip_it_is_the_hessian(people):
    chosen, sample = choose("logistic"), sample_of(people=people, loss="logistic")
    found = clipped_curvature(chosen, sample, THETA, 1e3, Norm.L1)
    assert np.allclose(found, average_curvature(chosen, sample, THETA), atol=1e-12)
