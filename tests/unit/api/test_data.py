"""`read`: nothing is read before it is used, and then once."""

import polars as pl
import pytest

import copriv as cp
from copriv.errors import BadInput, BadTable


def test_owners_are_a_column_or_a_number_of_blocks(loans):
    named = cp.read(loans, target="int_rate", owners="bank", features=3).intake()
    assert [owner.name for owner in named.owners] == ["east", "north", "west"]
    blocks = cp.read(loans, target="int_rate", owners=4, features=3, public_rows=100).intake()
    assert [owner.sample.records for owner in blocks.owners] == [200] * 4
    assert blocks.public.records == 100


def test_a_table_is_read_once_and_a_file_again_when_it_has_changed(loans, tmp_path):
    path = tmp_path / "loans.parquet"
    loans.write_parquet(path)
    data = cp.read(path, target="int_rate", owners=2, features=3)
    first = data.intake()
    assert data.intake() is first
    assert data.intake("huber") is first
    loans.head(600).write_parquet(path)
    assert sum(owner.sample.records for owner in data.intake().owners) < 600


def test_public_rows_may_have_a_table_of_their_own(loans, public):
    intake = cp.read(loans, target="int_rate", owners="bank", public=public, features=3).intake()
    assert intake.public.records == 400
    assert sum(owner.sample.records for owner in intake.owners) == 900


def test_columns_can_be_left_out(loans):
    with_grade = cp.read(loans, target="int_rate", owners="bank", features=10).intake()
    without = cp.read(loans, target="int_rate", owners="bank", skip="grade", features=10).intake()
    assert "grade" in with_grade.dictionary.required_columns()
    assert "grade" not in without.dictionary.required_columns()


def test_a_file_that_is_not_there_is_named_at_once():
    with pytest.raises(BadTable, match=r"nowhere\.csv"):
        cp.read("nowhere.csv", target="y", owners=2, features=10)


def test_a_setting_that_nobody_knows_is_named_with_those_that_exist():
    with pytest.raises(BadInput, match="knows no setting 'feature'") as refused:
        cp.read({"x": [1]}, target="x", owners=1, feature=3, features=10)
    assert "did you mean 'features'?" in refused.value.remedy


@pytest.mark.parametrize(("name", "value"), [("features", 1.5), ("shuffle", 3), ("skip", [1, 2])])
def test_a_setting_of_the_wrong_type_is_refused(name, value):
    with pytest.raises(BadInput, match="wrong type"):
        cp.read(pl.DataFrame({"x": [1]}), target="x", owners=1, **{name: value}).intake()


def test_a_target_that_is_missing_is_refused_with_the_nearest_name(loans):
    with pytest.raises(BadTable, match="int_rat"):
        cp.read(loans, target="int_rat", owners="bank", features=10).intake()
