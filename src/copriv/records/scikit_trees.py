"""scikit-learn's boosted trees: grown on one thread each, several at once, and read as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeAlias, TypeVar

import numpy as np

from copriv.errors import BadInput
from copriv.records.trees import Trees
from copriv.vectors import CORES, FloatArray, IntArray

FEWEST_IN_LEAF = 20
_RATE = 0.1
_RIDGE = 1.0

# A model of scikit-learn, which has no types.
Model: TypeAlias = Any

Item = TypeVar("Item")
Found = TypeVar("Found")


def can_boost() -> bool:
    """Whether scikit-learn is there to grow trees."""
    return find_spec("sklearn") is not None


def boost(inputs: FloatArray, targets: FloatArray, *, labels: bool, trees: int, **shape: object) -> Model:
    """A boosting model of scikit-learn; it draws nothing, so the same rows give the same trees."""
    if not can_boost():
        raise BadInput(
            "scores and leaves are fitted by scikit-learn, which is not installed",
            remedy="install copriv[sklearn], or ask for features without score and leaves",
        )
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if labels else HistGradientBoostingRegressor
    usual = {
        "learning_rate": _RATE,
        "min_samples_leaf": FEWEST_IN_LEAF,
        "l2_regularization": _RIDGE,
        "early_stopping": False,
        "warm_start": True,
        "random_state": 0,
    }
    with one_thread():
        return kind(max_iter=trees, **(usual | shape)).fit(inputs, targets)


def on_cores(work: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
    """What work makes of each item, as many at once as there are cores."""
    if min(CORES, len(items)) < 2:
        return list(map(work, items))
    with ThreadPoolExecutor(min(CORES, len(items)), "boosting") as pool:
        return list(pool.map(work, items))


@contextmanager
def one_thread() -> Iterator[None]:
    """scikit-learn's loops on one core, and so the same sums on every machine.

    They are short, and threads that wait for each other spin: where other work has the cores, two threads of OpenMP
    took fifty times as long as one. The limit is that of the calling thread, for what is loaded.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):
        yield


def staged_scores(model: Model, inputs: FloatArray, *, labels: bool) -> FloatArray:
    """The score of each row after each tree (trees × rows)."""
    with one_thread():
        stages = model.staged_decision_function(inputs) if labels else model.staged_predict(inputs)
        return np.array([np.ravel(stage) for stage in stages])


def final_scores(model: Model, inputs: FloatArray, *, labels: bool) -> FloatArray:
    """The score of each row after the last tree."""
    with one_thread():
        return np.asarray(model.decision_function(inputs) if labels else model.predict(inputs), dtype=np.float64)


def trees_of(model: Model, asked: IntArray, start: Sequence[float] = ()) -> Trees:
    """What scikit-learn has grown on some columns, as data; before it a leaf where the sum starts, if it is given."""
    lone = np.full(len(start), -1), *(np.zeros(len(start)) for _ in range(3)), np.array(start)
    roots, parts, first = [*range(len(start))], [lone], len(start)
    for (predictor,) in model._predictors:  # noqa: SLF001
        nodes = predictor.nodes
        asks = nodes["is_leaf"] == 0
        roots.append(first)
        parts.append(
            (
                np.where(asks, asked[np.where(asks, nodes["feature_idx"], 0)], -1),
                np.where(asks, nodes["num_threshold"], 0.0),
                np.where(asks, nodes["left"].astype(np.int64) + first, 0),
                np.where(asks, nodes["right"].astype(np.int64) + first, 0),
                np.where(asks, 0.0, nodes["value"]),
            )
        )
        first += nodes.size
    columns, thresholds, left, right, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    places = (tuple(part.astype(np.int64).tolist()) for part in (columns, left, right))
    questions, lower, upper = places
    return Trees(tuple(roots), questions, tuple(thresholds.tolist()), lower, upper, tuple(values.tolist()))
