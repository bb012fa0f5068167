"""Where a run disagrees with the paper, it says by how much; where it cannot tell, why not."""

import numpy as np
import polars as pl
import pytest

from copriv.reproduction.cell import Outcome
from copriv.reproduction.collaboration import _gaining, _pays
from copriv.reproduction.convergence import _findings, _meetings
from copriv.reproduction.fits import BoundFit
from copriv.reproduction.study import Finding, nearest
from copriv.reproduction.surface import _fit_finding, _slope_finding


def outcome(first, last, width=0.1):
    return Outcome(last, 0.0, [first, last], [first, last - width / 2], [first, last + width / 2], [0, 1])


def test_a_verdict_is_yes_or_says_what_is_missing():
    assert Finding("a", "b", agrees=True, gap="hidden").verdict == "yes"
    assert Finding("a", "b", agrees=False, gap="by 2").verdict == "no: by 2"
    assert Finding("a", "b", None, "one point").verdict == "cannot be told: one point"


def test_medians_that_rise_and_budgets_out_of_order_are_measured():
    agree = _findings({0.1: outcome(9.0, 3.0, 0.5), 1.0: outcome(9.0, 1.0, 0.2)})
    assert [finding.agrees for finding in agree] == [True, True, True]
    differ = _findings({0.1: outcome(2.0, 6.0, 0.1), 1.0: outcome(9.0, 9.0, 0.2)})
    assert [finding.agrees for finding in differ] == [False, False, False]
    assert "at ε = 0.1 it rises 3-fold" in differ[0].gap
    assert "1.5 times as much at ε = 1 as at ε = 0.1" in differ[1].gap
    assert "2 times as much" in differ[2].gap
    one = _findings({1.0: outcome(9.0, 1.0)})
    assert [finding.agrees for finding in one] == [True, None, None]


def test_an_owner_that_answers_too_often_is_found():
    assert _meetings(list(range(10)) * 100, 10).agrees
    unfair = _meetings([0] * 500 + list(range(10)) * 50, 10)
    assert not unfair.agrees
    assert "450 meetings away" in unfair.gap


def region(pays_from):
    rows = [
        {"owners": n, "epsilon": e, "psi": 1.0 if n >= pays_from else 6.0, "alone": 2.0}
        for n in (2, 5, 10, 100, 150)
        for e in (3.16, 10.0)
    ]
    return pl.DataFrame(rows).with_columns((pl.col("psi") < pl.col("alone")).alias("joining_pays"))


@pytest.mark.parametrize(
    ("pays_from", "agrees", "gap"),
    [(10, [True, True], ""), (100, [False, True], "with 10 owners ψ is still 3 times"), (999, [False, False], "150")],
)
def test_the_region_in_which_joining_pays_is_judged(pays_from, agrees, gap):
    findings = _pays(region(pays_from))
    assert [finding.agrees for finding in findings] == agrees
    assert gap in findings[0].gap


def test_what_a_grid_does_not_hold_cannot_be_told():
    few = region(10).filter(pl.col("owners") <= 5)
    assert [finding.agrees for finding in _pays(few)] == [None, None]
    assert "no more than 5 owners" in _pays(few)[0].gap
    far = region(10).with_columns(pl.lit(50.0).alias("epsilon"))
    assert "no ε near 10" in _pays(far)[0].gap
    assert nearest(2.5, [1.78, 3.16, 5.62]) == 3.16


def test_hospitals_that_gain_are_counted():
    table = pl.DataFrame({"hospital": ["a", "b"], "alone": [2.0, 0.1], "joint_10": [1.0, 1.0]})
    assert "1 of 2 gain (50%; the paper: 9%): a" in _gaining(table, 10.0).ours
    none = _gaining(table.with_columns(pl.lit(5.0).alias("joint_10")), 10.0)
    assert (none.agrees, "ψ = 2 alone and 5 together" in none.gap) == (False, True)
    assert _gaining(table, None).agrees is None


def test_slopes_and_fits_say_how_far_off_they_are():
    x = np.geomspace(0.1, 10, 9)
    rows = pl.DataFrame({"epsilon": x, "psi": 3 * x**-1.5})
    finding = _slope_finding("ε", rows, "epsilon")
    assert not finding.agrees
    assert "0.3 outside of -2.2 to -1.8" in finding.gap
    assert _slope_finding("ε", rows.head(2), "epsilon").agrees is None
    assert "0.1 below 0.9" in _fit_finding(BoundFit(1.0, 0.8), 9).gap
    assert _fit_finding(BoundFit(1.0, float("nan")), 1).agrees is None
