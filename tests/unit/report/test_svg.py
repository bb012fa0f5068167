"""Pictures: few points however many there are, whole numbers for what is counted, and nothing from nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copriv.report.svg import Axes, Interval, Line, decimate, interval_picture, line_picture, rows_picture, ticks

AXES = Axes("a title", "a description", "meeting", "ψ", logarithmic=True)


def test_decimation_keeps_every_peak():
    """The twin takes every so many-th point, and loses the peak."""
    points = [(float(k), 1.0) for k in range(100_000)]
    points[54_321] = (54_321.0, 9.0)
    kept = decimate(points, columns=100)
    assert len(kept) <= 400
    assert max(y for _, y in kept) == 9.0
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert kept == sorted(kept)
    assert max(y for _, y in points[:: len(points) // 400]) == 1.0


@given(st.floats(0, 1e6), st.floats(1e-3, 1e6))
def test_ticks_lie_within_and_count_whole(low, span):
    for whole in (False, True):
        values = [value for value, _ in ticks(low, low + span, whole=whole)]
        assert all(low - span * 1e-6 <= value <= low + span * (1 + 1e-6) for value in values)
        assert len(values) <= 12
        assert not whole or all(value == int(value) for value in values) or len(values) == 1


@pytest.mark.parametrize("points", [[], [(1.0, 0.0)], [(1.0, float("nan"))]])
def test_what_cannot_be_drawn_is_left_out(points):
    assert line_picture([Line("one", points)], AXES) == ""
    assert interval_picture([Interval("one", y) for _, y in points], AXES) == ""


@pytest.mark.parametrize("logarithmic", [True, False])
def test_one_point_and_many_have_places(logarithmic):
    axes = Axes("a title", "a description", "meeting", "ψ", logarithmic)
    for points in ([(1.0, 2.0)], [(k, np.exp(-k)) for k in range(1, 9)]):
        picture = line_picture([Line("one", points, dots=True)], axes, band=[(x, y / 2, y * 2) for x, y in points])
        assert "nan" not in picture
        assert "<title>a title</title>" in picture


def test_owners_have_rows_of_marks():
    picture = rows_picture(["<east>", "west"], ["a..b", ".r.."], 4, AXES)
    assert picture.count("&lt;east&gt;") == 1
    assert picture.count('class="answer"') == picture.count('class="refusal"') == 2, "a mark, and its legend"
