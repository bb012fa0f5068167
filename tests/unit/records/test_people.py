"""Whose a row is: read once where rows are read, never a feature, and the number of people is all that is told."""

import math
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from copriv.errors import BadInput, BadTable
from copriv.protocol.unit import PersonUnit
from copriv.records.file_format import PLAIN
from copriv.records.hazard import Naming, person_periods
from copriv.records.load import LoadSpec, collect_public, load_consortium, load_public
from copriv.records.load_owner import load_owner, open_owner_records
from copriv.records.partition import Partition
from copriv.records.people import (
    DEFAULT_CAP,
    PersonChoice,
    choose_people,
    count_people,
    find_repeated,
    read_codes,
    whose_rows,
)
from copriv.records.person_id import require_kept
from copriv.records.resources import Resources
from copriv.records.target import TargetChoice

PEOPLE, ROWS = 240, 800
CHANCE = np.random.default_rng(2)
WHO = np.sort(CHANCE.integers(0, PEOPLE, ROWS))
FRAME = pl.DataFrame(
    {
        "who": WHO,
        "age": CHANCE.normal(40, 9, ROWS),
        "dose": CHANCE.normal(5, 2, ROWS),
        "site": np.where(WHO % 3 == 0, "a", "b"),
    }
).with_columns((pl.col("age") / 10 + pl.col("dose") + pl.Series(CHANCE.normal(size=ROWS))).alias("y"))
PUBLIC = FRAME.with_columns(pl.col("who") + 1000)


def plan(partition=None, person=None, **more):
    return LoadSpec(
        TargetChoice("y"), partition or Partition(owners=2), 2, person=person or PersonChoice("who"), **more
    )


def load(frame=FRAME, **changes):
    return load_consortium(frame.lazy(), plan(**changes), public=PUBLIC.lazy())


def test_owners_have_people_and_no_person_is_at_two():
    found = load()
    there = FRAME["who"].n_unique()
    assert sum(owner.sample.records for owner in found.owners) == there
    assert sum(owner.sample.rows for owner in found.owners) == ROWS
    assert abs(found.owners[0].sample.records - found.owners[1].sample.records) <= 1
    assert found.require_public().records == there
    assert found.public_rows == ROWS
    assert found.person == PersonUnit("who", DEFAULT_CAP, "person")
    assert "who" not in found.dictionary.required_columns()


def test_a_person_at_two_owners_is_pointed_out_at_home():
    split = FRAME.with_columns(
        pl.when(pl.int_range(ROWS) % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b")).alias("site")
    )
    notices = load(split, partition=Partition("site")).notices
    assert any("rows at several owners, at most 2" in notice for notice in notices)
    apart = load(partition=Partition("site"))
    assert not any("several owners" in notice for notice in apart.notices)
    assert sum(owner.sample.records for owner in apart.owners) == FRAME["who"].n_unique()


def test_a_person_with_public_rows_is_pointed_out_at_home():
    notices = load_consortium(
        FRAME.lazy(), plan(public_rows=300), order=np.random.default_rng(1).permutation(ROWS)
    ).notices
    assert any("people have public rows, too" in notice for notice in notices)
    assert not any("public rows, too" in notice for notice in load().notices)


def test_sizes_are_those_of_people():
    few = load(partition=Partition("site", records_per_owner=30))
    assert [owner.sample.records for owner in few.owners] == [30, 30]
    sizes = [owner.sample.records for owner in load(partition=Partition("site")).owners]
    kept = load(partition=Partition("site", min_records=min(sizes) + 1))
    assert len(kept.owners) == 1
    asked = []
    load_consortium(
        FRAME.lazy(),
        LoadSpec(TargetChoice("y"), Partition("site"), "auto", person=PersonChoice("who")),
        public=PUBLIC.lazy(),
        choose=lambda rows, owners: (
            asked.extend(owners) or collect_public(PUBLIC.lazy(), TargetChoice("y")).candidates()[0]
        ),
    )
    assert [size for _, size in asked] == sizes


def test_the_number_of_records_depends_on_the_number_of_people_alone():
    """Replace one person by any other: the number that becomes public is the same."""
    dictionary, person = load().dictionary, PersonUnit("who", 3, "person")
    one = FRAME.filter(pl.col("who") == WHO[0])
    rest = FRAME.filter(pl.col("who") != WHO[0])
    sizes = set()
    for rows in (1, 2, 50):
        for name in (WHO[0], 99_999):
            other = pl.concat([one.head(1)] * rows).with_columns(pl.lit(name).cast(pl.Int64).alias("who"))
            sample = load_owner(pl.concat([rest, other]).lazy(), dictionary, person=person).sample
            sizes.add(sample.records)
            assert sample.most_rows <= 3
    nobody = one.head(1).with_columns(pl.lit(None).cast(pl.Int64).alias("who"))
    sizes.add(load_owner(pl.concat([rest, nobody]).lazy(), dictionary, person=person).sample.records)
    assert sizes == {FRAME["who"].n_unique()}


def test_which_rows_are_public_depends_on_the_number_of_people_alone():
    """Without a public table the last rows are public: as many, whatever number of rows the first person has."""
    rest, one = FRAME.filter(pl.col("who") != WHO[0]), FRAME.filter(pl.col("who") == WHO[0]).head(1)
    told = set()
    for rows in (1, 40):
        intake = load_consortium(pl.concat([one] * rows + [rest]).lazy(), plan(person=PersonChoice("who")))
        told.add((intake.public_rows, *(owner.sample.records for owner in intake.owners)))
    assert len(told) == 1


def test_rows_that_name_nobody_are_people_of_their_own_and_are_counted_at_home():
    frame = FRAME.with_columns(pl.when(pl.int_range(ROWS) < 5).then(None).otherwise(pl.col("who")).alias("who"))
    own = load_owner(frame.lazy(), load().dictionary, person=PersonUnit("who", 9, "person"))
    assert own.sample.records == frame["who"].drop_nulls().n_unique() + 5
    assert any("5 private rows name no person" in notice for notice in own.notices)


def test_ids_are_the_same_however_they_are_written():
    places = {}
    assert read_codes(pl.Series("who", [7, 8]), places).tolist() == [0, 1]
    assert read_codes(pl.Series("who", [8.0, 7.0, 7.5]), places).tolist() == [1, 0, 2]
    assert read_codes(pl.Series("who", [" 7", "8 ", "n/a"]), places).tolist() == [0, 1, -1]
    assert count_people(pl.LazyFrame({"who": [1, 1, None, None, 2]}), "who") == 4


def test_public_rows_without_the_column_are_people_of_their_own():
    bare = PUBLIC.drop("who")
    rows = collect_public(bare.lazy(), TargetChoice("y"), person=PersonChoice("who"))
    assert rows.fit(2).public.records == ROWS
    with pytest.raises(BadInput, match="--weigh row"):
        collect_public(bare.lazy(), TargetChoice("y"), person=PersonChoice("who", None, "row"))
    known = collect_public(PUBLIC.lazy(), TargetChoice("y"), person=PersonChoice("who", None, "row"))
    assert known.person.weigh == "row"
    assert 3 < known.person.rows_cap < 10
    by_row = known.fit(2).public
    assert np.allclose(by_row.weights, 1 / known.person.rows_cap)
    again = load_public(PUBLIC.lazy(), known.fit(2).dictionary, known.person)
    assert np.allclose(again.columns, by_row.columns)


def test_the_folds_of_a_cross_validation_keep_people_together():
    rows = collect_public(PUBLIC.lazy(), TargetChoice("y"), person=PersonChoice("who"))
    for others, own in rows.folds("pls:2"):
        assert others.records + own.records == PUBLIC["who"].n_unique()
    assert whose_rows(PUBLIC, rows.person).people == PUBLIC["who"].n_unique()


def test_people_that_do_not_fit_in_memory_are_refused(tmp_path):
    path, dictionary = tmp_path / "rows.parquet", load().dictionary
    FRAME.write_parquet(path)
    person = PersonUnit("who", 9, "person")
    with pytest.raises(BadTable, match="people are grouped in memory"):
        open_owner_records(path, PLAIN, dictionary, Resources(0, None, 100), person=person)
    found = open_owner_records(path, PLAIN, dictionary, Resources(1 << 30), person=person)
    assert found.records.records == FRAME["who"].n_unique()
    assert found.repeated is None
    with pytest.raises(BadInput, match="nobody"):
        load_owner(FRAME.lazy(), dictionary, person=PersonUnit("nobody", 9, "person"))


def test_people_are_not_told_apart_by_the_target():
    """A study whose target is called as ids are would count an owner's values of its own target as people."""
    mine = FRAME.with_columns(pl.col("y").round().alias("stay"), pl.col("who").alias("y"))
    for target in (None, "stay"):
        with pytest.raises(BadInput, match="says whose no row is"):
            load_owner(mine.lazy(), load().dictionary, target=target, person=PersonUnit("y", 9, "person"))
    with pytest.raises(BadInput, match="says whose no row is"):
        load(person=PersonChoice("y"))


@pytest.mark.parametrize("changes", [{"rows_cap": 0}, {"rows_cap": 10**7}, {"weigh": "rows"}, {"column": "*"}])
def test_what_cannot_be_meant_is_refused(changes):
    with pytest.raises(BadInput):
        PersonChoice(**({"column": "who"} | changes))


def test_a_cap_without_people_is_refused():
    assert choose_people(None, None, None) is None
    with pytest.raises(BadInput, match="without --person"):
        choose_people(None, 5, None)


def test_the_column_of_people_is_no_feature_of_an_agreed_dictionary():
    dictionary = load_consortium(
        FRAME.lazy(), LoadSpec(TargetChoice("y"), Partition(owners=2), 2), public=PUBLIC.lazy()
    )
    with pytest.raises(BadInput, match="--person age"):
        load_consortium(
            FRAME.lazy(), plan(person=PersonChoice("age")), dictionary=dictionary.dictionary, public=PUBLIC.lazy()
        )


def test_a_repeated_id_is_pointed_out():
    named = FRAME.rename({"who": "patient_id"})
    found = find_repeated(named.lazy(), ["y"])
    most = int(FRAME["who"].value_counts()["count"].max())
    assert (found.column, found.people, found.most_rows) == ("patient_id", FRAME["who"].n_unique(), most)
    assert f"ε = 0.5 for one record is ε = {0.5 * most:g}" in found.words(0.5)
    assert find_repeated(named.lazy(), ["patient_id"]) is None
    assert find_repeated(named.with_columns(patient_id=pl.int_range(ROWS)).lazy(), []) is None
    assert find_repeated(named.with_columns(patient_id=pl.lit(3)).lazy(), []) is None
    copied = named.with_columns(patient_id=pl.when(pl.int_range(ROWS) < 1).then(7).otherwise(pl.int_range(ROWS)))
    assert find_repeated(copied.lazy(), []) is None
    often = named.with_columns(patient_id=pl.when(pl.int_range(ROWS) < 4).then(7).otherwise(pl.int_range(ROWS)))
    assert find_repeated(often.lazy(), []).most_rows == 5
    spec = LoadSpec(TargetChoice("y"), Partition(owners=2), 2)
    assert load_consortium(named.lazy(), spec, public=PUBLIC.drop("who").lazy()).repeated.column == "patient_id"
    assert load().repeated is None


@pytest.mark.parametrize(
    ("ids", "size"),
    [
        (pl.Series([2.0**53, 1.0]), 53),
        (pl.Series([-1e300]), 53),
        (pl.Series([2.0**24], dtype=pl.Float32), 24),
        (pl.Series(["7.34e+18"]), 53),
        (pl.Series(["7340000000000000000.0"]), 53),
    ],
)
def test_ids_that_a_floating_point_cannot_hold_get_no_account(ids, size):
    table = ids.alias("who").to_frame().with_columns(months=pl.lit(2.0), died=1)
    match = rf"'who' of the table has ids beyond 2\^{size} as floating-point"
    with pytest.raises(BadTable, match=match):
        require_kept(table.lazy(), "who")
    # An owner does not fall silent over one of them.
    assert read_codes(table["who"], {}).size == len(ids)
    with pytest.raises(BadTable, match=match):
        person_periods(table.lazy(), "months", "died", [3], Naming("who", "march"))


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
def test_ids_with_letters_that_were_not_read_get_no_account(kind):
    names = pl.Series("who", ["Anna", "M\ufffdller", None], dtype=kind)
    with pytest.raises(BadTable, match=r"'who' of the table has ids with letters that could not be read.*--encoding"):
        require_kept(names.to_frame().lazy(), "who")
    assert read_codes(names, {}).size == len(names)


@pytest.mark.parametrize(
    "ids",
    [
        pl.Series([2.0**53 - 1, None, 0.5, math.nan, math.inf]),
        pl.Series([2.0**24 - 1], dtype=pl.Float32),
        pl.Series([2**62 + 1]),
        pl.Series([str(2**62 + 1), "1.5e+09", "17.0", "E+18", None]),
        pl.Series([Decimal("7340000000000000123.00")]),
        pl.Series([None]),
    ],
)
def test_ids_that_have_all_digits_are_taken(ids):
    require_kept(ids.alias("who").to_frame().lazy(), "who")
