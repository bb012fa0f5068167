"""The declared sensitivity covers what is computed, not only what is meant."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copriv.errors import BadInput
from copriv.losses.filled import filled_average_gradient
from copriv.losses.huber import HuberLoss
from copriv.losses.logistic import LogisticLoss
from copriv.losses.moments import pack_moments, pack_second_moments, positive_share
from copriv.losses.passes import average_value, bounded_average_value, clipped_average_gradient
from copriv.losses.people import Whose
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.privacy.sensitivity import (
    of_average_gradient,
    of_average_value,
    of_filled_gradient,
    of_moments,
    of_positives,
    of_second_moments,
)
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


LOSSES = [SquaredLoss(), HuberLoss(0.7), LogisticLoss()]


def _largest_change_of_value(loss, records, bound, seed, average=bounded_average_value):
    """The largest computed change when one record goes from the best to the worst fitted one there can be."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(records, 4)) * 10.0 ** generator.uniform(-6, 6, size=(records, 1))
    targets = generator.choice([-1.0, 1.0], records) * 10.0 ** generator.uniform(-3, 3, size=records)
    theta = generator.normal(size=4)
    largest = 0.0
    for index in generator.integers(records, size=10):
        found = []
        for direction in (1.0, -1.0):  # logistic losses are 0 and large, the others 0 and large as well
            there, back = rows.copy(), targets.copy()
            there[index] = 1e5 * theta
            margin = float(there[index] @ theta)
            back[index] = margin if direction > 0 else -margin
            found.append(average(loss, Sample.of_rows(there, back), theta, bound))
        largest = max(largest, abs(found[1] - found[0]))
    return largest


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@given(records=st.integers(1, 3000), bound=st.sampled_from([1e-3, 1.0, 1 / 3, 50.0]), seed=st.integers(0, 2**32))
def test_no_neighbour_moves_the_computed_loss_further_and_some_reach_it(loss, records, bound, seed):
    declared = of_average_value(bound=bound, records=records, norm=Norm.L1)
    assert 0.9 * bound / records <= _largest_change_of_value(loss, records, bound, seed) <= declared.value


@given(records=st.integers(1, 2000), seed=st.integers(0, 2**32))
def test_rounding_differs_between_neighbours_and_is_covered(records, seed):
    """Every loss at the bound but one: sums of numbers that a double cannot hold."""
    generator = np.random.default_rng(seed)
    targets = generator.uniform(0, 1 / 3, size=records)
    rows, bound = np.ones((records, 1)), 0.1
    declared = of_average_value(bound=bound, records=records, norm=Norm.L2).value
    values = []
    for first in (0.0, 10.0):
        targets[0] = first
        values.append(bounded_average_value(SquaredLoss(), Sample.of_rows(rows, targets), np.zeros(1), bound))
    assert values[1] - values[0] <= declared


def test_an_owner_who_forgets_the_bound_is_caught():
    def forgotten(loss, sample, theta, _bound):
        return average_value(loss, sample, theta)

    declared = of_average_value(bound=1.0, records=50, norm=Norm.L1).value
    assert _largest_change_of_value(SquaredLoss(), 50, 1.0, seed=1, average=forgotten) > 1000 * declared


def test_rounding_of_a_loss_costs_little():
    for records in (10, 10_000, 250_000, 10_000_000):
        declared = of_average_value(bound=1.0, records=records, norm=Norm.L1).value
        assert 1 / records < declared < 1 / records * (1 + 6e-5)


@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan"), float("inf"), 1e308])
def test_a_loss_bound_must_be_positive_and_finite_and_so_must_their_sum(bound):
    with pytest.raises(BadInput, match="loss bound"):
        of_average_value(bound=bound, records=10, norm=Norm.L1)


def test_an_average_needs_a_record():
    with pytest.raises(BadInput, match="0 records"):
        of_average_value(bound=1.0, records=0, norm=Norm.L1)


def _answers(sample, theta, norm):
    """Every kind of answer, with its sensitivity for so many records."""
    n, p = sample.records, sample.parameters
    return [
        (
            clipped_average_gradient(SquaredLoss(), sample, theta, 0.3, norm),
            of_average_gradient(clip=0.3, records=n, parameters=p, norm=norm),
        ),
        (
            np.array([bounded_average_value(SquaredLoss(), sample, theta, 0.5)]),
            of_average_value(bound=0.5, records=n, norm=norm),
        ),
        (
            filled_average_gradient(SquaredLoss(), sample, theta, 0.3, norm, 0.05),
            of_filled_gradient(clip=0.3, records=n, parameters=p, norm=norm),
        ),
        (pack_moments(sample, norm), of_moments(records=n, parameters=p, norm=norm)),
        (pack_second_moments(sample, norm), of_second_moments(row_norm=1.0, records=n, parameters=p, norm=norm)),
        (positive_share(sample), of_positives(records=n, norm=norm)),
    ]


def _count(rows, targets):
    """What an owner does: a record without a usable target counts, as zeros."""
    unusable = np.isnan(targets)
    return Sample.of_rows(np.where(unusable[:, None], 0.0, rows), np.where(unusable, 0.0, targets))


def _drop(rows, targets):
    """The broken twin: a record without a target is left out, so that there is one record less."""
    known = ~np.isnan(targets)
    return Sample.of_rows(rows[known], targets[known])


def _moved(reduce, norm, rows, targets, theta):
    """By how many sensitivities each answer moves when the first record loses its target: above 1 is a violation."""
    neighbour = targets.copy()
    neighbour[0] = np.nan
    before, after = (_answers(reduce(rows, values), theta, norm) for values in (targets, neighbour))
    return [norm.of(one - other) / known.value for (one, known), (other, _) in zip(before, after, strict=True)]


@pytest.mark.parametrize("norm", list(Norm))
@given(records=st.integers(2, 1500), seed=st.integers(0, 2**32))
def test_a_record_that_loses_its_target_moves_no_answer_further(norm, records, seed):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(records, 4))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    targets = generator.choice([-1.0, 1.0], records)
    targets[1:][generator.random(records - 1) < 0.2] = np.nan
    assert max(_moved(_count, norm, rows, targets, generator.normal(size=4))) <= 1


def _told_in_the_clear(reduce, targets, norm):
    """What goes with answers and without noise: how many records there are, and so how much noise there is."""
    sample = reduce(np.full((targets.size, 4), 0.4), targets)
    return sample.records, [known.value for _, known in _answers(sample, np.zeros(4), norm)]


@pytest.mark.parametrize("norm", list(Norm))
def test_what_is_told_in_the_clear_is_the_same_for_neighbours(norm):
    targets, neighbour = np.ones(20), np.append(np.nan, np.ones(19))
    assert _told_in_the_clear(_count, targets, norm) == _told_in_the_clear(_count, neighbour, norm)
    dropped, known = (_told_in_the_clear(_drop, values, norm) for values in (neighbour, targets))
    assert (dropped[0], known[0]) == (19, 20)
    assert dropped[1] != known[1]


def test_a_record_without_a_target_counts_as_the_bound_of_the_loss():
    rows, targets = np.array([[0.5, 0.5], [0.0, 0.0]]), np.array([0.5, 0.0])
    for loss in LOSSES:
        alone = bounded_average_value(loss, Sample.of_rows(rows[:1], targets[:1]), np.zeros(2), 3.0)
        both = bounded_average_value(loss, Sample.of_rows(rows, targets), np.zeros(2), 3.0)
        assert both == pytest.approx((alone + 3.0) / 2)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("norm", list(Norm))
def test_a_record_without_a_target_has_no_gradient_and_no_moments(loss, norm):
    generator = np.random.default_rng(9)
    rows, targets = generator.normal(size=(600, 4)), generator.choice([-1.0, 1.0], 600)
    theta, more = generator.normal(size=4), np.zeros((40, 4))
    few, many = Sample.of_rows(rows, targets), Sample.of_rows(np.vstack([rows, more]), np.append(targets, np.zeros(40)))
    np.testing.assert_allclose(
        clipped_average_gradient(loss, many, theta, 0.5, norm) * 640,
        clipped_average_gradient(loss, few, theta, 0.5, norm) * 600,
        rtol=1e-12,
    )
    np.testing.assert_allclose(pack_moments(many, norm), pack_moments(few, norm), rtol=1e-12)


def _largest_change_of_squares(norm, records, parameters, row_norm, seed):
    """The largest computed change of the average of xxᵀ when a row of full length turns by a right angle."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(records, parameters))
    rows *= row_norm / np.linalg.norm(rows, axis=1, keepdims=True)
    before, largest = pack_second_moments(Sample.of_rows(rows, np.zeros(records)), norm), 0.0
    for index in generator.integers(records, size=30):
        there = rows.copy()
        across = generator.normal(size=parameters)
        across -= (across @ rows[index]) * rows[index] / row_norm**2
        there[index] = row_norm * across / np.linalg.norm(across)
        largest = max(largest, norm.of(pack_second_moments(Sample.of_rows(there, np.zeros(records)), norm) - before))
    return largest


@pytest.mark.parametrize("norm", list(Norm))
@given(records=st.integers(1, 1500), parameters=st.integers(2, 8), row_norm=st.sampled_from([1.0, 30.0]))
def test_no_neighbour_moves_the_computed_second_moments_further(norm, records, parameters, row_norm):
    declared = of_second_moments(row_norm=row_norm, records=records, parameters=parameters, norm=norm)
    assert _largest_change_of_squares(norm, records, parameters, row_norm, seed=records) <= declared.value


@pytest.mark.parametrize("norm", list(Norm))
def test_the_search_would_find_second_moments_bounded_too_tightly(norm):
    declared = of_second_moments(row_norm=2.0, records=60, parameters=2, norm=norm)
    assert _largest_change_of_squares(norm, 60, 2, 2.0, seed=3) > 0.9 * declared.value


def test_rounding_of_second_moments_costs_little_and_nonsense_is_refused():
    for records in (10, 250_000, 10_000_000):
        declared = of_second_moments(row_norm=1.0, records=records, parameters=10, norm=Norm.L2).value
        assert 2**0.5 / records < declared < 2**0.5 / records * (1 + 6e-5)
    for wrong in ({"row_norm": 0.0}, {"row_norm": float("inf")}, {"parameters": 0}, {"records": 0}):
        with pytest.raises(BadInput):
            of_second_moments(**({"row_norm": 1.0, "records": 5, "parameters": 2, "norm": Norm.L1} | wrong))


def _largest_change_of_share(records, seed):
    """The largest computed change of the share of positives when one target takes another value."""
    generator = np.random.default_rng(seed)
    values = (-1.0, -5e-324, 0.0, 5e-324, 0.4, 1.0)
    rows, targets = np.ones((records, 1)), generator.choice(values, records, p=generator.dirichlet(np.ones(6)))
    before, largest = positive_share(Sample.of_rows(rows, targets)), 0.0
    for index in generator.integers(records, size=4):
        for value in values:
            there = targets.copy()
            there[index] = value
            largest = max(largest, Norm.L1.of(positive_share(Sample.of_rows(rows, there)) - before))
    return largest


@pytest.mark.parametrize("norm", list(Norm))
@given(records=st.integers(1, 3000), seed=st.integers(0, 2**32))
def test_no_neighbour_moves_the_computed_share_further_and_half_as_much_would_be_too_little(norm, records, seed):
    declared, moved = of_positives(records=records, norm=norm).value, _largest_change_of_share(records, seed)
    assert moved <= declared
    assert moved > declared / 2
    assert moved == pytest.approx(1 / records, rel=1e-9)


def _moved_by_a_person(records, cap, weigh, seed, counts):
    """The largest change when one person becomes another one, of any number of rows, all positive or none."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 2 * cap + 1, size=records)
    others = np.repeat(np.arange(1, records), sizes[1:])
    targets = generator.choice([-1.0, 1.0], others.size)
    place, ends = generator.integers(others.size + 1), []
    for size in (1, cap, 3 * cap):
        for sign in (1.0, -1.0):
            told = np.insert(targets, place, np.full(size, sign))
            codes = np.insert(others, place, np.zeros(size, dtype=np.int64))
            people = Sample.of_rows(np.ones((told.size, 1)), told).grouped(Whose(codes, cap, weigh))
            assert people.records == records
            ends.append(counts(people))
    return max(ends) - min(ends)


def _share_of(people):
    return float(positive_share(people)[0])


def _rows_of(people):
    """The broken twin: every row counts as a record does."""
    return float(np.sum(people.targets > 0)) / people.records


@pytest.mark.parametrize("weigh", ["person", "row"])
@given(records=st.integers(1, 700), cap=st.sampled_from([1, 2, 3, 7, 10]), seed=st.integers(0, 2**32))
def test_no_person_moves_the_computed_share_further_whatever_its_rows(weigh, records, cap, seed):
    declared = of_positives(records=records, norm=Norm.L2, rows=cap).value
    assert declared / 2 < _moved_by_a_person(records, cap, weigh, seed, _share_of) <= declared


def test_people_whose_rows_count_as_records_are_caught():
    for cap in (2, 10):
        declared = of_positives(records=50, norm=Norm.L2, rows=cap).value
        assert _moved_by_a_person(50, cap, "person", 1, _rows_of) > 0.9 * cap * declared


def test_rounding_of_a_share_costs_little_in_every_norm_and_nonsense_is_refused():
    for records in (10, 250_000, 10_000_000):
        alone, together = (of_positives(records=records, norm=Norm.L1, rows=rows).value for rows in (1, 20))
        assert 1 / records < alone < 1 / records * (1 + 6e-5)
        assert alone < together < 1 / records * (1 + 1e-4)
        assert of_positives(records=records, norm=Norm.L2).value == alone
    with pytest.raises(BadInput, match="0 records"):
        of_positives(records=0, norm=Norm.L1)
