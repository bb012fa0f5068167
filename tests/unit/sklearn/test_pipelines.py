"""Steps that were fitted before on private rows are named as not covered; public or frozen ones are told apart."""

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from copriv.sklearn import ConsortiumRegressor


@pytest.fixture
def model():
    return ConsortiumRegressor(simulate=True, bounds=((-4, 4), (-25, 25)))


def _uncovered(fitted):
    return [line for line in fitted.statement_.splitlines() if line.startswith("Not covered: ")]


BEFORE = "Not covered: whatever was done to X, y and owner before fit."


def test_a_fit_by_itself_names_what_cannot_be_known(banks, model):
    assert _uncovered(model.fit(*banks[:2])) == [BEFORE]


def test_a_scaler_before_it_is_named(banks, model):
    rows, targets, owner, _ = banks
    pipeline = make_pipeline(StandardScaler(), model)
    pipeline.fit(rows, targets, consortiumregressor__owner=owner)
    words = "Not covered: step 'standardscaler' (StandardScaler) was fitted on private rows before."
    assert _uncovered(pipeline[-1]) == [words, BEFORE]
    assert pipeline.predict(rows).shape == targets.shape
    assert pipeline[-1].owners_.size == 3


def test_nested_steps_are_named_from_the_outside_in(banks, model):
    inner = Pipeline([("log", FunctionTransformer()), ("model", model)])
    outer = Pipeline([("none", "passthrough"), ("scale", StandardScaler()), ("rest", inner)])
    outer.fit(*banks[:2])
    assert [line.split("(")[0].strip() for line in _uncovered(inner[-1])] == [
        "Not covered: step 'scale'",
        "Not covered: step 'log'",
        BEFORE,
    ]
    assert "covered only if it maps each row by itself" in inner[-1].statement_


def test_a_step_fitted_on_public_rows_is_frozen(banks, model):
    scaler = FrozenEstimator(StandardScaler().fit(banks[3][0]))
    pipeline = make_pipeline(scaler, model).fit(*banks[:2])
    assert "was fitted elsewhere: covered only if that was on public rows" in _uncovered(pipeline[-1])[0]


def test_a_model_inside_an_earlier_step_names_only_what_came_before_it(banks, model):
    chosen = SelectFromModel(model, threshold=-np.inf)
    pipeline = Pipeline([("scale", StandardScaler()), ("choose", chosen), ("ridge", Ridge())]).fit(*banks[:2])
    assert len(_uncovered(pipeline["choose"].estimator_)) == 2
    assert "'scale'" in _uncovered(pipeline["choose"].estimator_)[0]


def test_a_transformed_target_is_named(banks, model):
    whole = TransformedTargetRegressor(model, transformer=StandardScaler()).fit(*banks[:2])
    assert "a transformer of y was fitted on private rows before" in _uncovered(whole.regressor_)[0]
