"""The share of positive targets is what counting says, exactly, wherever blocks and stretches end."""

import numpy as np
import pytest

from copriv.entropy import seeded
from copriv.losses.moments import positive_share
from copriv.losses.people import NOBODY, Whose
from copriv.losses.sample import Sample
from copriv.vectors import BLOCK

SIZES = [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 5 * BLOCK + 17]
TARGETS = (-1.0, -0.3, -0.0, 0.0, 5e-324, 0.2, 1.0)


def drawn(records, targets=TARGETS):
    chance = seeded(records, "positives")
    return Sample.of_rows(chance.normal(size=(records, 3)), chance.choice(targets, records))


def by_hand(sample, codes, cap, weigh):
    """Person by person, with nothing but sums; a row that names nobody is a person."""
    apart = [code if code != NOBODY else -1 - row for row, code in enumerate(codes.tolist())]
    total, people = 0.0, list(dict.fromkeys(apart))
    for person in people:
        rows = np.flatnonzero(person == np.array(apart))[:cap]
        total += float(np.sum(sample.targets[rows] > 0)) / (rows.size if weigh == "person" else cap)
    return total / len(people)


@pytest.mark.parametrize("records", SIZES)
def test_a_share_is_the_count_over_the_records_to_the_last_bit(records):
    sample = drawn(records)
    counted = sum(target > 0 for target in sample.targets.tolist())
    assert positive_share(sample).tolist() == [counted / records]


def test_a_target_of_0_is_not_positive_however_it_is_signed():
    sample = drawn(BLOCK)
    assert np.sum(sample.targets == 0) > 10
    assert positive_share(sample)[0] == np.mean(sample.targets > 0) < np.mean(sample.targets >= 0)
    assert positive_share(Sample.of_rows(np.ones((3, 1)), [-0.0, 0.0, 5e-324])).tolist() == [1 / 3]


@pytest.mark.parametrize("records", SIZES)
@pytest.mark.parametrize("place", [0, BLOCK - 1, BLOCK, -1])
def test_a_single_positive_is_counted_wherever_it_stands(records, place):
    targets = np.full(records, -1.0)
    targets[min(place, records - 1)] = 1.0
    assert positive_share(Sample.of_rows(np.ones((records, 1)), targets)).tolist() == [1 / records]
    assert positive_share(Sample.of_rows(np.ones((records, 1)), -targets)).tolist() == [(records - 1) / records]


@pytest.mark.parametrize("records", SIZES)
@pytest.mark.parametrize("blocks", [1, 2])
def test_stretches_add_up_to_the_same_bits(records, blocks):
    sample = drawn(records)
    assert np.array_equal(positive_share(sample.in_parts(blocks * BLOCK)), positive_share(sample))
    people = sample.grouped(Whose(seeded(1, "who").integers(0, max(records // 2, 1), records), 3, "person"))
    assert np.array_equal(positive_share(people.in_parts(blocks * BLOCK)), positive_share(people))


@pytest.mark.parametrize("weigh", ["person", "row"])
@pytest.mark.parametrize("cap", [1, 3, 40])
def test_rows_of_people_count_what_they_weigh(weigh, cap):
    """Some rows name nobody. The twin that counts rows as records says something else."""
    sample = drawn(4 * BLOCK)
    codes = seeded(2, "who").integers(NOBODY, BLOCK + 100, 4 * BLOCK)
    people = sample.grouped(Whose(codes, cap, weigh))
    assert people.records > BLOCK
    expected = by_hand(sample, codes, cap, weigh)
    assert positive_share(people)[0] == pytest.approx(expected, rel=1e-13)
    assert abs(positive_share(sample)[0] - expected) > 1e-3


def test_people_of_one_row_are_records_and_features_say_nothing():
    sample = drawn(BLOCK + 5)
    people = sample.grouped(Whose(np.arange(BLOCK + 5), 7, "person"))
    assert np.array_equal(positive_share(people), positive_share(sample))
    assert np.array_equal(positive_share(Sample(sample.columns * 1e9, sample.targets)), positive_share(sample))
