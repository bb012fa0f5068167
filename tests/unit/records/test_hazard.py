"""Person-periods: rows of a life, fits that equal statsmodels', and one record that moves nothing but its own rows."""

import math

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm

from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.optimum import minimise_freely
from copriv.losses.passes import clipped_average_gradient
from copriv.losses.people import Whose
from copriv.losses.sample import Sample
from copriv.records.hazard import fit_periods, period_names, person_periods
from copriv.vectors import Norm

EDGES = [3.0, 6.0, 12.0]


def table(rows=1_500, seed=0):
    chance = np.random.default_rng(seed)
    age = chance.normal(60, 10, rows)
    months = chance.exponential(9 * np.exp(-0.04 * (age - 60)))
    left = chance.uniform(1, 15, rows)
    return pl.DataFrame({"months": np.minimum(months, left), "died": (months <= left).astype(int), "age": age})


def expanded(frame):
    return person_periods(frame.lazy(), "months", "died", EDGES).collect()


def design(rows):
    """Columns of age and of each period, and labels −1 and +1."""
    names = period_names(EDGES)
    columns = np.column_stack([(rows["age"] - 60) / 10, *((rows["period"] == name) for name in names)]).astype(float)
    return columns / 3, np.where(rows["died"] == 1, 1.0, -1.0)


def test_a_fit_without_noise_equals_statsmodels():
    rows = expanded(table())
    columns, labels = design(rows)
    whose = Whose(rows["record"].to_numpy().astype(np.int64), len(EDGES), "row")
    sample = Sample.of_rows(columns, labels).grouped(whose)
    assert sample.records == 1_500
    found = minimise_freely(choose("logistic"), 1e-13, sample)
    wanted = sm.Logit((labels + 1) / 2, columns).fit(disp=0, tol=1e-14, maxiter=100).params
    assert np.max(np.abs(found - wanted)) < 1e-6
    mean = Sample.of_rows(columns, labels).grouped(Whose(whose.codes, len(EDGES), "person"))
    assert np.max(np.abs(minimise_freely(choose("logistic"), 1e-13, mean) - wanted)) > 0.1


def test_one_record_moves_an_answer_by_no_more_than_one_clip_to_either_side():
    """And a twin that clips every period by itself is caught."""
    frame, clip = table(60), 0.01
    short = frame.with_columns(months=pl.when(pl.int_range(60) == 7).then(1.0).otherwise(pl.col("months")))
    long = frame.with_columns(months=pl.when(pl.int_range(60) == 7).then(99.0).otherwise(pl.col("months")))
    together, apart = [], []
    for each in (short, long):
        rows = expanded(each)
        plain = Sample.of_rows(*design(rows))
        whose = Whose(rows["record"].to_numpy().astype(np.int64), len(EDGES), "row")
        theta = np.array([2.0, -9.0, 9.0, 9.0])
        grouped = plain.grouped(whose)
        together.append(clipped_average_gradient(choose("logistic"), grouped, theta, clip, Norm.L2))
        apart.append(clipped_average_gradient(choose("logistic"), plain, theta, clip, Norm.L2) * plain.rows / 60)
    bound = 2 * clip / 60 * (1 + 1e-9)
    assert np.linalg.norm(together[1] - together[0]) <= bound
    assert np.linalg.norm(apart[1] - apart[0]) > bound


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, 0.0, -3.0])
def test_a_record_without_a_time_keeps_one_row_without_a_target(value):
    frame = table(10).with_columns(
        months=pl.when(pl.int_range(10) == 4).then(pl.lit(value)).otherwise(pl.col("months"))
    )
    rows = expanded(frame)
    assert rows.filter(record=4)["died"].to_list() == [None]
    plain = expanded(table(10)).filter(pl.col("record") != 4)
    assert rows.filter(pl.col("record") != 4).equals(plain)
    assert rows["record"].n_unique() == 10


def test_periods_of_public_rows_have_about_as_many_events_each():
    frame = table(4_000)
    edges = fit_periods(frame, "months", "died", 4)
    rows = person_periods(frame.lazy(), "months", "died", edges).collect()
    events = rows.group_by("period").agg(pl.col("died").sum())["died"].to_numpy()
    assert events.size == 4
    assert events.max() <= 1.05 * events.min()
    few = frame.with_columns(pl.col("months").ceil().clip(1, 3))
    assert fit_periods(few, "months", "died", 6) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "edges", [[], [0.0], [-1.0, 2.0], [3.0, 3.0], [6.0, 3.0], [math.nan], [1.0, math.inf], [1.0] * 101]
)
def test_periods_that_are_none_are_refused(edges):
    with pytest.raises(BadInput, match="periods that end at"):
        person_periods(table(5).lazy(), "months", "died", edges)


def test_columns_that_are_missing_or_taken_are_refused():
    with pytest.raises(BadInput, match="no column"):
        person_periods(table(5).lazy(), "weeks", "died", EDGES)
    with pytest.raises(BadInput, match="'period' already"):
        person_periods(table(5).with_columns(period=1).lazy(), "months", "died", EDGES)
    with pytest.raises(BadInput, match="public rows with an event"):
        fit_periods(table(20), "months", "died", 50)
