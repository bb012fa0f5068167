"""Contributions of columns: they add up to the margin, and are 0 on average over the public rows."""

import msgspec
import numpy as np
import polars as pl
import pytest

from copriv.errors import BadInput
from copriv.records.contributions import HELD_BACK, LEAVES, contributions_of
from copriv.records.dictionary import SCORE, Dictionary
from copriv.records.fit_features import PublicRows
from copriv.records.target import TargetChoice

GENERATOR = np.random.default_rng(0)
ROWS = 250
TABLE = pl.DataFrame(
    {
        "age": GENERATOR.normal(50, 10, ROWS),
        "income": [None if k % 5 == 0 else value for k, value in enumerate(GENERATOR.normal(3, 1, ROWS).tolist())],
        "ward": GENERATOR.choice(["a", "b", "c"], ROWS, p=[0.6, 0.3, 0.1]),
        "since": GENERATOR.choice(["2020-01-01", "2021-06-30", "2022-12-31"], ROWS),
    }
).with_columns(y=pl.col("age") / 10 + 2 * (pl.col("ward") == "b") + pl.Series(GENERATOR.normal(size=ROWS)))
PUBLIC = PublicRows(TABLE, TargetChoice("y"))


def fitted(spec):
    dictionary = PUBLIC.fit(spec).dictionary
    return dictionary, np.random.default_rng(1).normal(size=dictionary.parameters)


@pytest.mark.parametrize(
    "spec", ["codes:3", "all", "pls:3", "pca:4", "all+splines+pairs", "pls:2+score", "leaves:3", "all+score+leaves:3"]
)
def test_contributions_add_up_and_are_nothing_on_average(spec):
    dictionary, theta = fitted(spec)
    odd = TABLE.with_columns(ward=pl.lit("never seen"), age=pl.lit(1e6))
    both = pl.concat([TABLE, odd])
    found = contributions_of(dictionary, theta, both)
    assert np.abs(found.margins - dictionary.features_of(both) @ theta).max() < 1e-12
    known = found.values[:ROWS, : len(found.names) - 1]
    spread = np.abs(known).max()
    assert np.abs(known.mean(axis=0)).max() < 0.02 * spread
    assert (SCORE in found.names) == ("score" in spec)
    assert (LEAVES in found.names) == ("leaves" in spec)


def test_a_column_adds_what_changing_it_changes():
    dictionary, theta = fitted("all")
    ordinary = contributions_of(dictionary, theta, TABLE)
    other = TABLE.with_columns(ward=pl.lit("c"))
    rows = np.abs(ordinary.values[:, -1]) + np.abs(contributions_of(dictionary, theta, other).values[:, -1]) < 1e-12
    place = ordinary.names.index("ward")
    moved = contributions_of(dictionary, theta, other).values[:, place] - ordinary.values[:, place]
    truth = (dictionary.features_of(other) - dictionary.features_of(TABLE)) @ theta
    assert rows.mean() > 0.9
    assert np.abs(moved - truth)[rows].max() < 1e-12
    assert np.abs(truth[rows]).max() > 0.01


def test_what_shortening_holds_back_is_a_reason_of_its_own():
    dictionary, theta = fitted("all")
    far = TABLE.with_columns(age=pl.lit(100.0), ward=pl.lit("c"), income=pl.lit(6.0))
    found = contributions_of(dictionary, theta, far)
    assert found.names[-1] == HELD_BACK
    assert np.abs(found.values[:, -1]).max() > 1e-3


def test_a_dictionary_without_means_is_refused():
    dictionary, theta = fitted("all")

    old = msgspec.structs.replace(dictionary, means=msgspec.UNSET)
    with pytest.raises(BadInput, match="average public row"):
        contributions_of(old, theta, TABLE)
    with pytest.raises(BadInput, match="means"):
        msgspec.structs.replace(dictionary, means=(0.0,))
    assert Dictionary.from_json(dictionary.to_json()) == dictionary
