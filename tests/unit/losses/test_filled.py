"""Second moments in the room of a gradient: what numpy says they are, and never longer with it than the clip."""

import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from copriv.errors import BadInput
from copriv.losses import filled
from copriv.losses.filled import (
    filled_average_gradient,
    filled_count,
    room_over_size,
    second_moment_lengths,
    seen_second_moments,
)
from copriv.losses.gamma import GammaLoss
from copriv.losses.huber import HuberLoss
from copriv.losses.logistic import LogisticLoss
from copriv.losses.moments import second_moment_count, unpack_second_moments
from copriv.losses.outside import OutsideLoss
from copriv.losses.passes import clipped_average_gradient, record_slopes
from copriv.losses.people import Whose
from copriv.losses.poisson import PoissonLoss
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.vectors import BLOCK, Norm

OUTSIDE = Path(__file__).resolve().parents[2] / "outside"
LOSSES = {
    "squared": SquaredLoss(),
    "huber": HuberLoss(0.7),
    "logistic": LogisticLoss(),
    "poisson": PoissonLoss(),
    "gamma": GammaLoss(),
}
SLOPES = {
    "squared": lambda z, y: 2 * (z - y),
    "huber": lambda z, y: 2 * np.clip(z - y, -0.7, 0.7),
    "logistic": lambda z, y: -y / (1 + np.exp(y * z)),
    "poisson": lambda z, y: np.where(z <= 1, np.exp(np.minimum(z, 1)), np.e * z) - y,
    "gamma": lambda z, y: 1 - np.where(np.log(y) - z <= 4, y * np.exp(-z), np.exp(4) * (np.log(y) - z - 3)),
    "smooth-huber": lambda z, y: (z - y) / np.hypot(0.5, z - y),
}
norms = pytest.mark.parametrize("norm", list(Norm))
losses = pytest.mark.parametrize("name", LOSSES)


def drawn(name, records, parameters=4, offsets=False):
    generator = np.random.default_rng(records + parameters)
    rows = generator.normal(size=(records, parameters)) * generator.uniform(0.1, 2, size=(records, 1))
    if name == "logistic":
        targets = generator.choice([-1.0, 1.0], records)
    elif name in ("poisson", "gamma"):
        targets = generator.uniform(0.01, 1, records)
    else:
        targets = generator.normal(size=records)
    more = (generator.uniform(-2, 2, records),) if offsets else ()
    return Sample.of_rows(rows, targets, *more), generator.normal(size=parameters) / 2


def packed(row, norm):
    """xxᵀ of one row: the diagonal, and what lies above it times its weight."""
    above = [row[j] * row[k] for j in range(row.size) for k in range(j + 1, row.size)]
    return np.array([*(row * row), *((2**0.5 if norm is Norm.L2 else 1.0) * value for value in above)])


def by_hand(slopes, sample, clip, norm, fill):
    """Record by record, with nothing but what the definition says."""
    total = np.zeros(filled_count(sample.parameters))
    for slope, row in zip(slopes, sample.columns.T, strict=True):
        gradient = slope * row
        gradient *= min(1.0, clip / max(norm.of(gradient), 1e-300))
        squares, used = packed(row, norm), min(norm.of(gradient), clip)
        room = clip - used if norm is Norm.L1 else (clip**2 - used**2) ** 0.5
        weight = min(fill, room / norm.of(squares)) if norm.of(squares) else 0.0
        total += np.concatenate([gradient, weight * squares])
    return total / sample.records


@losses
@norms
@pytest.mark.parametrize("records", [1, 37, BLOCK + 1])
def test_it_is_what_its_definition_says(name, norm, records):
    sample, theta = drawn(name, records, offsets=name in ("poisson", "gamma"))
    slopes = SLOPES[name](sample.margins(theta), sample.targets)
    for clip, fill in ((0.6, 0.03), (3.0, 0.5), (30.0, 1e3), (1e-3, 1e-6)):
        found = filled_average_gradient(LOSSES[name], sample, theta, clip, norm, fill)
        # A record at the clip has room for its rounding: in L2 that is the root of it.
        np.testing.assert_allclose(found, by_hand(slopes, sample, clip, norm, fill), rtol=1e-9, atol=1e-7 * clip)


@norms
def test_a_loss_from_outside_is_filled_likewise(norm, monkeypatch):
    monkeypatch.syspath_prepend(str(OUTSIDE))
    import outside_loss

    sample, theta = drawn("squared", 60, 3)
    slopes = SLOPES["smooth-huber"](sample.margins(theta), sample.targets)
    found = filled_average_gradient(outside_loss.LOSS, sample, theta, 0.8, norm, 0.1)
    np.testing.assert_allclose(found, by_hand(slopes, sample, 0.8, norm, 0.1), rtol=1e-9, atol=1e-8)
    sys.modules.pop("outside_loss")


def _root(margin, target):
    return math.sqrt(margin - target)


@norms
def test_a_record_whose_slope_is_no_number_tells_nothing(norm):
    """A function that fails must not fail for one record and let an error tell of it."""
    loss = OutsideLoss("root", _root, _root, _root, lambda _z, _y: 9.0, lambda _z, _y: 9.0, 9.0)
    rows, targets = np.eye(3)[[0, 1, 2, 0]] / 2, np.array([-1.0, -4.0, 5.0, 7.0])
    told = filled_average_gradient(loss, Sample.of_rows(rows, targets), np.zeros(3), 1.5, norm, 0.1)
    some = filled_average_gradient(loss, Sample.of_rows(rows[:2], targets[:2]), np.zeros(3), 1.5, norm, 0.1)
    assert told.tolist() == (some / 2).tolist()
    assert np.flatnonzero(told).tolist() == [0, 1, 3, 4]


@losses
@norms
def test_the_first_numbers_are_the_gradient(name, norm):
    sample, theta = drawn(name, 3 * BLOCK + 5, 7)
    for clip in (1e-3, 0.5, 1e6):
        found = filled_average_gradient(LOSSES[name], sample, theta, clip, norm, 0.1)
        gradient = clipped_average_gradient(LOSSES[name], sample, theta, clip, norm)
        np.testing.assert_allclose(found[:7], gradient, rtol=1e-10, atol=1e-13 * clip)
        assert found.size == 7 + second_moment_count(7) == filled_count(7)


@norms
@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_stretches_add_up_to_the_same_bits(norm, blocks, monkeypatch):
    """However records are read, and also where an owner has too many numbers to hold those of all blocks at once."""
    sample, theta = drawn("squared", 5 * BLOCK + 17, 6)
    told = filled_average_gradient(SquaredLoss(), sample, theta, 1.0, norm, 0.05)
    again = filled_average_gradient(SquaredLoss(), sample.in_parts(blocks * BLOCK), theta, 1.0, norm, 0.05)
    assert again.tobytes() == told.tobytes()
    seen, rows = [], filled.filled_block_gradients
    monkeypatch.setattr(filled, "_MOST_NUMBERS", blocks * filled_count(6))
    monkeypatch.setattr(filled, "filled_block_gradients", lambda *each: seen.append(rows(*each)) or seen[-1])
    again = filled_average_gradient(SquaredLoss(), sample, theta, 1.0, norm, 0.05)
    assert again.tobytes() == told.tobytes()
    assert max(each.shape[0] for each in seen) == blocks


def test_people_are_refused():
    sample, theta = drawn("squared", 30)
    people = sample.grouped(Whose(np.arange(30) // 2, 3, "person"))
    with pytest.raises(BadInput, match="person"):
        filled_average_gradient(SquaredLoss(), people, theta, 1.0, Norm.L1, 0.1)


@pytest.mark.parametrize(("clip", "fill"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (math.inf, 1.0), (1.0, math.nan)])
def test_nonsense_is_refused(clip, fill):
    sample, theta = drawn("squared", 3)
    with pytest.raises(BadInput, match="fill"):
        filled_average_gradient(SquaredLoss(), sample, theta, clip, Norm.L1, fill)


@losses
@norms
def test_rows_of_zeros_tell_nothing(name, norm):
    sample, theta = drawn(name, 40)
    more = Sample.of_rows(np.vstack([sample.columns.T, np.zeros((8, 4))]), np.append(sample.targets, np.zeros(8)))
    alone = Sample.of_rows(np.zeros((3, 4)), np.ones(3))
    few, many = (filled_average_gradient(LOSSES[name], each, theta, 1.0, norm, 0.1) for each in (sample, more))
    np.testing.assert_allclose(many * 48, few * 40, rtol=1e-12, atol=1e-14)
    assert not filled_average_gradient(LOSSES[name], alone, theta, 1.0, norm, 0.1).any()


ENDS = [0.0, 5e-324, 1e-300, 1e-155, 1e-141, 1e-139, 1e-70, 1e-3, 1.0, 1e3, 1e70, 1e139, 1e141, 1e150, 1.7e308]
ends = st.sampled_from([*ENDS, *(-value for value in ENDS)])
ordinary = st.floats(-5, 5)
UNIT_ROUNDOFF = Fraction(1, 2**53)


def is_within(told, clip, norm):
    """Whether a record is no longer than the clip and the rounding that is said of it, without any rounding here."""
    if not np.all(np.isfinite(told)):
        return False
    entries, numbers = [Fraction(value) for value in told.tolist()], told.size
    # What doubles cannot hold: products that vanish.
    most = Fraction(clip) * (1 + 4 * (numbers + 8) * UNIT_ROUNDOFF) + Fraction(1, 2**1000)
    if norm is Norm.L1:
        return sum(map(abs, entries)) <= most
    return sum(entry * entry for entry in entries) <= most * most


@norms
@given(
    row=st.lists(st.one_of(ends, ordinary), min_size=1, max_size=5),
    target=st.one_of(ends, ordinary),
    weight=st.one_of(ends, ordinary),
    clip=st.sampled_from([1e-9, 1e-3, 0.5, 1.0, 1 / 3, 1e9]),
    fill=st.sampled_from([5e-324, 1e-12, 1e-3, 0.1, 1.0, 1e12]),
)
@example(row=[1e139] * 5, target=1.0, weight=1e-139, clip=1e-9, fill=1e12)
@example(row=[1e-139, -1e-139], target=1.0, weight=0.0, clip=1e9, fill=1e12)
@example(row=[1e300, 1e-300], target=1.0, weight=0.0, clip=1.0, fill=1.0)
def test_no_record_counts_more_than_the_clip(norm, row, target, weight, clip, fill):
    """Of squared loss a slope is any number, so of any slope, and at both ends of what doubles can hold."""
    sample, theta = Sample.of_rows([row], [target]), np.full(len(row), weight)
    assert is_within(filled_average_gradient(SquaredLoss(), sample, theta, clip, norm, fill), clip, norm)


@norms
@given(
    row=st.lists(st.floats(-1, 1), min_size=2, max_size=8),
    near=st.integers(-6, 6),
    part=st.one_of(st.just(1.0), st.floats(0, 1)),
    clip=st.sampled_from([1e-9, 0.3, 1.0, 7.0]),
)
def test_a_record_that_fills_all_its_room_is_as_long_as_the_clip(norm, row, near, part, clip):
    """Gradients of a chosen part of the clip, those nearest to it among them: there the room is all rounding."""
    values = np.array(row)
    length = norm.of(values)
    if length <= 1e-3:
        return
    slope = part * clip / length * (1 + near * 2.0**-53)
    sample = Sample.of_rows([values], [-slope / 2])
    told = filled_average_gradient(SquaredLoss(), sample, np.zeros(values.size), clip, norm, 1e12)
    assert is_within(told, clip, norm)
    assert norm.of(told) >= clip * (1 - 1e-9)


def without_room(loss, sample, theta, clip, norm, fill):
    """The twin that forgets the room: each record tells fill·xxᵀ behind its clipped gradient."""
    moments = np.mean([fill * packed(row, norm) for row in sample.columns.T], axis=0)
    return np.concatenate([clipped_average_gradient(loss, sample, theta, clip, norm), moments])


def room_of_the_other_norm(loss, sample, theta, clip, norm, fill):
    """The twin that takes the room of L2 in L1."""
    slope = record_slopes(loss, sample, theta)[0]
    row = sample.columns.T[0]
    gradient = slope * row * min(1, clip / norm.of(slope * row))
    weight = min(fill, (max(clip**2 - norm.of(gradient) ** 2, 0)) ** 0.5 / norm.of(packed(row, norm)))
    return np.concatenate([gradient, weight * packed(row, norm)])


def is_caught(twin, norm, fill=0.4):
    """Whether any of some records shows that a twin counts more than the clip."""
    rows = np.random.default_rng(4).normal(size=(50, 3))
    return not all(
        is_within(twin(SquaredLoss(), Sample.of_rows([row], [0.2]), np.zeros(3), 1.0, norm, fill), 1.0, norm)
        for row in rows
    )


@norms
def test_an_owner_that_forgets_the_room_is_caught(norm):
    assert is_caught(without_room, norm)
    assert not is_caught(filled_average_gradient, norm)
    assert not is_caught(filled_average_gradient, norm, fill=1e9)
    assert is_caught(room_of_the_other_norm, norm, fill=1e9) == (norm is Norm.L1)


@norms
@pytest.mark.parametrize("odd", [[1.7e308] * 3, [1e200, 0, 0], [1e155, -1e155, 1], [5e-324, 0, 0], [1e141] * 3])
def test_one_odd_record_does_not_touch_its_neighbours(norm, odd):
    """It tells no second moments, and leaves those of others as they are, wherever it stands in its block."""
    sample, theta = drawn("squared", 700, 3)
    rows = sample.columns.T.copy()
    for place in (0, 5, 511, 699):
        rows[place] = 0.0
        without = filled_average_gradient(SquaredLoss(), Sample.of_rows(rows, sample.targets), theta, 0.5, norm, 0.1)
        there = rows.copy()
        there[place] = odd
        found = filled_average_gradient(SquaredLoss(), Sample.of_rows(there, sample.targets), theta, 0.5, norm, 0.1)
        assert norm.of(found[:3] - without[:3]) <= 0.5 / 700 * (1 + 1e-9)
        assert found[3:].tobytes() == without[3:].tobytes()


@norms
def test_what_is_seen_is_what_is_told(norm):
    """Of public rows the learner works out the same, in units of the fill."""
    sample, theta = drawn("huber", 90, 5)
    for clip, fill in ((0.5, 0.05), (2.0, 0.01), (1.0, 50.0)):
        told = filled_average_gradient(HuberLoss(0.7), sample, theta, clip, norm, fill)[5:]
        seen = seen_second_moments(HuberLoss(0.7), sample, theta, (clip, fill), norm)
        np.testing.assert_allclose(seen, unpack_second_moments(told, 5, norm) / fill, rtol=1e-5, atol=1e-7)
    lengths = [norm.of(packed(row, norm)) for row in sample.columns.T]
    np.testing.assert_allclose(second_moment_lengths(sample, norm), lengths, rtol=1e-12)
    assert room_over_size(HuberLoss(0.7), Sample.of_rows(np.zeros((2, 5)), [1, 1]), theta, 1.0, norm).tolist() == [0, 0]
