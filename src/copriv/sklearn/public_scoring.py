"""Scores on public rows: a score on private rows, without noise, tells about them what no budget has paid for."""

from __future__ import annotations

import numpy as np

from copriv.sklearn.given import Given
from copriv.sklearn.refusal import Refusal


def public_score(estimator: Given, X: object = None, y: object = None) -> float:  # noqa: ARG001
    """The score of a fitted estimator, or of the last step of a pipeline, on its own public rows: a scorer.

    Whatever rows a search gives are not looked at. Every fit of the search has noise and is charged to its ledger.

    >>> from copriv.sklearn import ConsortiumRegressor
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> model = ConsortiumRegressor(epsilon=10, simulate=True, public=(X[:100], X[:100, 0]))
    >>> public_score(model.fit(X[100:], X[100:, 0])) > 0.9
    True
    """
    final = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if getattr(final, "public", None) is None:
        raise Refusal(
            f"{type(final).__name__} has no public rows to be scored on",
            remedy="give it public=(X, y), or search with simulate=True",
        )
    return float(final.score(*final.public, public=True))


def require_public(estimator: Given, X: object, y: object, *, declared: bool) -> None:
    """Refuse to score an estimator with real noise on rows that are not public.

    Raises:
        Refusal: they are neither its own public rows nor declared public.
    """
    if estimator.simulate or declared:
        return
    if estimator.public is not None and _same(estimator.public[0], X) and _same(estimator.public[1], y):
        return
    raise Refusal(
        f"{type(estimator).__name__} scores without noise, which tells about private rows",
        remedy="score on public rows: score(X, y, public=True) says that they are; or use simulate=True",
    )


def _same(one: object, other: object) -> bool:
    if one is other:
        return True
    first, second = np.asarray(one), np.asarray(other)
    return first.shape == second.shape and bool(np.all((first == second) | ((first != first) & (second != second))))
