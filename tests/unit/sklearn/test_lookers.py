"""Whatever of scikit-learn looks at private rows without noise is refused; a plain prediction is not."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    GradientBoostingRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import RANSACRegressor
from sklearn.metrics import PredictionErrorDisplay, get_scorer
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_predict, cross_val_score
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.semi_supervised import SelfTrainingClassifier

from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.sklearn import ConsortiumClassifier, ConsortiumRegressor, Refusal, open_budget, public_score

LOOKED = "scores without noise"


@pytest.fixture
def ledger(tmp_path):
    return open_budget(tmp_path / "budget.sqlite", epsilon=20)


@pytest.fixture
def private(banks, ledger):
    """With real noise."""
    return ConsortiumRegressor(public=banks[3], rule="newton", ledger=ledger)


@pytest.fixture
def classifier(banks, ledger):
    """With real noise, and fitted."""
    rows, targets, _, (public_rows, public_targets) = banks
    model = ConsortiumClassifier(public=(public_rows, public_targets > -3), rule="newton", ledger=ledger)
    return model.fit(rows, targets > -3)


def _spent(ledger):
    with closing(SqliteLedger(Path(ledger))) as opened:
        return opened.state().spent / 1e9


def _inner(model):
    return GridSearchCV(model, {"rule": ["newton"]}, scoring=public_score, cv=2, error_score="raise")


FITS = {
    "a score of a public search": lambda m, X, y: cross_val_score(_inner(m), X, y, cv=2, error_score="raise"),
    "predictions of a public search": lambda m, X, y: cross_val_predict(_inner(m), X, y, cv=2),
    "a stack of a public search": lambda m, X, y: StackingRegressor([("a", _inner(m))], cv=2).fit(X, y),
    "rows out of the bag": lambda m, X, y: BaggingRegressor(m, n_estimators=2, oob_score=True).fit(X, y),
    "resampling by error": lambda m, X, y: AdaBoostRegressor(m, n_estimators=2).fit(X, y),
    "inliers": lambda m, X, y: RANSACRegressor(m, min_samples=100, max_trials=2).fit(X, y),
    "boosting from it": lambda m, X, y: GradientBoostingRegressor(init=m, n_estimators=1).fit(X, y),
    "a chain across folds": lambda m, X, y: RegressorChain(m, cv=2).fit(X, np.column_stack([y, y])),
    "own labels": lambda m, X, y: SelfTrainingClassifier(
        ConsortiumClassifier(bounds=((-4, 90), (0, 1)), ledger=m.ledger)
    ).fit(X, np.where(np.arange(len(y)) % 2, y > -3, -1)),
    "a threshold": lambda m, X, y: TunedThresholdClassifierCV(
        ConsortiumClassifier(bounds=((-4, 90), (0, 1)), ledger=m.ledger), cv=2
    ).fit(X, y > -3),
}


@pytest.mark.parametrize("fit", FITS)
def test_a_fit_that_looks_is_refused_and_nothing_is_spent(banks, private, ledger, fit):
    with pytest.raises(Refusal, match=LOOKED) as refused:
        FITS[fit](private, *banks[:2])
    assert "simulate=True" in refused.value.remedy
    assert _spent(ledger) == 0


def test_a_public_search_within_a_public_search_pays(banks, private, ledger):
    rows, targets = banks[:2]
    scores = cross_val_score(_inner(private), rows, targets, cv=2, scoring=public_score, error_score="raise")
    assert np.isfinite(scores).all()
    assert _spent(ledger) == 2 * (2 + 1)


SCORES = {
    "transformed target": lambda m, X, y: TransformedTargetRegressor(m).fit(X, y),
    "voting": lambda m, X, y: VotingRegressor([("a", m)]).fit(X, y),
    "several targets": lambda m, X, y: MultiOutputRegressor(m).fit(X, np.c_[y, y]),
    "bagging": lambda m, X, y: BaggingRegressor(m, n_estimators=1).fit(X, y),
    "pipeline": lambda m, X, y: make_pipeline(FunctionTransformer(), m).fit(X, y),
}


@pytest.mark.parametrize("wrapper", SCORES)
def test_a_wrapper_predicts_and_does_not_score(banks, private, wrapper):
    rows, targets, _, public = banks
    whole = SCORES[wrapper](private, rows, targets)
    wide = (lambda y: np.c_[y, y]) if wrapper == "several targets" else (lambda y: y)
    assert len(whole.predict(rows)) == len(rows)
    with pytest.raises(Refusal, match=LOOKED):
        whole.score(rows, wide(targets))
    with pytest.raises(Refusal, match=LOOKED):
        get_scorer("neg_mean_squared_error")(whole, rows, wide(targets))
    assert np.isfinite(whole.score(public[0], wide(public[1])))


def test_a_search_predicts_and_scores_on_public_rows(banks, private):
    search = _inner(private).fit(*banks[:2])
    assert len(search.predict(banks[0])) == 1000
    assert search.score(*banks[:2]) == public_score(search)


PREFIT = {
    "stack": lambda m, X, y: StackingRegressor([("a", m)], cv="prefit").fit(X, y),
    "importance": lambda m, X, y: permutation_importance(m, X, y, n_repeats=1, scoring="r2"),
    "dependence": lambda m, X, y: partial_dependence(m, X, [0], method="brute"),
    "display": PredictionErrorDisplay.from_estimator,
}


@pytest.mark.parametrize("look", PREFIT)
def test_a_look_at_a_fitted_model_is_refused(banks, private, look):
    with pytest.raises(Refusal, match=LOOKED):
        PREFIT[look](private.fit(*banks[:2]), *banks[:2])


def test_a_stack_on_public_rows_predicts_any(banks, private):
    whole = PREFIT["stack"](private.fit(*banks[:2]), *banks[3])
    assert len(whole.predict(banks[0])) == 1000


def test_a_frozen_classifier_is_calibrated_on_public_rows_alone(banks, classifier):
    rows, labels = banks[0], banks[1] > -3
    for looker in (
        CalibratedClassifierCV(FrozenEstimator(classifier)),
        TunedThresholdClassifierCV(classifier, cv="prefit", refit=False),
    ):
        with pytest.raises(Refusal, match=LOOKED):
            looker.fit(rows, labels)
        assert len(looker.fit(*classifier.public).predict(rows)) == 1000


def test_a_fit_stays_what_it_was(banks, private):
    rows, targets = banks[:2]
    real = clone(private).fit(rows, targets).set_params(simulate=True)
    with pytest.raises(Refusal, match=LOOKED):
        real.score(rows, targets)
    assert "simulated" not in repr(real)
    simulated = clone(private).set_params(simulate=True).fit(rows, targets).set_params(simulate=False)
    assert repr(simulated).endswith("(simulated, not private)")
    assert simulated.score(rows, targets) <= 1


def test_rows_that_are_called_public_after_the_fit_are_not(banks, private):
    rows, targets = banks[:2]
    fitted = private.fit(rows, targets)
    assert fitted.score(*banks[3]) > 0
    with pytest.raises(Refusal, match=LOOKED):
        fitted.set_params(public=(rows, targets)).score(rows, targets)
    with pytest.raises(Refusal, match=LOOKED):
        permutation_importance(fitted, rows, targets, n_repeats=1, scoring="r2")


def test_boosting_on_a_fitted_model_is_refused(banks, private):
    fitted = private.fit(*banks[:2])
    with pytest.raises(Refusal, match=LOOKED):
        GradientBoostingRegressor(init=FrozenEstimator(fitted), n_estimators=1).fit(*banks[:2])
