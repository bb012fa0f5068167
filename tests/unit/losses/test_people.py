"""People: a person's rows are added up, each times what it counts, and clipped as one."""

import math

import numpy as np
import pytest

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.moments import moment_count, pack_moments, pack_second_moments, unpack_moments
from copriv.losses.passes import (
    average_curvature,
    average_gradient,
    average_value,
    bounded_average_value,
    clipped_average_gradient,
    clipped_average_gradients,
    gradient_norms,
    record_slopes,
    record_values,
)
from copriv.losses.people import NOBODY, People, Whose, group
from copriv.losses.people_passes import kept_of
from copriv.losses.sample import Sample
from copriv.vectors import BLOCK, Norm

CHANCE = seeded(5, "people")
ROWS, P = 900, 4
CODES = CHANCE.integers(0, 300, ROWS)
PLAIN = Sample.of_rows(CHANCE.uniform(-0.5, 0.5, (ROWS, P)), CHANCE.choice([-1.0, 1.0], ROWS))
THETA = CHANCE.normal(size=P)
LOSSES = [("squared", 0.0), ("huber", 0.3), ("logistic", 0.0)]


def by_hand(loss, weigh, cap, clip, norm):
    """Person by person, with nothing but sums."""
    slopes, total, people = record_slopes(loss, PLAIN, THETA), np.zeros(P), list(dict.fromkeys(CODES.tolist()))
    for person in people:
        rows = np.flatnonzero(person == CODES)[:cap]
        gradient = PLAIN.columns[:, rows] @ slopes[rows] / (rows.size if weigh == "person" else cap)
        total += gradient * min(1.0, clip / norm.of(gradient))
    return total / len(people)


@pytest.mark.parametrize("weigh", ["person", "row"])
@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize(("name", "threshold"), LOSSES)
def test_a_person_is_clipped_as_one(name, threshold, norm, weigh):
    loss, cap, clip = choose(name, threshold), 4, 0.11
    people = PLAIN.grouped(Whose(CODES, cap, weigh))
    expected = by_hand(loss, weigh, cap, clip, norm)
    found = clipped_average_gradient(loss, people, THETA, clip, norm)
    assert np.allclose(found, expected, atol=1e-14)
    assert np.allclose(clipped_average_gradients(loss, people, np.stack([THETA, THETA]), clip, norm)[1], expected)
    assert float(np.max(gradient_norms(loss, people, THETA, norm))) > clip
    assert not np.allclose(found, average_gradient(loss, people, THETA), atol=1e-6)


def test_people_of_one_row_are_records():
    people = PLAIN.grouped(Whose(np.arange(ROWS), 7, "person"))
    for name, threshold in LOSSES:
        loss = choose(name, threshold)
        for one in (average_value, average_gradient, average_curvature):
            assert np.allclose(one(loss, people, THETA), one(loss, PLAIN, THETA), atol=1e-14)
        for norm in Norm:
            arguments = (THETA, 0.2, norm)
            found = clipped_average_gradient(loss, people, *arguments)
            assert np.allclose(found, clipped_average_gradient(loss, PLAIN, *arguments), atol=1e-14)
    assert np.allclose(pack_moments(people, Norm.L2), pack_moments(PLAIN, Norm.L2), atol=1e-11)


@pytest.mark.parametrize("weigh", ["person", "row"])
def test_losses_moments_and_curvature_are_those_of_weighted_rows(weigh):
    loss, people = choose("squared"), PLAIN.grouped(Whose(CODES, 3, weigh))
    weights, n = people.weights, people.records
    values = record_values(loss, people, THETA)
    assert average_value(loss, people, THETA) == pytest.approx(float(weights @ values) / n)
    assert np.allclose(average_curvature(loss, people, THETA), 2 * (people.columns * weights) @ people.columns.T / n)
    matrix, vector = unpack_moments(pack_moments(people, Norm.L1), P, Norm.L1)
    assert np.allclose(matrix, (people.columns * weights) @ people.columns.T)
    assert np.allclose(vector, people.columns @ (weights * people.targets))
    assert pack_second_moments(people, Norm.L2)[0] == pytest.approx(matrix[0, 0] / n)
    bounded = bounded_average_value(loss, people, THETA, 0.9)
    assert bounded == pytest.approx(float(np.minimum(people.by_record(values), 0.9).mean()))


def test_stretches_of_people_add_up_to_the_same_bits():
    many = Sample.of_rows(CHANCE.uniform(-0.5, 0.5, (5 * BLOCK, P)), np.ones(5 * BLOCK))
    people, loss = many.grouped(Whose(CHANCE.integers(0, 3 * BLOCK, 5 * BLOCK), 9, "person")), choose("squared")
    whole = clipped_average_gradient(loss, people, THETA, 0.2, Norm.L2)
    assert np.array_equal(whole, clipped_average_gradient(loss, people.in_parts(BLOCK), THETA, 0.2, Norm.L2))
    assert people.in_parts(BLOCK).most_rows == people.most_rows > 1


def test_one_person_moves_an_answer_by_at_most_two_clips_whatever_its_rows():
    """Replace one person by any other, of any number of rows; the twin that clips by row is moved further."""
    loss, clip, cap, n = choose("squared"), 0.05, 30, 40
    rows, targets = CHANCE.uniform(-0.5, 0.5, (n, P)), CHANCE.uniform(-1, 1, n)
    worst, worst_by_row = 0.0, 0.0
    for size in (1, 2, 30, 300):
        odd = np.sign(CHANCE.normal(size=P)) / 2
        ends = []
        for sign in (1.0, -1.0):
            more = np.vstack([rows[1:], np.tile(odd, (size, 1))])
            told = np.concatenate([targets[1:], np.full(size, sign)])
            sample, codes = (
                Sample.of_rows(more, told),
                np.concatenate([np.arange(1, n), np.zeros(size, dtype=np.int64)]),
            )
            people = sample.grouped(Whose(codes, cap, "person"))
            assert people.records == n
            by_row = clipped_average_gradient(loss, sample, THETA, clip, Norm.L2) * sample.records / n
            ends.append((clipped_average_gradient(loss, people, THETA, clip, Norm.L2), by_row))
        worst = max(worst, Norm.L2.of(ends[0][0] - ends[1][0]))
        worst_by_row = max(worst_by_row, Norm.L2.of(ends[0][1] - ends[1][1]))
    assert worst <= 2 * clip / n * (1 + 1e-12)
    assert worst_by_row > 100 * clip / n


def test_moments_of_a_person_stay_within_those_of_a_record():
    for weigh in ("person", "row"):
        people = PLAIN.grouped(Whose(np.zeros(ROWS, dtype=np.int64), 50, weigh))
        assert people.records == 1
        assert Norm.L2.of(pack_moments(people, Norm.L2)) <= math.sqrt(2)
        assert people.by_record(np.ones(people.rows))[0] <= 1


def test_a_row_that_names_nobody_is_a_person_of_its_own_and_a_cap_keeps_the_first_rows():
    rows, people = group(Whose(np.array([NOBODY, 2, 2, 2, NOBODY]), 2, "row"))
    assert (rows.tolist(), people.sizes.tolist(), people.most_rows) == ([0, 1, 2, 4], [1, 2, 1], 2)
    assert np.all(people.weights < 0.5 + 1e-15)


def test_records_are_taken_and_left_with_all_their_rows():
    people = PLAIN.grouped(Whose(CODES, 9, "person"))
    chosen = np.array([5, 0, 17])
    some = people.take(chosen)
    assert np.array_equal(some.by_record(some.columns), people.by_record(people.columns)[:, chosen])
    assert np.array_equal(some.by_row(np.arange(3)), np.repeat(np.arange(3), people.people.sizes[chosen]))
    joined = Sample.join([some, people])
    assert joined.records == people.records + 3
    with pytest.raises(BadInput, match="records and people"):
        Sample.join([some, PLAIN])


def test_rows_that_say_nothing_keep_the_weight_of_the_others():
    rows = np.array([[1.0, 0.5], [0.0, 0.0], [1.0, 0.2], [0.0, 0.0]])
    people = Sample.of_rows(rows, np.ones(4)).grouped(Whose(np.array([0, 0, 1, 2]), 9, "person"))
    assert people.used.tolist() == [True, True, False]
    used = people.usable()
    assert (used.records, used.rows, used.weights.round(9).tolist()) == (2, 2, [0.5, 1.0])
    assert bounded_average_value(choose("squared"), people, np.zeros(2), 0.25) == pytest.approx(0.25)


@pytest.mark.parametrize("power", [1, 2])
def test_what_is_no_number_counts_as_nothing_and_the_ends_of_doubles_stay_within_the_clip(power):
    for entry in (math.nan, math.inf, -math.inf):
        assert kept_of(np.array([1.0, entry]), 0.5, power) == 0.0
    for size in (1e-320, 1e-200, 1.0, 1e200, 1e308):
        gradient = np.full(3, size)
        with np.errstate(over="ignore"):
            held = gradient * kept_of(gradient, 0.5, power)
        assert np.linalg.norm(held, ord=power) <= 0.5 * (1 + 1e-12)
    assert kept_of(np.zeros(3), 0.5, power) == 1.0


@pytest.mark.parametrize(
    ("starts", "weights"),
    [([0, 2], [0.6, 0.6]), ([0, 1], [0.5, 0.5]), ([0, 2, 2], [0.5, 0.5]), ([0], []), ([0, 1], [-1])],
)
def test_groups_that_are_none_are_refused(starts, weights):
    with pytest.raises(BadInput):
        People(np.array(starts), np.array(weights, dtype=np.float64))


def test_numbers_of_moments_are_those_of_a_record():
    assert pack_moments(PLAIN.grouped(Whose(CODES, 2, "person")), Norm.L2).size == moment_count(P)


def test_people_who_weigh_unequally_are_as_many_as_would_say_as_much():
    """For forecasts: of people with 40 rows or 1, weighed by rows, few carry nearly all weight."""
    ids = np.concatenate([np.repeat(np.arange(100), 40), np.arange(100, 1000)])
    rows = np.ones((2, ids.size))
    alike, by_rows = (Sample(rows, rows[0]).grouped(Whose(ids, 40, weigh)) for weigh in ("person", "row"))
    assert Sample(rows, rows[0]).effective_records == ids.size
    assert alike.effective_records == alike.records == 1000
    assert 100 < by_rows.effective_records < 160
