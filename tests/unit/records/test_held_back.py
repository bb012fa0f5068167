"""Which records are held back depends on their places, n and the key, and on nothing else."""

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.records.held_back import divide, held_back


def _sample(rows):
    return Sample.of_rows(rows, np.arange(len(rows), dtype=float) / len(rows))


def test_replacing_a_record_moves_no_other_and_keeps_both_numbers():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 3))
    before = divide(_sample(rows), 0.2, b"key")
    for place in range(0, 300, 17):
        changed = rows.copy()
        changed[place] = rng.normal(size=3) * 1e6
        after = divide(_sample(changed), 0.2, b"key")
        moved = [
            int((one.columns != other.columns).any(axis=0).sum()) if one.columns.shape == other.columns.shape else 99
            for one, other in zip(before, after, strict=True)
        ]
        assert sorted(moved) == [0, 1]


def test_added_records_move_none_before_them():
    assert (held_back(5000, 0.3, b"key")[:1500] == held_back(1500, 0.3, b"key")).all()


def test_the_share_is_kept_and_keys_are_independent():
    """Binomial: beyond five standard deviations once in two million keys."""
    one, other = held_back(200_000, 0.2, b"one"), held_back(200_000, 0.2, b"other")
    deviation = np.sqrt(0.2 * 0.8 / 200_000)
    assert abs(one.mean() - 0.2) < 5 * deviation
    assert abs((one & other).mean() - 0.04) < 5 * np.sqrt(0.04 * 0.96 / 200_000)


def test_too_few_records_and_bad_shares_are_refused():
    with pytest.raises(BadInput, match="would be kept back"):
        divide(_sample(np.ones((1, 2))), 0.5, b"key")
    for share in (0.0, 0.95, -1.0):
        with pytest.raises(BadInput, match="kept back"):
            held_back(10, share, b"key")


def _numbers(divided):
    """Which records are held back, by the number that each has in its first column."""
    return set(divided.held_back.columns[0].astype(int))


def test_a_block_has_the_same_sides_whatever_else_is_read():
    rows = np.column_stack([np.arange(900.0), np.ones(900)])
    both = _numbers(divide(_sample(rows), 0.3, b"key", {"": 500, "block march": 400}))
    march = _numbers(divide(_sample(rows[500:]), 0.3, b"key", {"block march": 400}))
    first = _numbers(divide(_sample(rows[:500]), 0.3, b"key"))
    assert both == first | march
    assert len(_numbers(divide(_sample(rows[:500]), 0.3, b"key", {"": 500, "block of nobody": 0}))) == len(first)
    alone = _numbers(divide(_sample(rows[500:]), 0.3, b"key"))
    assert alone != march, "a twin that numbers places anew in every study"
    assert {number - 500 for number in march} != {number for number in first if number < 400}, "sides of blocks differ"
