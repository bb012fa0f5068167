"""Grids that a user gives: read, sorted, and refused where they mean nothing."""

import pytest

from copriv.errors import BadInput
from copriv.reproduction.grids import read_counts, read_epsilons


def test_grids_are_sorted_and_have_each_value_once():
    assert read_epsilons("10,0.1, 1,1") == (0.1, 1.0, 10.0)
    assert read_epsilons([2, 1]) == (1.0, 2.0)
    assert read_epsilons(3) == (3.0,)
    assert read_counts("20,5", "owners", 2) == (5, 20)
    assert read_epsilons(None) is read_counts(None, "owners", 2) is None


@pytest.mark.parametrize("given", ["", "0.1,,1", "0", "-1", "inf", "nan", "many", [], [None], "1e400"])
def test_what_is_no_grid_is_refused(given):
    with pytest.raises(BadInput):
        read_epsilons(given)


@pytest.mark.parametrize("given", ["1", "2.5", "0"])
def test_what_cannot_be_counted_is_refused(given):
    with pytest.raises(BadInput):
        read_counts(given, "owners", 2)
