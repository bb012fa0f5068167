"""The declared sensitivity covers what is computed, not only what is meant."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copriv.errors import BadInput
from copriv.losses.passes import clipped_average_gradient
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.privacy.sensitivity import of_average_gradient
from copriv.vectors import Norm


def _largest_change(records, parameters, clip, norm, seed, tries=20):
    """The largest computed change over neighbours made to be far apart: opposite gradients of full length."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(records, parameters)) * 10.0 ** generator.uniform(-6, 6, size=(records, 1))
    targets = generator.normal(size=records) * 1e3
    theta = generator.normal(size=parameters)
    before = clipped_average_gradient(SquaredLoss(), Sample.of_rows(rows, targets), theta, clip, norm)
    largest = 0.0
    for _ in range(tries):
        index = generator.integers(records)
        there, back = rows.copy(), targets.copy()
        direction = np.sign(rows[index]) if norm is Norm.L2 else np.eye(parameters)[generator.integers(parameters)]
        there[index], back[index] = direction * 1e3, generator.choice([-1e9, 1e9])
        after = clipped_average_gradient(SquaredLoss(), Sample.of_rows(there, back), theta, clip, norm)
        largest = max(largest, norm.of(after - before))
    return largest


@pytest.mark.parametrize("norm", list(Norm))
@given(
    records=st.integers(1, 3000),
    parameters=st.integers(1, 12),
    clip=st.sampled_from([1e-3, 1.0, 50.0]),
    seed=st.integers(0, 2**32),
)
def test_no_neighbour_moves_the_computed_answer_further(norm, records, parameters, clip, seed):
    declared = of_average_gradient(clip=clip, records=records, parameters=parameters, norm=norm)
    assert _largest_change(records, parameters, clip, norm, seed) <= declared.value


def test_the_search_for_neighbours_has_teeth():
    """A sensitivity 20 % too small, such as one forgetting that a record is replaced and not removed, is caught."""
    declared = of_average_gradient(clip=1.0, records=50, parameters=3, norm=Norm.L1)
    assert _largest_change(50, 3, 1.0, Norm.L1, seed=1, tries=400) > 0.8 * declared.value


def test_rounding_costs_little():
    for records in (10, 10_000, 250_000, 10_000_000):
        declared = of_average_gradient(clip=1.0, records=records, parameters=11, norm=Norm.L1).value
        assert 2 / records < declared < 2 / records * (1 + 3e-5)


@pytest.mark.parametrize("clip", [0.0, -1.0, float("nan"), float("inf")])
def test_a_clip_must_be_positive_and_finite(clip):
    with pytest.raises(BadInput, match="clip"):
        of_average_gradient(clip=clip, records=10, parameters=2, norm=Norm.L1)
