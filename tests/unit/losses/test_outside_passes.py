"""A loss from outside is passed over exactly as one of this project: the Huber loss, as if it came from there."""

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.losses import passes
from copriv.losses.huber import HuberLoss
from copriv.losses.outside import OutsideLoss
from copriv.losses.sample import Sample
from copriv.vectors import Norm

D = 0.3
HUBER = HuberLoss(D)


def _value(margin, target):
    residual = abs(margin - target)
    return residual * residual if residual <= D else D * (2 * residual - D)


def _slope(margin, target):
    return 2 * min(max(margin - target, -D), D)


def _curvature(margin, target):
    return 2.0 if abs(margin - target) <= D else 0.0


TWIN = OutsideLoss("twin", _value, _slope, _curvature, HUBER.slope_bound, HUBER.value_bound, HUBER.curvature_bound)


def _odd_sample(seed):
    """Records of all sizes, some beyond what doubles can square, some all zeros."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(1300, 5)) * 10.0 ** generator.uniform(-3, 3, size=(1300, 1))
    rows[0] *= 1e200
    rows[1] *= 1e-200
    rows[2] = 0
    return Sample.of_rows(rows, generator.uniform(-1, 1, size=1300)), generator.normal(size=5)


PASSES = {
    "clipped, L1": lambda loss, sample, theta: passes.clipped_average_gradient(loss, sample, theta, 0.2, Norm.L1),
    "clipped, L2": lambda loss, sample, theta: passes.clipped_average_gradient(loss, sample, theta, 0.2, Norm.L2),
    "clipped at many": lambda loss, sample, theta: passes.clipped_average_gradients(
        loss, sample, np.stack([theta, -theta]), 0.2, Norm.L2
    ),
    "bounded": lambda loss, sample, theta: passes.bounded_average_value(loss, sample, theta, 0.5),
    "values": passes.record_values,
    "slopes": passes.record_slopes,
    "curvatures": passes.record_curvatures,
}


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_pass_is_the_same_to_the_last_bit(name):
    for seed in range(3):
        sample, theta = _odd_sample(seed)
        theirs, ours = (np.asarray(PASSES[name](loss, sample, theta)) for loss in (TWIN, HUBER))
        assert theirs.tobytes() == ours.tobytes()


@pytest.mark.parametrize("what", [passes.average_value, passes.average_gradient, passes.average_curvature])
def test_averages_are_the_same(what, make_sample):
    sample, theta = make_sample(700, 4), np.array([0.3, -0.2, 0.5, 0.1])
    np.testing.assert_allclose(what(TWIN, sample, theta), what(HUBER, sample, theta), rtol=1e-12)


def test_one_record_moves_a_clipped_average_by_no_more_than_it_may(make_sample):
    """A loss whose slope has no bound at all is clipped all the same."""
    wild = OutsideLoss("wild", _value, lambda z, y: 1e12 * (z - y), _curvature, *[lambda m, t: 1.0] * 2, 1.0)
    sample, theta = make_sample(200, 4), np.ones(4)
    rows = sample.columns.T.copy()
    rows[0] = 1e6
    moved = Sample.of_rows(rows, sample.targets)
    for norm in Norm:
        before, after = (passes.clipped_average_gradient(wild, s, theta, 0.5, norm) for s in (sample, moved))
        assert norm.of(after - before) <= 2 * 0.5 / 200 * (1 + 1e-9)
        assert norm.of(after) <= 0.5 * (1 + 1e-9)


def _raising(margin, target):
    if margin > 0:
        raise ValueError("a record says something")
    return 2 * (margin - target)


def test_a_function_that_raises_tells_nobody_of_a_record(make_sample):
    loss = OutsideLoss("raising", _raising, _raising, _curvature, *[lambda m, t: 1.0] * 2, 1.0)
    sample, theta = make_sample(200, 4), np.ones(4)
    slopes = passes.record_slopes(loss, sample, theta)
    assert np.array_equal(np.isnan(slopes), sample.columns.T @ theta > 0)
    kept = np.where(np.isnan(slopes), 0, slopes)
    gradient = passes.clipped_average_gradient(loss, sample, theta, 1e6, Norm.L2)
    np.testing.assert_allclose(gradient, sample.columns @ kept / 200, rtol=1e-12)
    bounded = np.where(np.isnan(slopes), 0.5, np.clip(slopes, 0, 0.5))
    assert passes.bounded_average_value(loss, sample, theta, 0.5) == pytest.approx(bounded.mean())


def test_a_function_that_cannot_be_compiled_is_named(make_sample):
    torn = OutsideLoss("torn", _value, lambda z, y: "text" if z > y else z, _curvature, *[lambda m, t: 1.0] * 2, 1.0)
    with pytest.raises(BadInput, match="'torn' cannot be compiled") as caught:
        passes.record_slopes(torn, make_sample(10, 4), np.ones(4))
    assert "math" in caught.value.remedy
