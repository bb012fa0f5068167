"""Gradients along other axes: what numpy says they are, the same bits however records lie, and no row grows longer."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copriv.errors import BadInput
from copriv.losses import turned as turning
from copriv.losses.filled import filled_average_gradient, filled_count
from copriv.losses.gamma import GammaLoss
from copriv.losses.huber import HuberLoss
from copriv.losses.logistic import LogisticLoss
from copriv.losses.people import Whose
from copriv.losses.poisson import PoissonLoss
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.losses.turned import MOST_TURNED, STEEPEST, Turned, require_axes, turn, turned, turned_model
from copriv.protocol.commitment import told_gradient
from copriv.records import streamed
from copriv.records.file_format import PLAIN
from copriv.records.fit_features import fit_dictionary
from copriv.records.load_owner import load_owner, open_owner_records
from copriv.records.resources import Resources
from copriv.records.streamed import StreamedRecords
from copriv.records.target import TargetChoice
from copriv.vectors import BLOCK, Norm

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
}
norms = pytest.mark.parametrize("norm", list(Norm))
losses = pytest.mark.parametrize("name", LOSSES)
fills = pytest.mark.parametrize("fill", [0.0, 0.05])


def axes_of(parameters, seed=0, steepest=30.0, squares=0.9):
    """Axes in any direction, one of them so much longer than another."""
    generator = np.random.default_rng(seed)
    left, right = (np.linalg.qr(generator.normal(size=(parameters, parameters)))[0] for _ in range(2))
    matrix = left @ np.diag(np.geomspace(1.0, 1 / steepest, parameters)) @ right
    matrix *= math.sqrt(squares / np.sum(matrix**2))
    return tuple(tuple(axis) for axis in matrix.tolist())


def drawn(name, records, parameters=4, offsets=True):
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


def by_hand(slopes, sample, bounds, norm):
    """Record by record: its slope as it is, T times its row, and then the clip and the room."""
    clip, fill, axes = bounds
    total = np.zeros(filled_count(sample.parameters) if fill else sample.parameters)
    for slope, plain in zip(slopes, sample.columns.T, strict=True):
        row = np.array([math.fsum(a * x for a, x in zip(axis, plain, strict=True)) for axis in axes])
        gradient = slope * row
        gradient *= min(1.0, clip / max(norm.of(gradient), 1e-300))
        told = [gradient]
        if fill:
            squares, used = packed(row, norm), min(norm.of(gradient), clip)
            room = clip - used if norm is Norm.L1 else (clip**2 - used**2) ** 0.5
            told.append((min(fill, room / norm.of(squares)) if norm.of(squares) else 0.0) * squares)
        total += np.concatenate(told)
    return total / sample.records


@losses
@norms
@fills
@pytest.mark.parametrize(("records", "offsets"), [(1, False), (37, True), (BLOCK + 1, True)])
def test_it_is_what_its_definition_says(name, norm, fill, records, offsets):
    sample, theta = drawn(name, records, offsets=offsets)
    slopes, axes = SLOPES[name](sample.margins(theta), sample.targets), axes_of(4)
    for clip in (0.01, 0.3, 30.0):
        found = told_gradient(LOSSES[name], sample, theta, (clip, fill, axes), norm)
        expected = by_hand(slopes, sample, (clip, fill, axes), norm)
        # A record at the clip has room for its rounding: in L2 that is the root of it.
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=(1e-7 if fill else 1e-13) * clip)


@norms
def test_twins_that_turn_elsewhere_are_told_apart(norm):
    """Clipped before it is turned, turned the other way round, or asked at the model of the features."""
    sample, theta = drawn("squared", 60)
    axes, clip = axes_of(4), 0.3
    expected = by_hand(SLOPES["squared"](sample.margins(theta), sample.targets), sample, (clip, 0.0, axes), norm)
    before = np.asarray(axes) @ told_gradient(SquaredLoss(), sample, theta, (clip, 0.0, ()), norm)
    across = told_gradient(SquaredLoss(), sample, theta, (clip, 0.0, tuple(zip(*axes, strict=True))), norm)
    elsewhere = told_gradient(SquaredLoss(), turn(sample, axes), theta, (clip, 0.0, ()), norm)
    for twin in (before, across, elsewhere):
        assert norm.of(twin - expected) > 0.05 * norm.of(expected)


def test_without_axes_nothing_is_turned():
    sample, theta = drawn("squared", 5)
    assert turned(sample, ()) is sample
    assert turn(sample, ()) is sample
    assert turned_model(theta, ()) is theta


@pytest.mark.parametrize("parameters", [1, 2, 7, 40])
@pytest.mark.parametrize("steepest", [1.0, 100.0, 9_999.0])
def test_margins_stay_what_they_are(parameters, steepest):
    sample, theta = drawn("squared", 200, parameters)
    axes = axes_of(parameters, steepest=steepest if parameters > 1 else 1.0)
    found = turn(sample, axes).margins(turned_model(theta, axes))
    np.testing.assert_allclose(found, sample.margins(theta), atol=1e-11 * steepest * parameters)
    assert turn(sample, axes).targets is sample.targets
    assert turn(sample, axes).offsets is sample.offsets


@losses
@norms
@fills
def test_rows_of_zeros_stay_zeros_and_say_nothing(name, norm, fill):
    sample, theta = drawn(name, 40, offsets=False)
    more = Sample.of_rows(np.vstack([sample.columns.T, np.zeros((8, 4))]), np.append(sample.targets, np.zeros(8)))
    alone, bounds = Sample.of_rows(np.zeros((3, 4)), np.ones(3)), (1.0, fill, axes_of(4))
    assert not turn(alone, axes_of(4)).columns.any()
    assert not turn(alone, axes_of(4)).used.any()
    assert not told_gradient(LOSSES[name], alone, theta, bounds, norm).any()
    few, many = (told_gradient(LOSSES[name], each, theta, bounds, norm) for each in (sample, more))
    np.testing.assert_allclose(many * 48, few * 40, rtol=1e-12, atol=1e-14)


def test_a_usable_record_never_becomes_one_of_zeros():
    """Its intercept is at least 10⁻⁶, and no axes that are let in make a row 10⁶ times shorter."""
    for seed in range(20):
        axes = axes_of(6, seed, steepest=9_999.0, squares=0.2501)
        rows = np.vstack([np.eye(6), np.linalg.svd(np.asarray(axes))[2]]) * 1e-6
        assert turn(Sample.of_rows(rows, np.ones(12)), axes).used.all()


@norms
@fills
@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_stretches_give_the_same_bits(norm, fill, blocks, monkeypatch):
    sample, theta = drawn("huber", 5 * BLOCK + 17, 6)
    bounds = (0.2, fill, axes_of(6))
    told = told_gradient(HuberLoss(0.7), sample, theta, bounds, norm)
    again = told_gradient(HuberLoss(0.7), sample.in_parts(blocks * BLOCK), theta, bounds, norm)
    assert again.tobytes() == told.tobytes()
    whole = turn(sample, bounds[2])
    at_once = told_gradient(HuberLoss(0.7), whole, turned_model(theta, bounds[2]), (0.2, fill, ()), norm)
    assert at_once.tobytes() == told.tobytes()
    seen = []
    monkeypatch.setattr(turning, "_MOST_NUMBERS", blocks * BLOCK * sample.parameters)
    monkeypatch.setattr(turning, "turn", lambda *each: seen.append(each[0].records) or turn(*each))
    assert told_gradient(HuberLoss(0.7), sample, theta, bounds, norm).tobytes() == told.tobytes()
    assert max(seen) == blocks * BLOCK
    assert sum(seen) == sample.records


def test_a_record_becomes_the_same_whatever_else_is_there():
    """Alone or among others, wherever it stands, and however its numbers lie in memory."""
    sample, axes = drawn("squared", 3 * BLOCK + 5, 7)[0], axes_of(7)
    found = turn(sample, axes).columns
    strided = Sample(np.asfortranarray(sample.columns), sample.targets)
    assert turn(strided, axes).columns.tobytes() == found.tobytes()
    for place in (0, 1, 3, 511, 512, 700, 3 * BLOCK + 4):
        alone = turn(sample.take(np.array([place])), axes).columns[:, 0]
        assert alone.tobytes() == found[:, place].tobytes()
        for others in (0.0, 1e150):
            rows = np.full((sample.records, 7), others)
            rows[place] = sample.columns[:, place]
            there = turn(Sample.of_rows(rows, sample.targets), axes).columns[:, place]
            assert there.tobytes() == alone.tobytes()


def table(rows, seed=0):
    generator = np.random.default_rng(seed)
    columns = {name: generator.normal(size=rows) for name in "abc"}
    columns["y"] = columns["a"] - columns["b"] / 2 + generator.normal(size=rows) / 3
    return pl.DataFrame(columns)


@pytest.mark.parametrize("batch_rows", [7, 1000, 2_600])
def test_records_that_are_read_again_for_every_answer_give_the_bits_of_memory(batch_rows, tmp_path, monkeypatch):
    dictionary = fit_dictionary(table(400, seed=1), TargetChoice("y"), 4)[0]
    p = dictionary.parameters
    monkeypatch.setattr(streamed, "_STRETCH_NUMBERS", 1024 * p)
    table(2_600).write_parquet(tmp_path / "table.parquet", row_group_size=700)
    read = open_owner_records(tmp_path / "table.parquet", PLAIN, dictionary, Resources(0, None, batch_rows)).records
    memory = load_owner(table(2_600).lazy(), dictionary).sample
    assert isinstance(read, StreamedRecords)
    assert len(read.digests) == 3
    theta, axes = np.linspace(-1, 1, p), axes_of(p)
    for norm in Norm:
        for fill in (0.0, 0.05):
            one, other = (told_gradient(SquaredLoss(), each, theta, (0.1, fill, axes), norm) for each in (read, memory))
            assert one.tobytes() == other.tobytes()


def test_turned_records_are_records():
    sample, axes = drawn("squared", 700, 3)[0], axes_of(3)
    there = turned(sample, axes)
    assert isinstance(there, Turned)
    assert (there.records, there.parameters, there.most_rows) == (700, 3, 0)
    assert there.extremes() == sample.extremes()
    [columns] = there.each(lambda stretch: stretch.columns)
    assert columns.tobytes() == turn(sample, axes).columns.tobytes()
    sizes = [int(size) for [size] in there.in_parts(BLOCK).each(lambda stretch: np.array([stretch.records]))]
    assert sizes == [512, 188]
    people = turned(sample.grouped(Whose(np.arange(700) // 2, 3, "person")), axes)
    assert (people.records, people.most_rows) == (350, 2)


def test_extremes_are_those_of_the_plain_records_and_no_turned_one_is_beyond_them():
    """A learner's axes cannot make a row look longer or shorter to an owner that checks it."""
    for seed in range(30):
        sample = drawn("squared", 50 + seed, 5)[0]
        there = turned(sample, axes_of(5, seed, squares=1.0 - 2.0**-40))
        longest, largest = there.extremes()
        assert (longest, largest) == sample.extremes()
        assert max(np.linalg.norm(turn(sample, there.axes).columns, axis=0)) <= longest * (1 + 1e-15)


def longest_allowed(axes):
    """The same axes, so large that their squares add up to 1 as nearly as doubles allow, and are let in."""
    matrix = np.asarray(axes) / math.sqrt(np.sum(np.square(axes)))
    while math.fsum((matrix * matrix).ravel()) > 1:
        matrix = matrix * (1 - 2.0**-53)
    found = tuple(tuple(axis) for axis in matrix.tolist())
    require_axes(found, len(found))
    return found


@settings(max_examples=60)
@given(
    parameters=st.integers(1, 6),
    seed=st.integers(0, 2**32),
    exponent=st.integers(-150, 3),
    steep=st.sampled_from([1.0, 3.0, 9_000.0]),
)
def test_no_row_becomes_longer(parameters, seed, exponent, steep):
    """In exact fractions, rounding included; rows along the longest axis among them, which grow the most."""
    axes = longest_allowed(axes_of(parameters, seed, steepest=steep if parameters > 1 else 1.0))
    generator = np.random.default_rng(seed)
    rows = np.vstack([np.linalg.svd(np.asarray(axes))[2][0], generator.normal(size=(4, parameters))]) * 10.0**exponent
    after = turn(Sample.of_rows(rows, np.zeros(5)), axes).columns.T
    allowed = (1 + Fraction(parameters + 2, 2**53)) ** 2
    for one, other in zip(rows.tolist(), after.tolist(), strict=True):
        squares = [sum(Fraction(value) ** 2 for value in row) for row in (one, other)]
        assert squares[1] <= squares[0] * allowed + Fraction(1, 2**1000)


def test_one_axis_turns_a_row_to_no_more_than_itself():
    """The bound is reached: of one feature T may be 1."""
    sample = Sample.of_rows([[0.75], [-2.0]], [0.0, 0.0])
    assert turn(sample, ((1.0,),)).columns.tolist() == sample.columns.tolist()


EYE = np.eye(3) * 0.5
MALFORMED = {
    "not a number": np.where(np.eye(3) > 0, np.nan, 0.1),
    "one entry that is no number": np.where(np.arange(9).reshape(3, 3) == 5, np.nan, EYE),
    "infinite": np.where(np.eye(3) > 0, np.inf, 0.0),
    "minus infinite": np.where(np.arange(9).reshape(3, 3) == 1, -np.inf, EYE),
    "huge": np.eye(3) * 1e308,
    "squares whose sum overflows": np.eye(3) * 1.2e154,
    "huge that cancels": np.array([[1e308, -1e308, 0.0], [1e308, 1e308, 0.0], [0.0, 0.0, 1e308]]),
    "denormal": EYE * 1e-323,
    "zeros": EYE * 0.0,
    "too large": EYE * 1.16,
    "too small": EYE * 0.57,
    "singular": np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.1]]),
    "a row of zeros": np.diag([0.6, 0.6, 0.0]),
    "a row of denormals": np.diag([0.6, 0.6, 5e-324]),
    "too steep": np.diag([0.9, 0.1, 0.89e-4]),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_axes_are_refused_in_plain_words(name):
    with pytest.raises(BadInput, match="axes") as caught:
        require_axes(tuple(tuple(axis) for axis in MALFORMED[name].tolist()), 3)
    assert caught.value.remedy
    assert len(str(caught.value)) < 300
    assert type(caught.value.value) is float


SHAPES = [
    ((0.5, 0.0), (0.0, 0.5)),
    ((0.5, 0.0, 0.0), (0.0, 0.5, 0.0)),
    ((0.5, 0.0), (0.0, 0.5), (0.0, 0.5)),
    ((0.5, 0.0, 0.0), (0.0, 0.5), (0.0, 0.0, 0.5)),
    ((),),
    ((), (), ()),
    ((0.5, 0.0, 0.0, 0.0),) * 3,
]


@pytest.mark.parametrize("axes", SHAPES)
def test_axes_of_another_shape_are_refused(axes):
    with pytest.raises(BadInput, match="axes for models of 3 numbers") as caught:
        require_axes(axes, 3)
    assert caught.value.value == len(axes)


def test_long_models_are_not_turned():
    for parameters in (MOST_TURNED, MOST_TURNED + 1):
        axes = tuple(tuple(axis) for axis in (np.eye(parameters) / math.sqrt(parameters)).tolist())
        if parameters == MOST_TURNED:
            require_axes(axes, parameters)
            continue
        with pytest.raises(BadInput, match="at most 200; or none"):
            require_axes(axes, parameters)


@pytest.mark.parametrize(
    "matrix",
    [
        [[1.0]],
        [[-0.5]],
        [[0.5, 0.0], [0.0, -0.5]],
        [[0.0, 0.5], [0.5, 0.0]],
        [[0.6, 0.6], [5e-324, -0.5]],
        [[0.9, 0.0], [0.0, 0.9 / (STEEPEST * (1 - 1e-9))]],
    ],
)
def test_axes_at_the_edge_of_what_is_allowed_are_let_in(matrix):
    require_axes(tuple(tuple(axis) for axis in matrix), len(matrix))
    require_axes((), len(matrix))


@pytest.mark.parametrize("parameters", [2, 10, 200])
def test_axes_that_are_let_in_can_be_turned_back(parameters):
    """At the steepest that is allowed a model of the box stays far from the ends of doubles."""
    axes = axes_of(parameters, steepest=STEEPEST * (1 - 1e-6), squares=0.25 * (1 + 1e-9))
    require_axes(axes, parameters)
    theta = np.full(parameters, 1e6)
    there = turned_model(theta, axes)
    assert np.linalg.norm(there) < 3e5 * np.linalg.norm(theta)
    np.testing.assert_allclose(np.asarray(axes).T @ there, theta, rtol=1e-6)


def test_filled_gradients_of_records_along_axes_hold_few_numbers_at_a_time(monkeypatch):
    """Where memory is short, records in memory are turned a block at a time, to the same bits."""
    from copriv.losses import filled

    sample, theta = drawn("squared", 4 * BLOCK + 3, 5)
    axes, seen = axes_of(5), []
    told = told_gradient(SquaredLoss(), sample, theta, (0.5, 0.05, axes), Norm.L1)
    monkeypatch.setattr(filled, "_MOST_NUMBERS", 2 * filled_count(5))
    monkeypatch.setattr(turning, "turn", lambda *each: seen.append(each[0].records) or turn(*each))
    there = Turned(sample, np.asarray(axes))
    again = filled_average_gradient(SquaredLoss(), there, turned_model(theta, axes), 0.5, Norm.L1, 0.05)
    assert again.tobytes() == told.tobytes()
    assert max(seen) == 2 * BLOCK
