"""Trees of public rows: the same whatever cores there are, and one thread each."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_info, threadpool_limits

from copriv.records import boosting, scikit_trees


def rows(count=300):
    chance = np.random.default_rng(1)
    inputs = np.column_stack([chance.normal(size=(count, 3)), chance.integers(0, 4, count)])
    return inputs, np.clip(inputs[:, 0] / 3 + 0.1 * (inputs[:, 3] == 2) + chance.normal(size=count) / 5, -1, 1)


def grow(labels):
    inputs, targets = rows()
    targets = np.where(targets > 0, 1.0, -1.0) if labels else targets
    counts = [0, 0, 0, 4]
    found = boosting.fit_boosting(inputs, targets, counts, labels=labels)
    return found.out_of_fold, *boosting.scores_without(
        inputs, targets, counts, found.trees, boosting.folds_of(targets.size), labels=labels
    )


@pytest.mark.parametrize("labels", [False, True])
def test_cores_do_not_change_a_bit(monkeypatch, labels):
    monkeypatch.setattr(scikit_trees, "CORES", 1)
    alone = grow(labels)
    monkeypatch.setattr(scikit_trees, "CORES", 3)
    for one, other in zip(alone, grow(labels), strict=True):
        assert one.tobytes() == other.tobytes()


def threads_of_openmp():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "openmp"}


def seen_while_growing(monkeypatch):
    """How many threads scikit-learn was allowed, each time."""
    found, fit = set(), HistGradientBoostingRegressor.fit

    def watched(self, *arguments):
        found.update(threads_of_openmp())
        return fit(self, *arguments)

    monkeypatch.setattr(HistGradientBoostingRegressor, "fit", watched)
    monkeypatch.setattr(scikit_trees, "CORES", 1)
    with threadpool_limits(2, user_api="openmp"):
        boosting.fit_grove(*rows(), 2, labels=False)
    return found


def test_trees_are_grown_by_one_thread(monkeypatch):
    assert seen_while_growing(monkeypatch) == {1}


def test_a_twin_without_the_limit_is_noticed(monkeypatch):
    monkeypatch.setattr(scikit_trees, "one_thread", lambda: threadpool_limits(None))
    assert seen_while_growing(monkeypatch) == {2}
