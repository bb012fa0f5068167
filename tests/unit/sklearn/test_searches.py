"""Searches and cross-validation look at private rows without noise: refused, with nothing spent, unless simulated."""

import warnings
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingRegressor
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import RFECV
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.sklearn import ConsortiumClassifier, ConsortiumRegressor, Refusal, open_budget, public_score

GRID = {"epsilon": [0.5, 1.0]}
REMEDY = "search with simulate=True, or on public rows with scoring=copriv.sklearn.public_score"


@pytest.fixture
def ledger(tmp_path):
    return open_budget(tmp_path / "budget.sqlite", epsilon=3)


@pytest.fixture
def private(banks, ledger):
    """With real noise."""
    return ConsortiumRegressor(public=banks[3], rule="newton", ledger=ledger)


def _spent(ledger):
    with closing(SqliteLedger(Path(ledger))) as opened:
        return opened.state().spent / 1e9


SEARCHES = {
    "grid": lambda model, X, y: GridSearchCV(model, GRID, cv=2, error_score="raise").fit(X, y),
    "named scorer": lambda model, X, y: GridSearchCV(model, GRID, cv=2, scoring="r2", error_score="raise").fit(X, y),
    "own scorer beside": lambda model, X, y: GridSearchCV(
        model, GRID, cv=2, scoring={"public": public_score, "r2": "r2"}, refit="r2", error_score="raise"
    ).fit(X, y),
    "random": lambda model, X, y: RandomizedSearchCV(model, GRID, n_iter=1, cv=2, error_score="raise").fit(X, y),
    "cross_val_score": lambda model, X, y: cross_val_score(model, X, y, cv=2, error_score="raise"),
    "cross_validate": lambda model, X, y: cross_validate(model, X, y, cv=2, error_score="raise"),
    "cross_val_predict": lambda model, X, y: cross_val_predict(model, X, y, cv=2),
    "learning curve": lambda model, X, y: learning_curve(model, X, y, cv=2, error_score="raise"),
    "permutations": lambda model, X, y: permutation_test_score(model, X, y, cv=2, n_permutations=2),
    "pipeline": lambda model, X, y: cross_val_score(
        make_pipeline(FunctionTransformer(), model), X, y, cv=2, error_score="raise"
    ),
    "stacking": lambda model, X, y: StackingRegressor([("private", model)], final_estimator=Ridge(), cv=2).fit(X, y),
    "elimination": lambda model, X, y: RFECV(model, cv=2).fit(X, y),
}


@pytest.mark.parametrize("search", SEARCHES)
def test_a_search_with_real_noise_is_refused_and_nothing_is_spent(banks, private, ledger, search):
    with pytest.raises(Refusal, match="scores without noise on private rows") as refused:
        SEARCHES[search](private, *banks[:2])
    assert REMEDY in str(refused.value)
    assert _spent(ledger) == 0


@pytest.mark.parametrize("search", ["named scorer", "cross_val_predict", "elimination"])
def test_a_twin_that_does_not_look_around_spends(banks, private, ledger, search, monkeypatch):
    """The broken twin: what the test above would let pass."""
    monkeypatch.setattr("copriv.sklearn.estimators.refuse_lookers_at_fit", lambda _scorer: None)
    with suppress(Refusal):
        SEARCHES[search](private, *banks[:2])
    assert _spent(ledger) > 0


def test_a_search_that_swallows_errors_still_tells_the_remedy(banks, private, ledger):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        with pytest.raises(ValueError, match="All the 4 fits failed") as refused:
            GridSearchCV(private, GRID, cv=2).fit(*banks[:2])
    assert REMEDY in str(refused.value)
    assert _spent(ledger) == 0


def test_a_calibrated_classifier_is_refused(banks, ledger):
    rows, targets = banks[:2]
    model = ConsortiumClassifier(public=(banks[3][0], banks[3][1] > -3), ledger=ledger)
    with pytest.raises(Refusal, match="private rows"):
        CalibratedClassifierCV(model, cv=2).fit(rows, targets > -3)
    assert _spent(ledger) == 0


def test_a_fixed_threshold_looks_at_nothing(banks, ledger):
    rows, targets = banks[:2]
    model = ConsortiumClassifier(public=(banks[3][0], banks[3][1] > -3), rule="newton", ledger=ledger)
    FixedThresholdClassifier(model, threshold=0.3).fit(rows, targets > -3)
    assert _spent(ledger) == 1


@pytest.mark.parametrize("search", ["grid", "cross_val_score", "cross_val_predict", "pipeline", "stacking"])
def test_a_simulated_search_is_free(banks, private, ledger, search):
    SEARCHES[search](private.set_params(simulate=True), *banks[:2])
    assert _spent(ledger) == 0


def test_a_search_on_public_rows_pays_for_every_fit(banks, private, ledger):
    rows, targets = banks[:2]
    whole = [(np.arange(len(rows)), np.arange(5))]
    search = GridSearchCV(private, {"epsilon": [0.25, 1.0]}, scoring=public_score, cv=whole, error_score="raise")
    search.fit(rows, targets)
    assert search.best_score_ > 0
    assert _spent(ledger) == pytest.approx(0.25 + 1.0 + search.best_params_["epsilon"], abs=1e-8)
    assert len(cross_val_score(private.set_params(epsilon=0.1), rows, targets, cv=whole, scoring=public_score)) == 1
    assert len(cross_validate(private, rows, targets, cv=whole, scoring=public_score)) == 3


def test_a_search_on_public_rows_ends_with_the_budget(banks, private, ledger):
    whole = [(np.arange(1000), np.arange(5))]
    with pytest.raises(Refusal, match="the budget of these records has 1 epsilon left"):
        GridSearchCV(private, {"epsilon": [2.0, 2.5]}, scoring=public_score, cv=whole, error_score="raise").fit(
            *banks[:2]
        )
    assert _spent(ledger) == 2


def test_scores_are_of_public_rows(banks, private):
    rows, targets, _, public = banks
    private.fit(rows, targets)
    with pytest.raises(Refusal, match="scores without noise"):
        private.score(rows, targets)
    assert private.score(*public) == private.score(*public, public=True) == public_score(private)
    assert public_score(private.set_params(public=None)) == private.score(*public)
    with pytest.raises(Refusal, match="no public rows to be scored on"):
        public_score(clone(private))
