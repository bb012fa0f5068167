"""With real noise no single cell decides between an error and a fit, and no error names one."""

import warnings
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.sklearn import ConsortiumClassifier, ConsortiumRegressor, Refusal, open_budget
from copriv.sklearn.cells import numbers_of, private_rows
from copriv.sklearn.reading import encode

SECRETS = ["HIV-positive", None, pd.NA, 10**400, 1j, np.inf, np.nan, -np.inf, "", b"x", {}]
BOUNDS = ((np.array([-4, 10, 0.6]), np.array([4, 90, 1.4])), (-25, 25))


@pytest.fixture
def ledger(tmp_path):
    return open_budget(tmp_path / "budget.sqlite", epsilon=50)


@pytest.mark.parametrize("secret", SECRETS)
def test_what_is_no_number_is_missing_and_says_nothing(secret):
    table = np.ones((3, 2)).astype(object)
    table[1, 1] = secret
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in (table, table.tolist(), pd.DataFrame(table)):
            found = private_rows(given)
            assert not np.isfinite(found[1, 1])
            found[1, 1] = 1
            assert np.array_equal(found, np.ones((3, 2)))
        labels = encode(np.array([0, secret, 1], dtype=object), np.array([0, 1]))
        assert labels[[0, 2]].tolist() == [-1, 1]
        assert np.isnan(labels[1])


def test_numbers_of_any_type_are_read():
    assert numbers_of(np.array([1 + 0j, 1 + 2j]))[0] == 1
    assert numbers_of(pl.DataFrame({"a": [1, 2], "b": ["3", "?"]})).tolist()[0] == [1, 3]
    assert encode(np.array([True, False]), np.array([False, True])).tolist() == [1, -1]
    assert encode(np.array([0.5, 1e30, 1]), np.array([0, 1]))[2] == 1
    assert encode(np.array(["1", "1.0"]), np.array(["1", "1.0"])).tolist() == [-1, 1]


def test_cells_that_cannot_be_read_are_fitted_without_a_word(banks, ledger):
    rows, targets = banks[0].astype(object), banks[1].astype(object)
    rows[7, 1], targets[3], targets[4], targets[5] = "HIV-positive", "secret", np.inf, np.nan
    model = ConsortiumRegressor(bounds=BOUNDS, ledger=ledger).fit(rows, targets)
    assert np.isfinite(model.predict(rows)).all()
    labels = (banks[1] > -3).astype(object)
    labels[3], labels[4], labels[5] = 0.5, 1e30, "secret"
    sorter = ConsortiumClassifier(bounds=(BOUNDS[0], (0, 1)), ledger=ledger).fit(rows, labels)
    assert np.isfinite(sorter.coef_).all()
    assert "secret" not in model.statement_ + sorter.statement_


@pytest.mark.parametrize(
    ("X", "y", "problem"),
    [
        ([123.456, 7], [1, 2], "X has the shape"),
        ([[123.456, 7, 1], [123.456, 7]], [1, 2], "X has the shape"),
        (np.empty((0, 3)), [], "X has the shape"),
        ([[123.456, 7, 1]], [[1, 2]], "y has the shape"),
        ([[123.456, 7, 1]], None, "y to be passed"),
    ],
)
def test_shapes_are_refused_in_words_that_name_no_cell(ledger, X, y, problem):
    with pytest.raises(Refusal, match=problem) as refused:
        ConsortiumRegressor(bounds=BOUNDS, ledger=ledger).fit(X, y)
    assert "123" not in str(refused.value)
    with closing(SqliteLedger(Path(ledger))) as opened:
        assert opened.state().spent == 0


def test_numbers_are_no_labels_of_text(banks, ledger):
    model = ConsortiumClassifier(bounds=(BOUNDS[0], ("no", "yes")), ledger=ledger)
    with pytest.raises(Refusal, match="name the classes as in y"):
        model.fit(banks[0], (banks[1] > -3).astype(int))
