"""Cells rewritten as an owner says, one by one: decimal commas and days."""

import polars as pl
import pytest

from copriv.records.canonical import rewrite
from copriv.records.file_format import FileFormat


def _rewritten(cell, **form):
    return rewrite(pl.LazyFrame({"*": [cell, None]}), FileFormat(**form), numbers=True).collect().rows()[0][0]


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("1,5", "1.5"),
        ("1.234.567,89", "1234567.89"),
        ("1.234", "1234"),
        (" -0,25 ", " -0.25 "),
        ("12,5 %", "12.5 %"),
        ("1,5e3", "1.5e3"),
        ("7", "7"),
        ("1.5", "1.5"),
        ("01.02.2012", "01.02.2012"),
        ("1,2,3", "1,2,3"),
        ("Bern, Zürich", "Bern, Zürich"),
        ("", ""),
    ],
)
def test_decimal_commas(cell, found):
    assert _rewritten(cell, decimal=",") == found
    assert _rewritten(cell) == _rewritten(cell, decimal=".") == cell


@pytest.mark.parametrize(
    ("form", "cell", "found"),
    [
        ("%d.%m.%Y", "31.12.2012", "2012-12-31"),
        ("%d.%m.%Y", " 1.2.2012 ", "2012-02-01"),
        ("%d.%m.%Y", "01.02.2012 23:59:59", "2012-02-01"),
        ("%d.%m.%Y", "31.02.2012", "31.02.2012"),
        ("%d.%m.%Y", "01.02.12", "01.02.12"),
        ("%d.%m.%Y", "01.02.99999", "01.02.99999"),
        ("%d.%m.%Y", "01.02.0000", "01.02.0000"),
        ("%d.%m.%Y", "2012-05-31", "2012-05-31"),
        ("%d.%m.%Y", "01,02,2012", "01,02,2012"),
        ("%m/%d/%Y", "12/31/2012", "2012-12-31"),
        ("%d-%b-%y", "03-May-99", "1999-05-03"),
        ("%d %B %Y", "3 May 2012", "2012-05-03"),
    ],
)
def test_days(form, cell, found):
    assert _rewritten(cell, dates=form) == found


def test_numbers_and_dates_of_other_types_stay(tmp_path):
    table = pl.DataFrame({"n": [1.5], "d": [18_000], "s": ["1,5"]}).with_columns(pl.col("d").cast(pl.Date))
    found = rewrite(table.lazy(), FileFormat(decimal=",", dates="%d.%m.%Y"), numbers=True).collect()
    assert found.select("n", "d").equals(table.select("n", "d"))
    assert found["s"].to_list() == ["1.5"]
