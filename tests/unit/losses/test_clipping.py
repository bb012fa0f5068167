"""No record's clipped gradient is longer than the clip, at the ends of the range of doubles too."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copriv.losses.huber import HuberLoss
from copriv.losses.logistic import LogisticLoss
from copriv.losses.passes import clipped_average_gradient, clipped_average_gradients, record_slopes
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.privacy.sensitivity import of_average_gradient
from copriv.vectors import Norm

LOSSES = [SquaredLoss(), HuberLoss(1e6), LogisticLoss()]
ENDS = [0.0, 5e-324, 2e-308, 1e-200, 1e-160, 1e-9, 1.0, 1e9, 1e155, 1e200, 1e300, 1.7e308]

ends = st.sampled_from([*ENDS, *(-value for value in ENDS)])
vectors = st.lists(ends, min_size=3, max_size=3)
losses = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
norms = pytest.mark.parametrize("norm", list(Norm))


def _length(vector, norm):
    """The length without rounding, overflow or underflow of its own."""
    if not np.all(np.isfinite(vector)):
        return math.inf
    entries = [Fraction(float(value)) for value in vector]
    if norm is Norm.L1:
        return float(sum(map(abs, entries)))
    scale = max(map(abs, entries)) or Fraction(1)
    return float(scale) * math.sqrt(sum((entry / scale) ** 2 for entry in entries))


def _plain(loss, sample, theta, clip, norm):
    """The twin: the plain norm, as it was before."""
    with np.errstate(all="ignore"):
        slopes = record_slopes(loss, sample, theta)
        lengths = np.linalg.norm(sample.columns, ord=norm.value, axis=0)
        factors = clip / np.maximum(clip, np.abs(slopes) * lengths)
        return (sample.columns * (slopes * factors)).sum(axis=1) / sample.records


def _longest(gradient, loss, norm, clip):
    """The longest clipped gradient of one record, over a grid of records and models."""
    found = 0.0
    for entry in ENDS:
        for weight in ENDS:
            sample = Sample.of_rows([[entry, -entry, entry / 3]], [1.0])
            found = max(found, _length(gradient(loss, sample, np.full(3, weight), clip, norm), norm))
    return found


@losses
@norms
@given(row=vectors, theta=vectors, target=ends, clip=st.sampled_from([1e-9, 1e-3, 1.0, 1e9]))
def test_a_clipped_gradient_is_at_most_the_clip(loss, norm, row, theta, target, clip):
    sample = Sample.of_rows([row], [target])
    found = clipped_average_gradient(loss, sample, np.array(theta), clip, norm)
    declared = of_average_gradient(clip=clip, records=1, parameters=3, norm=norm).value
    assert _length(found, norm) <= declared / 2
    many = clipped_average_gradients(loss, sample, np.array([theta, theta]), clip, norm)
    np.testing.assert_array_equal(many, [found, found])


@losses
@norms
def test_the_grid_finds_nothing_beyond_the_clip(loss, norm):
    assert _longest(clipped_average_gradient, loss, norm, 1.0) <= 1 + 1e-12


@pytest.mark.parametrize("loss", LOSSES[:1], ids=lambda loss: loss.name)
@norms
def test_the_grid_catches_a_plain_norm(loss, norm):
    """A norm that underflows lets gradients pass unclipped, one that overflows makes NaN."""
    assert _longest(_plain, loss, norm, 1.0) > 1000


@norms
def test_a_norm_that_underflows_does_not_let_a_gradient_through(norm):
    """As was found: the squares of a short row vanish, and a wide box makes its slope large."""
    theta = np.array([1e300, 1e300, 0.0])
    small = Sample.of_rows([[1e-98, 1e-98, 0.0]], [0.0])
    assert norm.of(clipped_average_gradient(SquaredLoss(), small, theta, 1.0, norm)) == pytest.approx(1)
    scaled = Sample.of_rows([[1e-200, 1e-200, 0.0]], [-1e250])
    assert norm.of(clipped_average_gradient(SquaredLoss(), scaled, np.zeros(3), 1.0, norm)) == pytest.approx(1)


@losses
@norms
def test_one_odd_record_does_not_touch_its_neighbours(loss, norm):
    """A block with a record that is out of the ordinary is the block without it, to the last bit of each other term."""
    generator = np.random.default_rng(3)
    rows, targets = generator.normal(size=(700, 3)), generator.choice([-1.0, 1.0], 700)
    theta = generator.normal(size=3)
    rows[5] = 0.0
    without = clipped_average_gradient(loss, Sample.of_rows(rows, targets), theta, 0.1, norm)
    for odd in ([1.7e308] * 3, [5e-324, 0.0, 0.0], [1e300, -1e300, 1e-300]):
        there = rows.copy()
        there[5] = odd
        found = clipped_average_gradient(loss, Sample.of_rows(there, targets), theta, 0.1, norm)
        assert norm.of(found - without) <= 0.1 / 700 * (1 + 1e-9)


@losses
@norms
def test_tiny_rows_keep_their_gradients(loss, norm):
    """What is not beyond the clip is not touched, however small."""
    sample = Sample.of_rows([[1e-200, 2e-200, 0.0]], [1.0])
    slope = record_slopes(loss, sample, np.zeros(3))[0]
    found = clipped_average_gradient(loss, sample, np.zeros(3), 1.0, norm)
    np.testing.assert_allclose(found, [slope * 1e-200, slope * 2e-200, 0.0], rtol=1e-14)
