"""The sensitivity of gradients along other axes is that along the features, its allowance for rounding too.

What a record tells is clipped after its row was turned, as it was computed. So no answer moves by what turning rounds.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.losses.turned import require_axes, turn, turned_model
from copriv.privacy.sensitivity import of_average_gradient, of_filled_gradient
from copriv.protocol.commitment import told_gradient
from copriv.vectors import Norm

norms = pytest.mark.parametrize("norm", list(Norm))
fills = pytest.mark.parametrize("fill", [0.0, 1e-3, 1e12])
ENDS = [0.0, 5e-324, 1e-300, 1e-155, 1e-141, 1e-70, 1e-9, 1e-3, 1.0, 1e3, 1e70, 1e139, 1e141, 1e150]
ends = st.sampled_from([*ENDS, *(-value for value in ENDS)])
UNIT_ROUNDOFF = Fraction(1, 2**53)


def axes_of(parameters, seed, steepest, squares=(0.2501, 0.9999)):
    """In any direction, one so much longer than another; or the first feature told along every axis."""
    generator = np.random.default_rng(seed)
    left, right = (np.linalg.qr(generator.normal(size=(parameters, parameters)))[0] for _ in range(2))
    matrix = left @ np.diag(np.geomspace(1.0, 1 / steepest, parameters)) @ right
    if seed % 3 == 0:
        matrix = np.eye(parameters) / steepest**0.5
        matrix[:, 0] += 1.0
    matrix *= math.sqrt(generator.choice(squares) / np.sum(matrix**2))
    axes = tuple(tuple(axis) for axis in matrix.tolist())
    require_axes(axes, parameters)
    return axes


def is_within(told, clip, norm):
    """Whether a record is no longer than the clip and the rounding that is said of it, without any rounding here."""
    if not np.all(np.isfinite(told)):
        return False
    entries = [Fraction(value) for value in told.tolist()]
    most = Fraction(clip) * (1 + 4 * (len(entries) + 8) * UNIT_ROUNDOFF) + Fraction(1, 2**1000)
    if norm is Norm.L1:
        return sum(map(abs, entries)) <= most
    return sum(entry * entry for entry in entries) <= most * most


@norms
@fills
@given(
    row=st.lists(st.one_of(ends, st.floats(-5, 5)), min_size=1, max_size=5),
    target=st.one_of(ends, st.floats(-5, 5)),
    weight=st.sampled_from([0.0, 1e-9, -0.5, 1e6]),
    clip=st.sampled_from([1e-9, 1e-3, 0.5, 1 / 3, 1e9]),
    seed=st.integers(0, 50),
    steepest=st.sampled_from([1.0, 40.0, 9_000.0]),
)
@example(row=[1.0, -1.0], target=1.0, weight=0.0, clip=0.5, seed=0, steepest=9_000.0)
def test_no_turned_record_counts_more_than_the_clip(norm, fill, row, target, weight, clip, seed, steepest):
    """Any row, also such that no owner lets in; in exact fractions."""
    axes = axes_of(len(row), seed, steepest if len(row) > 1 else 1.0)
    sample, theta = Sample.of_rows([row], [target]), np.full(len(row), weight)
    assert is_within(told_gradient(SquaredLoss(), sample, theta, (clip, fill, axes), norm), clip, norm)


def cancelling(axes, generator):
    """A row across all axes but one, so that most digits cancel as it is turned."""
    row = np.linalg.inv(np.asarray(axes))[:, generator.integers(len(axes))]
    return row / np.linalg.norm(row)


@norms
@pytest.mark.parametrize("fill", [0.0, 1e12])
def test_what_turning_rounds_away_makes_no_record_longer(norm, fill):
    """Turned rows are off by far more than the allowance, and what is told of them is within it all the same.

    The twin clips by the length that the turned row has without rounding. It goes beyond the allowance.
    """
    generator, beyond, furthest = np.random.default_rng(5), 0, 0.0
    for seed in range(60):
        axes = axes_of(4, 3 * seed + 1, 9_000.0)
        row = cancelling(axes, generator)
        sample = Sample.of_rows([row], [-50.0])
        there = turn(sample, axes).columns[:, 0]
        exact = [sum(Fraction(a) * Fraction(x) for a, x in zip(axis, row.tolist(), strict=True)) for axis in axes]
        off = sum(abs(Fraction(one) - other) for one, other in zip(there.tolist(), exact, strict=True))
        furthest = max(furthest, float(off / sum(map(abs, exact))))
        told = told_gradient(SquaredLoss(), sample, np.zeros(4), (0.5, fill, axes), norm)
        assert is_within(told, 0.5, norm)
        if norm is Norm.L1:
            twin = [float(Fraction(one) * Fraction(0.5) / sum(map(abs, exact))) for one in there.tolist()]
            beyond += not is_within(np.array(twin), 0.5, norm)
    assert furthest > 100 * 4 * 12 * 2.0**-53
    assert beyond > 10 or norm is Norm.L2


def furthest(answer, norm, axes, bounds, shape, seed, tries):
    """The largest computed change over neighbours; records along an axis, across it, or any other way."""
    (clip, fill), (records, parameters) = bounds, shape
    generator, far = np.random.default_rng(seed), 0.0
    matrix = np.asarray(axes)
    known = [*np.eye(parameters), *matrix, *np.linalg.inv(matrix).T, *np.linalg.svd(matrix)[2]]

    def one_record():
        row = known[generator.integers(len(known))] if generator.random() < 0.7 else generator.normal(size=parameters)
        row = row / np.linalg.norm(row) * 10.0 ** generator.uniform(-3, 0)
        part = generator.choice([0.0, 0.5, 1 - 2.0**-52, 1.0, 7.0])
        return row, generator.choice([-1.0, 1.0]) * part * clip / norm.of(matrix @ row) / 2

    rows, targets = map(np.array, zip(*(one_record() for _ in range(records)), strict=True))
    for _ in range(tries):
        place, told = generator.integers(records), []
        for _ in range(2):
            rows[place], targets[place] = one_record()
            sample = Sample.of_rows(rows, targets)
            told.append(answer(SquaredLoss(), sample, np.zeros(parameters), (clip, fill, axes), norm))
        far = max(far, norm.of(told[1] - told[0]))
    return far


def declared_for(fill, **said):
    return (of_filled_gradient if fill else of_average_gradient)(**said).value


@norms
@fills
@settings(max_examples=20)
@given(
    records=st.one_of(st.integers(1, 30), st.sampled_from([511, 513, 1500])),
    parameters=st.integers(1, 7),
    clip=st.sampled_from([1e-3, 1.0, 50.0]),
    seed=st.integers(0, 2**20),
    steepest=st.sampled_from([1.0, 40.0, 9_000.0]),
)
def test_no_neighbour_moves_the_computed_answer_further(norm, fill, records, parameters, clip, seed, steepest):
    axes = axes_of(parameters, seed, steepest if parameters > 1 else 1.0)
    declared = declared_for(fill, clip=clip, records=records, parameters=parameters, norm=norm)
    assert furthest(told_gradient, norm, axes, (clip, fill), (records, parameters), seed, tries=12) <= declared


@norms
@fills
def test_the_search_would_find_a_bound_that_is_too_small_by_a_hundredth(norm, fill):
    axes = axes_of(3, 4, 40.0)
    declared = declared_for(fill, clip=1.0, records=20, parameters=3, norm=norm)
    far = furthest(told_gradient, norm, axes, (1.0, fill), (20, 3), seed=1, tries=300)
    assert 0.99 * declared < far <= declared


def clips_before(loss, sample, theta, bounds, norm):
    """The twin that clips along the features, and turns what is left."""
    return np.asarray(bounds[2]) @ told_gradient(loss, sample, theta, (bounds[0], 0.0, ()), norm)


def test_an_owner_that_clips_before_it_turns_is_caught():
    """In L1, by a feature that is told along every axis. In L2 no vector becomes longer along axes that are let in."""
    for norm in Norm:
        axes = axes_of(9, 0, 9_000.0, squares=(0.9999,))
        declared = declared_for(0.0, clip=1.0, records=20, parameters=9, norm=norm)
        far = furthest(clips_before, norm, axes, (1.0, 0.0), (20, 9), seed=1, tries=300)
        assert (far > 1.9 * declared) == (norm is Norm.L1)
        assert far <= declared or norm is Norm.L1


def test_models_along_the_axes_stay_far_from_the_ends_of_doubles():
    """The steepest axes, the longest model of a box, the shortest and longest rows: margins are as along features."""
    for seed in range(20):
        axes = axes_of(5, 3 * seed + 1, 9_999.0)
        theta = np.random.default_rng(seed).choice([-1e6, 1e6], 5)
        rows = np.random.default_rng(seed).normal(size=(9, 5)) * np.geomspace(1e-6, 1e3, 9)[:, None]
        sample = Sample.of_rows(rows, np.zeros(9))
        found = turn(sample, axes).margins(turned_model(theta, axes))
        np.testing.assert_allclose(found, sample.margins(theta), atol=1e-3 * np.linalg.norm(rows, axis=1).max())
        for norm in Norm:
            told = told_gradient(SquaredLoss(), sample, theta, (1.0, 0.1, axes), norm)
            assert np.all(np.isfinite(told))
