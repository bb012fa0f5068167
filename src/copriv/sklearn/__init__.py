"""Estimators for scikit-learn: a consortium as one linear model, with noise on records and a budget that lasts.

>>> import numpy as np
>>> X = np.random.default_rng(0).normal(size=(400, 2))
>>> y = X @ [1.0, -2.0] + 3
>>> model = ConsortiumRegressor(epsilon=10, public=(X[:100], y[:100]), simulate=True)
>>> model.fit(X[100:], y[100:], owner=np.arange(300) % 3).predict(X[:5]).shape
(5,)
"""

try:
    from copriv.sklearn.estimators import ConsortiumClassifier, ConsortiumRegressor
except ModuleNotFoundError as problem:
    if (problem.name or "").partition(".")[0] != "sklearn":
        raise
    words = "copriv.sklearn needs scikit-learn: pip install 'copriv[sklearn]'"
    raise ModuleNotFoundError(words, name=problem.name) from problem
from copriv.sklearn.charging import open_budget
from copriv.sklearn.public_scoring import public_score
from copriv.sklearn.refusal import Refusal
from copriv.sklearn.settings import Settings
from copriv.sklearn.statement import Spent

__all__ = [
    "ConsortiumClassifier",
    "ConsortiumRegressor",
    "Refusal",
    "Settings",
    "Spent",
    "open_budget",
    "public_score",
]
