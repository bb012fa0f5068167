"""The fingerprint of a table's content: the same however it is held, another one for any other content."""

import polars as pl
import pytest

from copriv.owner.sketch import digest_table

KEY = b"k" * 32
TABLE = pl.DataFrame({"a": [1.5, 2.0, None], "b": ["x", "y", "2012-05-31"], "c": [1, 2, 3]})


def _digest(table, key=KEY):
    return digest_table(table.lazy(), key)


@pytest.mark.parametrize(
    "same",
    [
        TABLE.select("c", "b", "a"),
        pl.from_pandas(TABLE.to_pandas()),
        pl.DataFrame(TABLE.to_arrow()),
        TABLE.with_columns(pl.col("c").cast(pl.Int16)),
        TABLE.with_columns(pl.all().cast(pl.String)),
    ],
)
def test_the_same_content_has_the_same_fingerprint(same):
    assert _digest(same) == _digest(TABLE)


@pytest.mark.parametrize(
    "other",
    [
        TABLE.with_columns(a=pl.Series([1.5, 2.0000000001, None])),
        TABLE.with_columns(b=pl.Series(["x", "z", "2012-05-31"])),
        TABLE.reverse(),
        TABLE.head(2),
        TABLE.drop("c"),
        TABLE.rename({"a": "d"}),
        TABLE.clear(),
    ],
)
def test_other_content_has_another(other):
    assert _digest(other) != _digest(TABLE)


def test_without_the_key_it_says_nothing():
    assert _digest(TABLE, b"l" * 32) != _digest(TABLE)
