"""Charts of whatever comes: numbers at the ends of what a float holds, none at all, names that are markup."""

import math

import numpy as np
import pytest

from copriv.dashboard.charts import Axis, Chart, Line

HUGE, TINY = 1e308, 5e-324


@pytest.mark.parametrize(
    "values",
    [
        [-HUGE, HUGE], [math.inf, 1.0], [math.nan, math.nan], [TINY, 1.0], [TINY, TINY], [0.0, 0.0], [HUGE, HUGE],
        [-math.inf, math.inf], [1.0, 1.0 + 1e-16], [], [-1.0, -TINY],
    ],
)  # fmt: skip
@pytest.mark.parametrize("log", [False, True])
def test_no_number_breaks_a_chart(values, log):
    at = [float(place) for place in range(len(values))]
    for x, y in ((at, values), (values, at)):
        drawn = str(Chart(title="t", x_label="x", y_label="y", lines=[Line("l", x, y)], log_x=log, log_y=log).svg())
        assert "nan" not in drawn
        assert "inf" not in drawn


def test_names_are_text():
    drawn = str(Chart(title="<b>", x_label="<i>", y_label="<u>", lines=[Line('"><script>', [1, 2], [1, 2])]).svg())
    assert not any(tag in drawn for tag in ("<b>", "<i>", "<u>", "<script>"))


def test_what_is_counted_has_whole_ticks():
    assert Axis.over(np.asarray([1.0, 2.0, 3.0]), 0, 1, log=False).ticks() == [1, 2, 3]
    assert Axis.over(np.asarray([0.0, 1.0]), 0, 1, log=False).ticks() == [0, 1]
    assert 0.4 in Axis.over(np.asarray([0.0, 0.7, 1.0]), 0, 1, log=False).ticks()
