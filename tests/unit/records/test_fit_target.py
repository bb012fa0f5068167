"""Targets: labels without a flag, chosen by name, from public rows only."""

import numpy as np
import polars as pl
import pytest

from copriv.errors import BadInput, BadTable
from copriv.records.fit_target import fit_target
from copriv.records.load import LoadSpec, load_consortium, take_public
from copriv.records.partition import Partition
from copriv.records.target import Target, TargetChoice

ROWS = 120


def _frame(labels, rows=ROWS):
    generator = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "x": generator.normal(size=rows),
            "z": generator.normal(size=rows),
            "y": [labels[i % len(labels)] for i in range(rows)],
        }
    )


def _fit(values, **choice):
    return fit_target(_frame(values), TargetChoice("y", **choice))


def test_two_categories_are_labels_and_the_second_is_positive():
    target = _fit(["yes", " no"], labels=True)
    assert (target.kind, target.categories, target.positive) == ("label", ("no", "yes"), "yes")
    values = _frame(["yes", "no", "maybe", None]).select(target.raw(pl.String()).fill_null(np.nan))["y"].to_numpy()
    np.testing.assert_array_equal(target.bounded(values)[:4], [1, -1, np.nan, np.nan])


def test_the_positive_label_can_be_chosen():
    assert _fit(["yes", "no"], labels=True, positive="no").categories == ("yes", "no")
    one = _fit(["a", "b", "c"], labels=True, positive="b")
    assert (one.categories, one.positive) == (("a", "c", "b"), "b")
    values = _frame(["a", "b", "c", "d"]).select(one.raw(pl.String()).fill_null(np.nan))["y"].to_numpy()
    np.testing.assert_array_equal(one.bounded(values)[:4], [-1, 1, -1, np.nan])
    assert _fit([0, 1], labels=True, positive="1").positive is None
    assert _fit([True, False], labels=True, positive="true") == _fit([True, False], labels=True)


def test_labels_are_said_aloud_and_a_label_that_only_private_rows_have_is_none():
    frame = _frame(["no", "yes"])
    frame = frame.with_columns(pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("maybe")).otherwise("y").alias("y"))
    found = load_consortium(frame.lazy(), LoadSpec(TargetChoice("y", labels=True), Partition(owners=2), 2, 40))
    assert (
        "the target 'y' is read as labels: 'yes' is positive, 'no' negative; --positive VALUE chooses another one"
        in found.notices
    )
    assert [owner.sample.records for owner in found.owners] == [40, 40]
    assert [int(owner.sample.used.sum()) for owner in found.owners] == [39, 40]
    notices = take_public(_frame(list("abcdefghi")).lazy(), TargetChoice("y", labels=True, positive="c"), 2)[2]
    assert any(
        "'c' is positive, 'a' or 'b' or 'd' or 'e' or 'f' or 'g' or another one negative" in each for each in notices
    )


@pytest.mark.parametrize(
    ("values", "choice", "problem", "remedy"),
    [
        (["no", "yes"], {}, "'y' is not numeric: 'no', 'yes'", "--ordinal"),
        (["no", "yes"], {}, "'y' is not numeric", "--loss logistic for one of two labels"),
        (["a", "b", "c", "d"], {}, "'a', 'b', 'c' …", "--loss logistic --positive VALUE"),
        (["a", "b", "c"], {"labels": True}, "'y' is not numeric: 3 classes 'a'", "with --positive VALUE"),
        (list("abcde"), {"labels": True}, "5 classes", "5 studies of ε = 1 promise ε = 5 for one record (replace-one)"),
        (["a", "b", "c"], {}, "3 classes", "--positive VALUE for one of them against all others"),
        ([0, 1, 2, 7], {"labels": True}, "two values, and 'y' has 4", "one study a class, with the classes written as"),
        ([3, 3], {"labels": True}, "two values, and 'y' has 1", "choose another target"),
        ([3, 3], {}, "'y' is 3 in every public row", "a target that varies"),
        (["a", "b", "c"], {"labels": True, "positive": "d"}, "--positive d is no category", "'a', 'b', 'c'"),
        (["a"], {"labels": True, "positive": "a"}, "two values, and 'y' has 1", "another target"),
        (["a", "b"], {"positive": "a"}, "only the logistic loss", "--loss logistic"),
        (["a", "b"], {"positive": "a", "labels": True, "ordinal": True}, "so does --ordinal", "one of them"),
        ([0, 1], {"positive": "0", "labels": True}, "the larger is positive", "--positive 1"),
        ([0, 1, 2], {"labels": True}, "two values, and 'y' has 3", "--positive-above"),
        (["1,5", "2,25", "x"], {}, "'y' is not numeric", "--ordinal"),
        (["1,5", "2,25"], {}, "'y' is not numeric", "--decimal ,"),
    ],
)
def test_what_cannot_be_a_target_is_refused_with_the_right_remedy(values, choice, problem, remedy):
    with pytest.raises(BadInput) as caught:
        _fit(values, **choice)
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy


def test_an_ordinal_target_has_no_positive_label():
    assert _fit(["a", "b", "b", "b"], ordinal=True).positive is None
    assert Target("y", "number", 0.0, 1.0).positive is None
    with pytest.raises(BadTable, match="not numeric"):
        _fit(["a", "b"], labels=True, positive_above=1)
