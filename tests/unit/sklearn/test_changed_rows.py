"""Rows that scikit-learn has changed are new to the registry: they are fitted on only with a ledger that is named."""

import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.multioutput import RegressorChain
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from copriv.owner.registry import Registry
from copriv.sklearn import ConsortiumRegressor, Refusal, open_budget

CHANGES = {
    "scaled": lambda m, X, y: make_pipeline(StandardScaler(), m).fit(X, y),
    "eliminated": lambda m, X, y: RFE(m, n_features_to_select=2).fit(X, y),
    "chosen": lambda m, X, y: SelectFromModel(m).fit(X, y),
    "some columns": lambda m, X, y: BaggingRegressor(m, n_estimators=2, bootstrap=False, max_features=2).fit(X, y),
    "some rows": lambda m, X, y: BaggingRegressor(m, n_estimators=2, max_samples=0.5).fit(X, y),
    "chained": lambda m, X, y: RegressorChain(m).fit(X, np.c_[y, y]),
}
MODEL = ConsortiumRegressor(bounds=((-90, 90), (-25, 25)), settings={"budget": 1})


@pytest.mark.parametrize("change", CHANGES)
def test_changed_rows_have_no_budget_of_their_own(banks, change):
    with pytest.raises(Refusal, match=r"name a ledger: ledger=copriv.sklearn.open_budget\(path"):
        CHANGES[change](MODEL, *banks[:2])
    with Registry() as registry:
        assert registry.datasets() == []


@pytest.mark.parametrize("change", ["scaled", "eliminated"])
def test_a_named_ledger_is_the_truth(banks, change, tmp_path):
    ledger = open_budget(tmp_path / "budget.sqlite", epsilon=2)
    model = ConsortiumRegressor(bounds=MODEL.bounds, ledger=ledger)
    assert CHANGES[change](model, *banks[:2]).predict(banks[0]).shape == (1000,)
    with pytest.raises(Refusal, match="epsilon left"):
        CHANGES[change](model.set_params(epsilon=1.5), *banks[:2])


def test_a_pipeline_that_changes_nothing_needs_no_name(banks):
    whole = Pipeline([("nothing", "passthrough"), ("model", MODEL)]).fit(*banks[:2])
    assert whole[-1].spent_.epsilon_in_all == 1
