"""What public rows say about dates and numbers; where they do not say it, a column is left out with the remedy."""

import msgspec
import numpy as np
import polars as pl
import pytest

from copriv.records.column import WRITTEN_DATES
from copriv.records.dictionary import Dictionary
from copriv.records.fit_features import fit_dictionary
from copriv.records.survey import survey
from copriv.records.target import TargetChoice

DAYS = pl.Series("day", np.arange(15_000, 15_000 + 300 * 11, 11)).cast(pl.Date)


@pytest.mark.parametrize("kind", WRITTEN_DATES)
@pytest.mark.parametrize("time", ["", " 23:15"])
def test_days_are_read_as_public_rows_write_them(kind, time):
    texts = DAYS.dt.to_string(WRITTEN_DATES[kind]) + time
    [column], left_out = survey(pl.DataFrame({"d": texts}))
    assert (column.kind, left_out) == (kind, [])
    [iso], _ = survey(pl.DataFrame({"d": DAYS.dt.to_string("%Y-%m-%d")}))
    assert (column.mean, column.deviation, column.fill) == (iso.mean, iso.deviation, iso.fill)
    frame = pl.DataFrame({"d": ["x", "31-31-31", texts[0], None, "2012-05-31", "99999"]})
    found = frame.select(column.standardised(pl.String()))["d"].to_list()
    filled = (column.fill - column.mean) / column.deviation
    assert [value == pytest.approx(filled) for value in found] == [True, True, False, True, True, True]


def test_days_whose_month_is_not_clear_are_left_out_with_the_remedy():
    texts = pl.Series([f"{1 + i % 12:02d}/{1 + i // 12 % 12:02d}/20{10 + i % 9}" for i in range(300)])
    _, left_out = survey(pl.DataFrame({"d": texts, "x": np.arange(300.0) % 7}))
    [left] = left_out
    assert left.reason == "days that may be day/month/year or month/day/year (say which by --dates)"


def test_numbers_with_decimal_commas_are_left_out_with_the_remedy():
    texts = pl.Series([f"{i},{i % 97:02d}" for i in range(300)])
    _, left_out = survey(pl.DataFrame({"d": texts, "x": np.arange(300.0) % 7}))
    assert [left.reason for left in left_out] == ["numbers with a decimal comma (say --decimal ,)"]


def test_a_dictionary_with_written_days_survives_a_journey_and_others_are_unchanged():
    frame = pl.DataFrame({"d": DAYS.dt.to_string("%d.%m.%Y"), "y": np.arange(300.0)})
    dictionary, _ = fit_dictionary(frame, TargetChoice("y"), 1)
    assert Dictionary.from_json(dictionary.to_json()) == dictionary
    [column] = msgspec.to_builtins(dictionary)["columns"]
    assert set(column) == {"name", "kind", "fill", "mean", "deviation", "categories"}
