"""Decision trees as data: which column is asked, against which threshold, and what a leaf says.

A record starts at the root of each tree. It goes left if the column it is asked for is at most the threshold, else
right, until it stands at a leaf. A child always comes after its parent, so nobody walks in circles; a tree is at most
64 questions deep, and no tree is asked twice. So a record takes a fraction of a millisecond, whatever it holds.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np

from copriv.errors import BadInput
from copriv.records.ranges import require_number
from copriv.vectors import FloatArray, IntArray, compiled

MOST_NODES = 200_000
MOST_TREES = 1000
DEEPEST = 64
_LEAF = -1


class Trees(msgspec.Struct, frozen=True):
    """Some trees, node after node.

    Args:
        roots: the first node of each tree.
        columns: which column a node asks for, counted from 0; −1 at a leaf.
        thresholds: up to where a record goes left.
        left: the node for those at or below the threshold.
        right: the node for the others.
        values: what a leaf adds to the score.
    """

    roots: tuple[int, ...]
    columns: tuple[int, ...]
    thresholds: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse trees in which some record would not come to a leaf soon, or find more than a number there."""
        nodes = len(self.columns)
        same = {len(entries) for entries in (self.thresholds, self.left, self.right, self.values)} == {nodes}
        apart = all(first < second for first, second in pairwise(self.roots))
        if not same or not apart or not 0 < nodes <= MOST_NODES or not 0 < len(self.roots) <= MOST_TREES:
            raise BadInput(
                f"trees of {nodes:,} nodes and {len(self.roots):,} roots, or lists of unequal length, or a root twice",
                remedy=f"give at least one of each, at most {MOST_NODES:,} nodes and {MOST_TREES:,} roots in order, "
                "and every list as long as the others",
                value=nodes,
            )
        for value in (*self.thresholds, *self.values):
            require_number(value, "weight", "a number in the dictionary's trees")
        _require_ways(self)

    @property
    def width(self) -> int:
        """How many numbers there are of a record, while it is asked."""
        return len(self.roots) + int(self.leaves.size)

    @property
    def leaves(self) -> IntArray:
        """The nodes that are leaves, in order."""
        return np.flatnonzero(np.asarray(self.columns) == _LEAF)

    def require_columns(self, columns: int) -> None:
        """Refuse trees that ask for a column that is not there."""
        if max(self.columns) >= columns:
            raise BadInput(
                f"the dictionary's trees ask for column {max(self.columns)}",
                remedy=f"there are {columns}, counted from 0",
                value=max(self.columns),
            )

    def scores_of(self, inputs: FloatArray) -> FloatArray:
        """The sum of what each tree says of each row, tree after tree.

        >>> stump = Trees((0,), (0, -1, -1), (0.5, 0.0, 0.0), (1, 0, 0), (2, 0, 0), (0.0, -1.0, 2.0))
        >>> stump.scores_of(np.array([[0.5], [0.6]])).tolist()
        [-1.0, 2.0]
        """
        arrays = self._arrays()
        return _scores(inputs, *arrays, np.asarray(self.values, dtype=np.float64))

    def leaves_of(self, inputs: FloatArray) -> IntArray:
        """The leaf of each row in each tree (rows × trees), counted over the leaves of all trees.

        >>> stump = Trees((0,), (0, -1, -1), (0.5, 0.0, 0.0), (1, 0, 0), (2, 0, 0), (0.0, -1.0, 2.0))
        >>> stump.leaves_of(np.array([[0.5], [0.6]])).tolist()
        [[0], [1]]
        """
        places = np.cumsum(np.asarray(self.columns) == _LEAF) - 1
        return np.asarray(places[_nodes(inputs, *self._arrays())], dtype=np.int64)

    def _arrays(self) -> tuple[IntArray, IntArray, FloatArray, IntArray, IntArray]:
        """Roots, columns, thresholds and children."""
        roots, columns, left, right = (
            np.asarray(entries, dtype=np.int64) for entries in (self.roots, self.columns, self.left, self.right)
        )
        return roots, columns, np.asarray(self.thresholds, dtype=np.float64), left, right


def _require_ways(trees: Trees) -> None:
    """Every node that asks leads on to two later ones, and no way is longer than `DEEPEST`."""
    nodes, depths = len(trees.columns), [0] * len(trees.columns)
    deepest, wrong = 0, [root for root in trees.roots if not 0 <= root < nodes]
    for node, (column, left, right) in enumerate(zip(trees.columns, trees.left, trees.right, strict=True)):
        if column == _LEAF:
            continue
        if column < 0 or not (node < left < nodes and node < right < nodes):
            wrong.append(node)
            break
        for child in (left, right):
            depths[child] = max(depths[child], depths[node] + 1)
            deepest = max(deepest, depths[child])
    if wrong or deepest > DEEPEST:
        raise BadInput(
            f"the dictionary's trees lead nowhere at node {wrong[0]}" if wrong else f"a tree {deepest} questions deep",
            remedy=f"a child comes after its parent, and no tree asks more than {DEEPEST} questions",
            value=wrong[0] if wrong else deepest,
        )


@compiled
def _leaf(
    row: FloatArray, root: int, columns: IntArray, thresholds: FloatArray, left: IntArray, right: IntArray
) -> int:
    node = root
    while columns[node] >= 0:
        node = left[node] if row[columns[node]] <= thresholds[node] else right[node]
    return node


@compiled
def _scores(
    inputs: FloatArray,
    roots: IntArray,
    columns: IntArray,
    thresholds: FloatArray,
    left: IntArray,
    right: IntArray,
    values: FloatArray,
) -> FloatArray:
    scores = np.zeros(inputs.shape[0])
    for i in range(inputs.shape[0]):
        for root in roots:
            scores[i] += values[_leaf(inputs[i], root, columns, thresholds, left, right)]
    return scores


@compiled
def _nodes(
    inputs: FloatArray, roots: IntArray, columns: IntArray, thresholds: FloatArray, left: IntArray, right: IntArray
) -> IntArray:
    nodes = np.empty((inputs.shape[0], roots.shape[0]), dtype=np.int64)
    for i in range(inputs.shape[0]):
        for t in range(roots.shape[0]):
            nodes[i, t] = _leaf(inputs[i], roots[t], columns, thresholds, left, right)
    return nodes
