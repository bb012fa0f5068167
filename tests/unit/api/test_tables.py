"""Whatever a user has as a table is read alike."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from copriv.api.tables import as_lazy
from copriv.errors import BadInput, BadTable

TABLE = pl.DataFrame({"age": [31, 42], "town": ["Łódź", None]})


@pytest.mark.parametrize("make", [lambda t: t, pl.DataFrame.lazy, pl.DataFrame.to_pandas, pl.DataFrame.to_arrow])
def test_polars_pandas_and_arrow_are_the_same_table(make):
    assert as_lazy(make(TABLE)).collect().equals(TABLE)


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_path_is_a_table(tmp_path, kind):
    TABLE.write_parquet(tmp_path / "t.parquet")
    assert as_lazy(kind(tmp_path / "t.parquet")).collect().equals(TABLE)


def test_a_frame_that_is_changed_later_changes_nothing():
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    table = as_lazy(frame)
    frame.loc[0, "x"] = 99.0
    assert table.collect()["x"].to_list() == [1.0, 2.0]


def test_a_lazy_frame_is_read_once():
    drawn = []

    def draw(frame):
        drawn.append(1)
        return frame.with_columns(y=len(drawn))

    table = as_lazy(TABLE.lazy().map_batches(draw, schema=pl.Schema(TABLE.schema | {"y": pl.Int32})))
    assert table.collect().equals(table.collect())
    assert len(drawn) == 1


@pytest.mark.parametrize("source", [3, object(), lambda: None])
def test_what_is_no_table_is_refused(source):
    with pytest.raises(BadInput, match="is not a table"):
        as_lazy(source)


def test_a_file_that_is_not_there_is_refused():
    with pytest.raises(BadTable, match=r"nowhere\.csv"):
        as_lazy("nowhere.csv")


def test_arrow_batches_are_tables_too():
    assert as_lazy(pa.RecordBatch.from_pydict({"x": [1]})).collect()["x"].to_list() == [1]


CELL = "HIV-positive Jane Roe"


def everything_shown(error):
    """An error with all that a traceback or a logger would show of where it came from."""
    words, seen = [], error
    while seen is not None:
        words.append(f"{seen} {getattr(seen, 'value', '')}")
        seen = seen.__cause__ or seen.__context__
    return " ".join(words)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.DataFrame({"age": [1, 2], "note": pd.Series([1.5, CELL], dtype=object)}),
        lambda: {"age": [1, 2], "note": [1.5, CELL]},
        lambda: {"age": [1, 2], "note": [[1.5], CELL]},
    ],
)
def test_a_column_that_cannot_be_read_is_named_and_no_cell_is(make):
    with pytest.raises(BadInput, match="cannot be read: 'note'") as refused:
        as_lazy(make())
    assert "Jane" not in everything_shown(refused.value)
    assert "age" not in str(refused.value)


def test_a_lazy_table_that_cannot_be_computed_shows_no_cell():
    lazy = pl.LazyFrame({"note": ["1.5", CELL]}).with_columns(pl.col("note").cast(pl.Float64))
    with pytest.raises(BadInput, match="cannot be computed") as refused:
        as_lazy(lazy)
    assert "Jane" not in everything_shown(refused.value)
