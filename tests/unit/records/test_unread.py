"""What a dictionary could not read is counted by column, whatever the type of the column."""

import polars as pl
import pytest

from copriv.records.column import Column
from copriv.records.dictionary import Dictionary
from copriv.records.target import Target
from copriv.records.unread import Unread, count_unread, describe_unread

COLUMNS = (
    Column("age", "number", 40.0, 40.0, 10.0),
    Column("ward", "category", 0.0, 0.5, 0.5, ("1", "2")),
    Column("since", "day", 1.0, 1.0, 1.0),
)
DICTIONARY = Dictionary(COLUMNS, ((1.0, 1.0, 1.0),), 1.0, 0.5, Target("stay", "number", 0.0, 1.0))


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame(
            {
                "age": ["1", "forty", "n/a", "1e999", "$2"],
                "ward": ["1", "2", "3", "4", ""],
                "since": ["2012-05-31", "31.05.2012", "2012-02-30", None, "2012-05-31 10:00"],
            }
        ),
        pl.DataFrame(
            {
                "age": [1.0, float("inf"), float("nan"), float("-inf"), 2.0],
                "ward": [1, 2, 3, 4, None],
                "since": ["2012-05-31", "x", "y", "-", "2012-05-31"],
            }
        ),
    ],
    ids=["texts", "types"],
)
def test_every_filled_cell_is_counted_once(table):
    assert count_unread(DICTIONARY, table) == (
        Unread("age", missing=1, unreadable=2, unseen=0),
        Unread("ward", missing=1, unreadable=0, unseen=2),
        Unread("since", missing=1, unreadable=2, unseen=0),
    )
    filled = table.select(column.standardised(table.schema[column.name]) for column in COLUMNS)
    for column, unread in zip(COLUMNS, count_unread(DICTIONARY, table), strict=True):
        value = (column.fill - column.mean) / column.deviation
        assert unread.cells <= int((filled[column.name] == value).sum())


def test_what_is_read_in_full_is_not_spoken_of():
    table = pl.DataFrame({"age": [1, 2], "ward": ["1", "2"], "since": ["2012-05-31"] * 2})
    assert count_unread(DICTIONARY, table) == ()
    assert count_unread(DICTIONARY, table.head(0)) == ()
    assert describe_unread(count_unread(DICTIONARY, table.with_columns(ward=pl.lit("9")))) == [
        "ward: 2 cells of a category that the public rows never had; each is read as the public median"
    ]
