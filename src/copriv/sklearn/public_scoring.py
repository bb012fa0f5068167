"""Scores on public rows: a score on private rows, without noise, tells about them what no budget has paid for."""

from __future__ import annotations

import numpy as np

from copriv.sklearn.cells import numbers_of
from copriv.sklearn.given import Given
from copriv.sklearn.refusal import Refusal
from copriv.vectors import FloatArray


def public_score(estimator: Given, X: object = None, y: object = None) -> float:  # noqa: ARG001
    """The score on its own public rows of an estimator, of a pipeline's last step or of a search's best: a scorer.

    Whatever rows a search gives are not looked at. Every fit of the search has noise and is charged to its ledger.

    >>> from copriv.sklearn import ConsortiumRegressor
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> model = ConsortiumRegressor(epsilon=10, simulate=True, public=(X[:100], X[:100, 0]))
    >>> public_score(model.fit(X[100:], X[100:, 0])) > 0.9
    True
    """
    final = _innermost(estimator)
    rows = public_rows_of(final)
    if rows is None:
        raise Refusal(
            f"{type(final).__name__} has no public rows to be scored on",
            remedy="give it public=(X, y), or search with simulate=True",
        )
    return float(final.score(*rows, public=True))


def require_public(estimator: Given, X: object, y: object, *, declared: bool) -> None:
    """Refuse to score an estimator with real noise on rows that are not public.

    Raises:
        Refusal: they are neither its own public rows nor declared public.
    """
    if is_simulated(estimator) or declared:
        return
    public = public_rows_of(estimator)
    if public is not None and _same(public[0], X) and _same(public[1], y):
        return
    raise Refusal(
        f"{type(estimator).__name__} scores without noise, which tells about private rows",
        remedy="score on public rows: score(X, y, public=True) says that they are; or use simulate=True",
    )


def is_simulated(estimator: Given) -> bool:
    """Whether the fit was a simulation; of what is not fitted, whether it would be one.

    A parameter may be set after the fit, and the fit stays what it was.
    """
    spent = getattr(estimator, "spent_", None)
    return bool(estimator.simulate if spent is None else spent.simulated)


def public_rows_of(estimator: Given) -> Given:
    """The public rows that it was fitted with, which the registry has looked at; before that, those it is given."""
    return estimator._fitted_public if hasattr(estimator, "_fitted_public") else getattr(estimator, "public", None)  # noqa: SLF001


def are_public(estimator: Given, rows: FloatArray) -> bool:
    """Whether every one of the rows is among the estimator's public ones."""
    public = public_rows_of(estimator)
    if public is None:
        return False
    known = {row.tobytes() for row in numbers_of(public[0])}
    return all(row.tobytes() in known for row in rows)


def _innermost(estimator: Given) -> Given:
    """The last step of a pipeline, the best estimator of a search, and so on within."""
    while True:
        if hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator


def _same(one: object, other: object) -> bool:
    if one is other:
        return True
    first, second = np.asarray(one), np.asarray(other)
    return first.shape == second.shape and bool(np.all((first == second) | ((first != first) & (second != second))))
