"""Tables in, matrices out: what is read, what is left out, what only the public rows may shape."""

import numpy as np
import polars as pl
import pytest

from copriv.errors import BadInput, BadTable
from copriv.records.dictionary import Dictionary
from copriv.records.load import LoadSpec, default_public_rows, load_consortium
from copriv.records.partition import Partition
from copriv.records.table import open_table, require_columns
from copriv.records.target import TargetChoice

ROWS = 600


def make_frame(rows=ROWS, seed=0):
    generator = np.random.default_rng(seed)
    income = generator.lognormal(10, 0.5, rows)
    grade = generator.choice(["A", "B", "C"], rows)
    rate = 5 + 2 * (grade == "B") + 4 * (grade == "C") + generator.normal(size=rows)
    return pl.DataFrame(
        {
            "id": np.arange(rows),
            "url": [f"https://example.org/{i}" for i in range(rows)],
            "note": [f"some words {i} of a borrower" for i in range(rows)],
            "income": income,
            "grade": grade,
            "term": generator.choice([" 36 months", " 60 months"], rows),
            "share": [f"{value:.1f}%" for value in generator.uniform(0, 100, rows)],
            "charges": [f"{value:,.2f}" for value in generator.uniform(1000, 99999, rows)],
            "issued": generator.choice(["2011-01-01", "2012-05-01", "2013-09-01"], rows),
            "opened": generator.choice(["Jan-2001", "Dec-1999"], rows),
            "gaps": np.where(generator.random(rows) < 0.1, np.nan, income / 1000),
            "empty": [None] * rows,
            "mostly": [None] * (rows - 10) + [1.0, 2.0] * 5,
            "same": ["x"] * rows,
            "bank": [f"bank {i % 3}" for i in range(rows)],
            "rate": rate,
        },
        strict=False,
    )


def plan(**changes):
    given = {"target": TargetChoice("rate"), "partition": Partition(column="bank"), "features": 5, "public_rows": 150}
    return LoadSpec(**(given | changes))


@pytest.fixture(params=["frame", "csv", "parquet"])
def table(request, tmp_path):
    """The same records three ways."""
    frame = make_frame()
    if request.param == "frame":
        return frame.lazy()
    path = tmp_path / f"table.{request.param}"
    frame.write_csv(path) if request.param == "csv" else frame.write_parquet(path)
    return open_table(path)


def test_every_format_gives_the_same_numbers(table):
    found, expected = load_consortium(table, plan()), load_consortium(make_frame().lazy(), plan())
    assert [owner.name for owner in found.owners] == ["bank 0", "bank 1", "bank 2"]
    np.testing.assert_allclose(found.public.columns, expected.public.columns, atol=1e-9)
    for one, other in zip(found.owners, expected.owners, strict=True):
        np.testing.assert_allclose(one.sample.columns, other.sample.columns, atol=1e-9)
        np.testing.assert_allclose(one.sample.targets, other.sample.targets, atol=1e-9)


def test_columns_are_understood_or_left_out_with_a_reason():
    found = load_consortium(make_frame().lazy(), plan())
    kinds = {column.name: column.kind for column in found.dictionary.columns}
    assert kinds == {
        "income": "number",
        "grade": "category",
        "term": "category",
        "share": "number",
        "charges": "number",
        "issued": "day",
        "opened": "month",
        "gaps": "number",
    }
    told = " | ".join(found.notices)
    for name, reason in {
        "id": "identifier",
        "url": "web address",
        "note": "free text",
        "empty": "entirely missing",
        "mostly": "more than half missing",
        "same": "constant",
    }.items():
        assert any(name in notice and reason in notice for notice in found.notices), (name, told)


def test_bounds_hold_for_every_record_however_wild():
    frame = make_frame()
    wild = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 3).then(1e250).otherwise("income").alias("income"),
        pl.when(pl.int_range(pl.len()) == 4).then(-1e250).otherwise("rate").alias("rate"),
    )
    found = load_consortium(wild.lazy(), plan())
    for sample in (found.public, *(owner.sample for owner in found.owners)):
        assert np.max(np.linalg.norm(sample.columns, axis=0)) <= 1.0
        assert np.max(np.abs(sample.targets)) <= 1.0
        np.testing.assert_allclose(sample.columns[-1], sample.columns[-1, 0])


def test_only_public_rows_shape_the_dictionary():
    frame = make_frame()
    private = pl.int_range(pl.len()) < ROWS - 150
    changed = frame.with_columns(
        pl.when(private).then(pl.col("income") * 7 + 3).otherwise("income").alias("income"),
        pl.when(private).then(pl.lit("Z")).otherwise("grade").alias("grade"),
        pl.when(private).then(pl.col("rate") * 2).otherwise("rate").alias("rate"),
    )
    assert load_consortium(changed.lazy(), plan()).dictionary == load_consortium(frame.lazy(), plan()).dictionary
    touched = frame.with_columns(pl.when(~private).then(pl.col("income") * 7).otherwise("income").alias("income"))
    assert load_consortium(touched.lazy(), plan()).dictionary != load_consortium(frame.lazy(), plan()).dictionary


def test_the_dictionary_survives_a_journey():
    dictionary = load_consortium(make_frame().lazy(), plan()).dictionary
    assert Dictionary.from_json(dictionary.to_json()) == dictionary
    with pytest.raises(BadInput):
        Dictionary.from_json(b"{}")


def test_principal_components_are_balanced():
    """Every direction of the public features has the same variance, so one step suits them all."""
    found = load_consortium(make_frame(3000).lazy(), plan(public_rows=1500, features=8))
    features = found.public.columns[:-1]
    eigenvalues = np.linalg.eigvalsh(np.cov(features))
    assert eigenvalues[-1] / eigenvalues[0] < 2


def test_public_rows_are_the_last_ones_or_a_file_of_their_own():
    frame = make_frame()
    found = load_consortium(frame.lazy(), plan())
    assert found.public.records == 150
    assert sum(owner.sample.records for owner in found.owners) == ROWS - 150
    apart = load_consortium(frame.head(ROWS - 150).lazy(), plan(), public=frame.tail(150).lazy())
    assert apart.dictionary == found.dictionary
    assert sum(owner.sample.records for owner in apart.owners) == ROWS - 150


def test_without_a_word_a_fifth_of_the_rows_is_public_and_that_is_said():
    found = load_consortium(make_frame().lazy(), plan(public_rows=None))
    assert found.public.records == default_public_rows(ROWS) == 120
    assert any("the last 120 of 600 rows are taken as public" in notice for notice in found.notices)
    said = load_consortium(make_frame().lazy(), plan(public_rows=120))
    assert said.dictionary == found.dictionary
    assert not any("taken as public" in notice for notice in said.notices)
    apart = load_consortium(make_frame().lazy(), plan(public_rows=None), public=make_frame(200, 1).lazy())
    assert not any("taken as public" in notice for notice in apart.notices)


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 99, 199, 200, 500, 501, 10_000, 49_999, 50_000, 10**9])
def test_the_default_of_public_rows_leaves_at_least_half_private(rows):
    wanted = default_public_rows(rows)
    assert 0 <= wanted <= min(10_000, rows // 2)
    assert wanted == rows // 5 or rows < 500 or wanted == 10_000
    assert wanted >= 1 or rows < 2


def test_columns_are_skipped():
    found = load_consortium(make_frame().lazy(), plan(skip=("income", "gaps")))
    assert not {"income", "gaps", "bank"} & set(found.dictionary.required_columns())
    again = load_consortium(make_frame().lazy(), plan(skip=("income",)), dictionary=found.dictionary)
    assert again.dictionary == found.dictionary
    with pytest.raises(BadTable, match="no column 'incme'"):
        load_consortium(make_frame().lazy(), plan(skip=("incme",)))
    with pytest.raises(BadInput, match="--skip share: the agreed dictionary uses this column"):
        load_consortium(make_frame().lazy(), plan(skip=("share",)), dictionary=found.dictionary)


def test_rows_keep_their_order_unless_shuffled():
    frame = make_frame()
    blocks = plan(partition=Partition(owners=3))
    order = np.random.default_rng(5).permutation(ROWS)
    shuffled = load_consortium(frame.lazy(), blocks, order=order)
    arranged = load_consortium(frame[order].lazy(), blocks)
    plain = load_consortium(frame.lazy(), blocks)
    for one, other, unshuffled in zip(shuffled.owners, arranged.owners, plain.owners, strict=True):
        np.testing.assert_allclose(one.sample.targets, other.sample.targets, atol=1e-9)
        np.testing.assert_allclose(one.sample.columns, other.sample.columns, atol=1e-9)
        assert not np.allclose(one.sample.targets, unshuffled.sample.targets)


@pytest.mark.parametrize(
    ("owners", "size", "expected"), [(3, None, [150, 150, 150]), (4, 100, [100] * 4), (1, None, [450])]
)
def test_row_blocks(owners, size, expected):
    found = load_consortium(make_frame().lazy(), plan(partition=Partition(owners=owners, records_per_owner=size)))
    assert [owner.sample.records for owner in found.owners] == expected


def test_small_owners_are_left_out_with_a_notice():
    frame = make_frame().with_columns(
        pl.when(pl.int_range(pl.len()) < 20).then(pl.lit("tiny")).otherwise("bank").alias("bank")
    )
    found = load_consortium(
        frame.lazy(), plan(partition=Partition(column="bank", min_records=50, records_per_owner=70))
    )
    assert [owner.sample.records for owner in found.owners] == [70, 70, 70]
    assert any("tiny" in notice for notice in found.notices)


def test_rows_without_a_target_count_and_rows_without_an_owner_are_left_out_with_a_notice():
    frame = make_frame().with_columns(
        pl.when(pl.int_range(pl.len()) < 9).then(None).otherwise("rate").alias("rate"),
        pl.when(pl.int_range(pl.len()).is_between(9, 15)).then(None).otherwise("bank").alias("bank"),
    )
    found = load_consortium(frame.lazy(), plan())
    assert sum(owner.sample.records for owner in found.owners) == 450 - 7
    assert sum(owner.sample.usable().records for owner in found.owners) == 450 - 9 - 7
    assert any("9 private rows have no usable target: they count" in notice for notice in found.notices)
    assert any("7 private rows name no owner" in notice for notice in found.notices)


def test_an_ordinal_target_is_numbered_aloud():
    found = load_consortium(make_frame().lazy(), plan(target=TargetChoice("grade", ordinal=True)))
    assert any("A = 1, B = 2, C = 3" in notice for notice in found.notices)
    assert found.dictionary.target.center == pytest.approx(2, abs=0.3)
    assert "grade" not in found.dictionary.required_columns()


def test_labels_are_minus_one_and_one():
    found = load_consortium(make_frame().lazy(), plan(target=TargetChoice("rate", positive_above=7, labels=True)))
    assert set(np.unique(found.public.targets)) == {-1.0, 1.0}
    two = make_frame().with_columns((pl.col("rate") > 7).cast(pl.Int8).alias("rate"))
    again = load_consortium(two.lazy(), plan(target=TargetChoice("rate", labels=True)))
    np.testing.assert_array_equal(again.public.targets, found.public.targets)


def _with(name, value, row=3):
    """The frame with one value changed."""
    return make_frame().with_columns(pl.when(pl.int_range(pl.len()) == row).then(value).otherwise(name).alias(name))


@pytest.mark.parametrize(
    ("frame", "changes", "message"),
    [
        (make_frame(), {"target": TargetChoice("rat")}, "no column 'rat'"),
        (make_frame(), {"partition": Partition(column="bnak")}, "no column 'bnak'"),
        (make_frame(), {"target": TargetChoice("grade")}, "'grade' is not numeric"),
        (make_frame(), {"target": TargetChoice("empty")}, "'empty' is missing in every public row"),
        (make_frame(), {"target": TargetChoice("same", ordinal=True)}, "is 1 in every public row"),
        (make_frame(), {"target": TargetChoice("rate", labels=True)}, "two values"),
        (make_frame(), {"target": TargetChoice("rate", labels=True, positive_above=99)}, "one side"),
        (make_frame(), {"public_rows": ROWS}, f"{ROWS} public rows leave nothing"),
        (make_frame(), {"public_rows": 0}, "--public-rows is 0"),
        (make_frame(), {"features": 0}, "0 features"),
        (make_frame(), {"partition": Partition(owners=500)}, "500 owners"),
        (make_frame(), {"partition": Partition(owners=90)}, "fewer than 5 features"),
        (make_frame(), {"partition": Partition(owners=3, records_per_owner=900)}, "900 records"),
        (make_frame(), {"partition": Partition(column="bank", min_records=10_000)}, "no owner has 10000"),
        (make_frame(), {"partition": Partition(column="empty")}, "owner column is missing in every"),
        (make_frame().select("id", "url", "bank", "rate"), {}, "no column is left"),
    ],
)
def test_bad_tables_are_refused_by_name_and_with_a_remedy(frame, changes, message):
    with pytest.raises(BadInput) as caught:
        load_consortium(frame.lazy(), plan(**changes))
    assert message in caught.value.problem
    assert caught.value.remedy


@pytest.mark.parametrize("row", [3, ROWS - 1], ids=["private", "public"])
@pytest.mark.parametrize(
    ("name", "value", "choice", "used"),
    [
        ("income", float("inf"), TargetChoice("rate"), True),
        ("income", float("nan"), TargetChoice("rate"), True),
        ("rate", float("inf"), TargetChoice("rate"), False),
        ("rate", float("-inf"), TargetChoice("rate", labels=True, positive_above=7), False),
        ("grade", pl.lit(None), TargetChoice("grade", ordinal=True), False),
    ],
)
def test_a_row_counts_whatever_is_in_it(name, value, choice, used, row):
    """A feature is filled; without a usable target the row is all zeros, public or private."""
    found = load_consortium(_with(name, value, row).lazy(), plan(target=choice))
    samples = (found.public, *(owner.sample for owner in found.owners))
    assert [sample.records for sample in samples] == [150, 150, 150, 150]
    assert sum(sample.usable().records for sample in samples) == ROWS - (not used)
    for sample in samples:
        assert np.all(sample.columns[:, ~sample.used] == 0)
        assert np.all(sample.targets[~sample.used] == 0)


def test_a_category_that_the_public_rows_never_had_is_no_target():
    found = load_consortium(_with("grade", pl.lit("Q")).lazy(), plan(target=TargetChoice("grade", ordinal=True)))
    assert sum(int(owner.sample.used.sum()) for owner in found.owners) == 449


def test_an_owner_without_any_usable_target_is_told_of_and_takes_part():
    silent = make_frame().with_columns(pl.when(pl.col("bank") == "bank 1").then(None).otherwise("rate").alias("rate"))
    found = load_consortium(silent.lazy(), plan())
    assert [owner.sample.records for owner in found.owners] == [150, 150, 150]
    assert any("contribute nothing but noise: bank 1" in notice for notice in found.notices)
    with pytest.raises(BadInput, match="no record has a usable target"):
        found.owners[1].sample.usable()


def test_a_public_column_beyond_all_ranges_is_left_out():
    found = load_consortium(_with("income", 1e300, ROWS - 1).lazy(), plan())
    assert "income" not in found.dictionary.required_columns()
    assert any("numbers beyond 1e+150: income" in notice for notice in found.notices)


def test_it_must_be_clear_who_owns_the_rows():
    for arguments in ({}, {"column": "bank", "owners": 3}, {"owners": 0}, {"owners": 2, "records_per_owner": 0}):
        with pytest.raises(BadInput):
            Partition(**arguments)


def test_files_that_are_no_tables(tmp_path):
    with pytest.raises(BadTable, match="no file"):
        open_table(tmp_path / "missing.csv")
    (tmp_path / "table.xlsx").write_text("x")
    with pytest.raises(BadTable, match="neither CSV nor Parquet"):
        open_table(tmp_path / "table.xlsx")
    (tmp_path / "broken.parquet").write_text("not parquet")
    with pytest.raises(BadTable, match="cannot be read"):
        open_table(tmp_path / "broken.parquet")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(BadTable):
        open_table(tmp_path / "empty.csv")


def test_a_misspelt_column_is_suggested():
    with pytest.raises(BadTable, match="'income'"):
        require_columns(make_frame().lazy(), ["incme"])
