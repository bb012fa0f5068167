"""Trees as data say what scikit-learn says, and trees by which a record would get lost are refused."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from copriv.errors import BadInput
from copriv.records.boosting import fit_boosting, fit_grove, leaves_of, rank_categories, score_again
from copriv.records.trees import DEEPEST, Trees

STUMP = {
    "roots": (0,),
    "columns": (0, -1, -1),
    "thresholds": (0.5, 0.0, 0.0),
    "left": (1, 0, 0),
    "right": (2, 0, 0),
    "values": (0.0, -1.0, 2.0),
}


def make_rows(rows=300, seed=0):
    generator = np.random.default_rng(seed)
    inputs = generator.normal(size=(rows, 4))
    inputs[:, 3] = generator.integers(0, 6, rows)
    return inputs, np.clip(np.sin(3 * inputs[:, 0]) / 2 + (inputs[:, 3] == 2) / 3, -1, 1)


@pytest.mark.parametrize("labels", [False, True])
def test_trees_say_what_scikit_learn_says(labels):
    inputs, targets = make_rows()
    wanted = np.where(targets > 0, 1.0, -1.0) if labels else targets
    boosting = fit_boosting(inputs, wanted, [0, 0, 0, 0], labels=labels)
    kind = HistGradientBoostingClassifier if labels else HistGradientBoostingRegressor
    shape = {"max_leaf_nodes": leaves_of(boosting.trees), "l2_regularization": 1.0, "early_stopping": False}
    model = kind(max_iter=len(boosting.trees.roots) - 1, **shape).fit(inputs, wanted)
    new, _ = make_rows(seed=1)
    told = model.decision_function(new) if labels else model.predict(new)
    np.testing.assert_allclose(boosting.trees.scores_of(new), told, rtol=0, atol=1e-12)


def test_leaves_are_as_many_as_are_best_out_of_fold():
    """Few rows want small trees, a hundred cells of their own large ones; scores are found again from the trees."""
    generator = np.random.default_rng(0)
    found = []
    for rows, steps in ((200, 2), (4000, 12)):
        inputs = generator.uniform(size=(rows, 3))
        cells = np.floor(inputs * steps).astype(int) @ (1, steps, steps**2)
        targets = generator.normal(size=steps**3)[cells] / 4 + generator.normal(size=rows) / 20
        boosting = fit_boosting(inputs, targets, [0, 0, 0], labels=False)
        found.append(leaves_of(boosting.trees))
        again = score_again(inputs, targets, [0, 0, 0], boosting.trees, labels=False)
        np.testing.assert_array_equal(boosting.out_of_fold, again)
    assert found == [8, 32]


def test_every_record_stands_at_one_leaf_of_each_tree():
    inputs, targets = make_rows()
    trees = fit_grove(inputs, targets, 5, labels=False)
    leaves = trees.leaves_of(inputs)
    assert leaves.shape == (300, 5)
    values = np.asarray(trees.values)[trees.leaves]
    np.testing.assert_allclose(values[leaves].sum(axis=1), trees.scores_of(inputs))
    assert np.all(np.diff(leaves, axis=1) > 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"left": (0, 0, 0)},  # in a circle
        {"columns": (0, 0, -1), "left": (1, 0, 0), "right": (2, 2, 0)},  # back to the root
        {"left": (3, 0, 0)},
        {"right": (-1, 0, 0)},
        {"roots": (3,)},
        {"roots": (0, 0)},  # a tree that is asked twice
        {"roots": (1, 0)},
        {"roots": (-1,)},
        {"roots": ()},
        {"columns": (-2, -1, -1)},
        {"thresholds": (float("nan"), 0.0, 0.0)},
        {"thresholds": (1e300, 0.0, 0.0)},
        {"values": (0.0, float("inf"), 2.0)},
        {"values": (0.0, 1e10, 2.0)},
        {"values": (0.0, 1.0)},
        {"columns": (), "thresholds": (), "left": (), "right": (), "values": ()},
    ],
    ids=str,
)
def test_trees_in_which_a_record_gets_lost_are_refused(changes):
    Trees(**STUMP)
    with pytest.raises(BadInput):
        Trees(**(STUMP | changes))


def _chain(depth):
    """A tree that asks one question after another."""
    nodes = depth + 2
    asks = [*range(depth), *([-1] * 2)]
    columns = tuple(0 if node < depth else -1 for node in range(nodes))
    last = nodes - 1
    left = tuple(node + 1 if place >= 0 else 0 for node, place in enumerate(asks))
    right = tuple(last if place >= 0 else 0 for place in asks)
    return Trees((0,), columns, (0.0,) * nodes, left, right, (0.0,) * nodes)


def test_a_tree_that_asks_without_end_is_refused():
    assert _chain(DEEPEST).scores_of(np.zeros((2, 1))).tolist() == [0.0, 0.0]
    with pytest.raises(BadInput, match="65 questions deep"):
        _chain(DEEPEST + 1)
    with pytest.raises(BadInput, match="ask for column 0"):
        _chain(3).require_columns(0)


def test_categories_are_ranked_by_their_target_and_few_rows_count_little():
    places, targets = np.array([0.0] * 50 + [1.0] * 50 + [2.0]), np.array([0.5] * 50 + [-0.5] * 50 + [1.0])
    assert rank_categories(places, targets, 3).tolist() == [1, 2, 0]
