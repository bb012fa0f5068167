"""Which of two costs is smaller: also where one of them is 0."""

from math import inf

import pytest

from copriv.forecast.comparison import Estimate, ratio_interval, smaller

NOTHING, SOME = Estimate(0.0, 0.0), Estimate(1e-3, 1e-4)


@pytest.mark.parametrize(
    ("first", "second", "ratio", "outcome"),
    [
        (SOME, NOTHING, inf, "second"),
        (NOTHING, SOME, 0.0, "first"),
        (NOTHING, NOTHING, 1.0, "undecided"),
    ],
)
def test_a_cost_of_nothing_is_the_smallest(first, second, ratio, outcome):
    assert ratio_interval(first, second) == (ratio, ratio)
    assert smaller(first, second) == outcome


def test_a_cost_near_nothing_is_told_likewise():
    """The rule for 0 is where the rule for small costs leads."""
    tiny = Estimate(1e-12, 0.0)
    assert (smaller(SOME, tiny), smaller(tiny, SOME)) == ("second", "first")
    low, high = ratio_interval(SOME, tiny)
    assert 1e8 < low < high < inf
