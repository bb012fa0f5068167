"""The fingerprint of a table's content, and the sketches by which a long table is recognised."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from copriv.owner import sketch
from copriv.owner.kinship import KnownFile, find_kin
from copriv.owner.sketch import digest_table, recognise

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


def _people(rows, seed=0, shift=0):
    generator = np.random.default_rng(seed)
    return pl.DataFrame({"id": np.arange(rows) * 7 + 100_000 + shift, "wage": generator.normal(size=rows).round(4)})


def test_of_a_long_table_only_the_smallest_hashes_are_held(monkeypatch):
    """They are those that a full sketch keeps, and the number of distinct ones is estimated."""
    rows = 60_000
    table = pl.concat([_people(rows), _people(300)])
    full = recognise([table.lazy()], KEY)
    monkeypatch.setattr(sketch, "MOST_IN_FULL", 1000)
    cut = recognise([table.lazy()], KEY)
    assert [each.columns for each in cut.sketches] == [each.columns for each in full.sketches]
    for one, other in zip(cut.kept(), full.kept(), strict=True):
        assert np.array_equal(one.hashes, other.hashes)
        assert np.array_equal(one.places, other.places)
        assert one.distinct == pytest.approx(other.distinct, rel=0.1)
        assert one.hashes.size == 2000


def test_kin_of_a_long_table_is_found_and_strangers_are_not(monkeypatch):
    monkeypatch.setattr(sketch, "MOST_IN_FULL", 1000)
    long = recognise([_people(60_000).lazy()], KEY)
    known = {name: recognise([table.lazy()], KEY).kept() for name, table in (
        ("a part", _people(60_000)[:20_000]), ("others", _people(20_000, seed=1, shift=3))
    )}  # fmt: skip
    files = [KnownFile(name.encode(), name, Path(name), 20_000, kept, None) for name, kept in known.items()]
    [kin] = find_kin(long, files)
    assert kin.file.dataset == "a part"
    assert kin.relation == "an extension of"
    assert kin.of_known > 0.95
    assert kin.of_file == pytest.approx(1 / 3, rel=0.15)
