"""A regressor of counts and amounts: a log link, D² as its score, and bounds that fit."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import d2_tweedie_score

from copriv.sklearn import ConsortiumRegressor

SLOPES = np.array([0.5, -0.3, 0.0])


def made(loss, rows=3_000, seed=0):
    chance = np.random.default_rng(seed)
    X = chance.normal(size=(rows, 3))
    means = np.exp(X @ SLOPES + 0.7)
    return X, chance.poisson(means) if loss == "poisson" else means * chance.gamma(3.0, 1 / 3, rows)


@pytest.mark.parametrize("given", ["public", "bounds"])
@pytest.mark.parametrize(("loss", "power"), [("poisson", 1), ("gamma", 2)])
def test_a_fit_finds_the_rates(loss, power, given):
    X, y = made(loss)
    how = {"public": (X[:600], y[:600])} if given == "public" else {"bounds": ((-4, 4), (0, 15))}
    model = ConsortiumRegressor(epsilon=50, simulate=True, settings={"loss": loss}, **how)
    model = clone(model).fit(X[600:], y[600:], owner=np.arange(2_400) % 3)
    predicted = model.predict(X)
    assert np.all(predicted > 0)
    assert np.log(predicted) == pytest.approx(X @ model.coef_ + model.intercept_)
    assert model.score(X, y, public=True) == pytest.approx(d2_tweedie_score(y, predicted, power=power))
    if given == "public":
        assert model.coef_ == pytest.approx(SLOPES, abs=0.08)
        assert model.intercept_ == pytest.approx(0.7, abs=0.1)


def test_bounds_below_0_are_refused():
    X, y = made("poisson", 300)
    with pytest.raises(ValueError, match="counts or amounts"):
        ConsortiumRegressor(simulate=True, bounds=((-4, 4), (-1, 15)), settings={"loss": "poisson"}).fit(X, y)
