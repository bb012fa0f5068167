"""What a fit leaves: a line in the units of X, what it cost, what is promised; for arrays, pandas and polars."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV

from copriv.errors import BadInput
from copriv.sklearn import ConsortiumClassifier, ConsortiumRegressor, Refusal, open_budget

COLUMNS = ["income", "age", "share"]
BOUNDS = ((np.array([-4, 10, 0.6]), np.array([4, 90, 1.4])), (-25, 25))


def _regressor(banks, **changes):
    return ConsortiumRegressor(**({"epsilon": 5, "simulate": True, "public": banks[3], "rule": "newton"} | changes))


def test_the_line_is_in_the_units_of_the_rows(banks):
    rows, targets, owner, _ = banks
    for model in (
        _regressor(banks, epsilon=1e5, rule="auto"),
        _regressor(banks, epsilon=1e5, public=None, bounds=BOUNDS, rule="auto"),
        _regressor(banks, epsilon=1e5, bounds=BOUNDS),
    ):
        model.fit(rows, targets, owner=owner)
        np.testing.assert_allclose(model.predict(rows), rows @ model.coef_ + model.intercept_, rtol=1e-12)
        best = LinearRegression().fit(rows, targets)
        np.testing.assert_allclose(model.coef_, best.coef_, rtol=0.2)
        assert model.score(rows, targets) > 0.98
        assert model.owners_.tolist() == ["north", "south", "west"]


def test_a_line_of_private_noise_is_paid_for_and_says_so(banks, tmp_path):
    rows, targets, owner, _ = banks
    ledger = open_budget(tmp_path / "budget.sqlite", epsilon=5)
    model = _regressor(banks, epsilon=2, simulate=False, ledger=ledger).fit(rows, targets, owner=owner)
    assert (model.spent_.epsilon, model.spent_.epsilon_in_all, model.spent_.simulated) == (2.0, 2.0, False)
    assert (model.spent_.unit, model.spent_.adjacency) == ("record", "replace-one")
    low, high = model.forecast_.interval
    assert 0 < low < model.forecast_.relative_fitness < high
    assert model.statement_.startswith("Promised: ε = 2, δ = 0 for any one record (replace-one).")
    assert "300 public rows: nobody in them is protected." in model.statement_
    assert "Not covered: whatever was done to X, y and owner before fit." in model.statement_
    again = clone(model).fit(rows, targets)
    assert again.spent_.epsilon_in_all == 4.0
    assert not np.array_equal(again.coef_, model.coef_)


def test_gaussian_noise_is_paid_for_in_its_own_currency(banks, tmp_path):
    rows, targets, owner, _ = banks
    ledger = open_budget(tmp_path / "budget.sqlite", epsilon=3, delta=1e-6)
    model = _regressor(banks, epsilon=1, delta=1e-6, simulate=False, ledger=ledger)
    model.fit(rows, targets, owner=owner)
    assert model.spent_.delta_in_all == 1e-6
    assert 0.9 < model.spent_.epsilon_in_all <= 1.0001
    with pytest.raises(Refusal, match="a charge in epsilon against a budget in rho"):
        _regressor(banks, epsilon=0.1, simulate=False, ledger=ledger).fit(rows, targets)


def test_a_simulation_says_so(banks):
    model = _regressor(banks).fit(*banks[:2])
    assert "simulated, not private" in repr(model)
    assert "simulated" not in repr(_regressor(banks, simulate=False)).split("#")[-1].replace("simulate=", "")
    assert model.statement_.startswith("Simulated, not private")
    assert "Nothing was charged." in model.statement_
    assert model.spent_.to_dict()["ledger"] is None


def test_without_public_rows_or_bounds_nothing_is_learnt(banks):
    with pytest.raises(Refusal, match="neither public rows nor bounds") as refused:
        ConsortiumRegressor(simulate=True, rule="newton").fit(*banks[:2])
    assert isinstance(refused.value, ValueError)
    assert isinstance(refused.value, BadInput)
    assert "public=(X, y)" in refused.value.remedy


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_tables_with_names(banks, frame):
    rows, targets, owner, (public_rows, public_targets) = banks

    def table(values):
        return frame(dict(zip(COLUMNS, values.T, strict=True)))

    model = _regressor(banks, public=(table(public_rows), public_targets)).fit(table(rows), targets, owner=owner)
    plain = _regressor(banks).fit(rows, targets, owner=owner)
    assert model.feature_names_in_.tolist() == COLUMNS
    np.testing.assert_allclose(model.predict(table(rows)), plain.predict(rows), rtol=1e-12)
    turned = table(public_rows)[COLUMNS[::-1]]
    with pytest.raises(Refusal, match="other columns"):
        clone(model).set_params(public=(turned, public_targets)).fit(table(rows), targets)


def test_what_is_no_number_is_filled(banks):
    rows, targets = banks[0].copy(), banks[1]
    rows[:20, 1], rows[20:30, 0] = np.nan, np.inf
    model = _regressor(banks).fit(rows, targets)
    assert np.isfinite(model.predict(rows)).all()
    filled = np.where(np.isfinite(rows), rows, model.fill_)
    np.testing.assert_allclose(model.predict(rows), filled @ model.coef_ + model.intercept_)


def test_a_pickle_predicts_the_same(banks):
    model = _regressor(banks).fit(*banks[:2])
    again = pickle.loads(pickle.dumps(model))  # noqa: S301 - made here
    assert np.array_equal(again.predict(banks[0]), model.predict(banks[0]))
    assert again.spent_ == model.spent_


def test_a_refusal_comes_back_from_another_process():
    refusal = Refusal("a problem", remedy="a remedy", value=3)
    again = pickle.loads(pickle.dumps(refusal))  # noqa: S301 - made here
    assert (str(again), again.value) == ("a problem (a remedy)", 3)


def test_owners_are_routed(banks):
    rows, targets, owner, _ = banks
    with sklearn.config_context(enable_metadata_routing=True):
        model = _regressor(banks, rule="newton").set_fit_request(owner=True)
        search = GridSearchCV(model, {"epsilon": [1, 5]}, cv=2).fit(rows, targets, owner=owner)
    assert search.best_estimator_.owners_.tolist() == ["north", "south", "west"]


@pytest.mark.parametrize(
    ("owner", "problem"), [(["a", "b"], "owner has the shape"), ([None] + ["a"] * 999, "1 rows name no owner")]
)
def test_owners_must_fit_the_rows(banks, owner, problem):
    with pytest.raises(Refusal, match=problem):
        _regressor(banks).fit(*banks[:2], owner=owner)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"settings": {"klip": 1}}, "an estimator knows no setting 'klip' .did you mean 'clip'"),
        ({"settings": {"loss": "logistic"}}, "the loss is 'logistic' .choose squared or huber"),
        ({"public": 3}, "public is not a pair"),
        ({"public": (np.zeros((5, 2)), np.zeros(5))}, "for an X of 3 columns"),
        ({"public": None, "rule": "statistics", "bounds": ((1, 0), (0, 1))}, "low that is not below"),
        ({"public": None, "rule": "statistics", "bounds": ((0, np.nan), (0, 1))}, "the bounds of X have nan"),
        ({"public": None, "rule": "statistics", "bounds": ((0, 1), (1, 1))}, "the bounds of y are 1 and 1"),
        ({"public": None, "rule": "statistics", "bounds": 3}, "bounds are 3"),
        ({"rule": "best"}, "the rule 'best' is not known here"),
        ({"settings": {"central": "x"}}, "'central'. is 'x' .choose from proof"),
        ({"settings": {"accountant": "x"}}, "'accountant'. is 'x' .choose from pld"),
        ({"ledger": "nowhere.sqlite", "simulate": False}, "there is no ledger nowhere.sqlite .make one: copriv"),
    ],
)
def test_bad_parameters_are_refused_at_fit(banks, changes, problem):
    with pytest.raises(Refusal, match=problem):
        _regressor(banks, **changes).fit(*banks[:2])


@pytest.mark.parametrize("names", [("bad", "good"), (0, 1)])
def test_two_classes(banks, names):
    rows, targets, owner, (public_rows, public_targets) = banks
    labels = np.where(targets > -3, names[1], names[0])
    public = (public_rows, np.where(public_targets > -3, names[1], names[0]))
    for changes in ({"public": public}, {"bounds": (BOUNDS[0], names)}):
        model = ConsortiumClassifier(epsilon=50, simulate=True, **changes).fit(rows, labels, owner=owner)
        assert model.classes_.tolist() == list(names)
        assert model.score(rows, labels) > 0.9
        margins = rows @ model.coef_[0] + model.intercept_[0]
        np.testing.assert_allclose(model.decision_function(rows), margins)
        chances = model.predict_proba(rows)
        np.testing.assert_allclose(chances.sum(axis=1), 1)
        np.testing.assert_allclose(np.log(chances), model.predict_log_proba(rows), atol=1e-12)
        assert np.array_equal(model.predict(rows), model.classes_[chances.argmax(axis=1)])


def test_private_rows_do_not_say_which_classes_there_are(banks):
    rows, targets = banks[:2]
    labels = (targets > -3).astype(int)
    model = ConsortiumClassifier(bounds=(BOUNDS[0], None))
    with pytest.raises(Refusal, match="which two classes"):
        model.fit(rows, labels)
    strange = labels.copy()
    strange[:5] = 2  # five records of a class that nobody has agreed on: they count and say nothing
    agreed = ConsortiumClassifier(simulate=True, bounds=(BOUNDS[0], (0, 1))).fit(rows, strange)
    assert agreed.classes_.tolist() == [0, 1]
    with pytest.raises(Refusal, match="Only binary classification is supported"):
        ConsortiumClassifier(simulate=True, bounds=(BOUNDS[0], None)).fit(rows, strange)
    with pytest.raises(Refusal, match="the classes are of type"):
        ConsortiumClassifier(simulate=True, bounds=(BOUNDS[0], ("no", "yes"))).fit(rows, labels)


def test_without_scikit_learn_the_extra_is_named():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "try:\n    import copriv.sklearn\n"
        "except ModuleNotFoundError as problem:\n    print(problem)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'copriv[sklearn]'" in done.stdout
