"""Many different owners as a few typical ones: what a forecast says of a hundred sizes, at the price of a handful.

How an owner moves the models depends on its share n_i/n alone, given how often it is met, and smoothly so. What it adds
by its noise and by its differences is linear in their variances. So sums over owners are integrals of smooth functions,
and Gauss's rule for the measure of their shares, of r nodes, has them exactly up to degree 2r − 1: numbers of owners,
records and squared records are kept. Variances are handed to the nodes by interpolation, of degree r − 1, or between
neighbours if that would make one negative.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from copriv.forecast.owner_groups import OwnerGroups
from copriv.vectors import FloatArray


def condense(kinds: OwnerGroups, nodes: int) -> OwnerGroups:
    """At most so many kinds for every availability that occurs; where they are few already, as they are.

    >>> few = condense(OwnerGroups.of(range(100, 200), [0.01] * 100, [1.0] * 100), 3)
    >>> few.counts.size, few.owners, round(float(few.counts @ few.shares), 12)
    (3, 100, 1.0)
    """
    groups = [kinds.availability == gamma for gamma in np.unique(kinds.availability)]
    return _join([_condense_alike(_pick(kinds, group), nodes) for group in groups])


def condense_but_the_loudest(kinds: OwnerGroups, nodes: int) -> OwnerGroups:
    """The same, with the owner that its noise moves most as it is: it wanders furthest."""
    if kinds.counts.size <= nodes + 1:
        return kinds
    loudest = np.arange(kinds.counts.size) == np.argmax(kinds.shares * kinds.deviations / kinds.availability)
    return _join([_pick(kinds, loudest), condense(_pick(kinds, ~loudest), nodes)])


def _join(parts: list[OwnerGroups]) -> OwnerGroups:
    names = ("counts", "availability", "shares", "deviations", "differences")
    return OwnerGroups(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _pick(kinds: OwnerGroups, chosen: npt.NDArray[np.bool_]) -> OwnerGroups:
    return OwnerGroups(
        kinds.counts[chosen],
        kinds.availability[chosen],
        kinds.shares[chosen],
        kinds.deviations[chosen],
        kinds.differences[chosen],
    )


def _condense_alike(kinds: OwnerGroups, nodes: int) -> OwnerGroups:
    """OwnerGroups of one availability."""
    if kinds.counts.size <= nodes:
        return kinds
    shares, weights = gauss(kinds.shares, kinds.counts, nodes)
    noise = _hand_over(kinds.shares, kinds.counts * (kinds.shares * kinds.deviations) ** 2, shares) / weights
    apart = _hand_over(kinds.shares, kinds.counts * kinds.differences, shares) / weights
    return OwnerGroups(weights, np.full(shares.size, kinds.availability[0]), shares, np.sqrt(noise) / shares, apart)


def gauss(points: FloatArray, masses: FloatArray, nodes: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss's rule for masses at some points: Lanczos, and the eigenvalues of its matrix.

    >>> where, weights = gauss(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0]), 2)
    >>> np.round(where, 6).tolist(), np.round(weights, 6).tolist()
    ([0.292893, 1.707107], [2.0, 2.0])
    """
    total = float(np.sum(masses))
    vector, before = np.sqrt(masses / total), np.zeros_like(masses)
    basis, diagonal, beside = [vector], [], [0.0]
    for _ in range(nodes):
        pushed = points * vector - beside[-1] * before
        diagonal.append(float(pushed @ vector))
        pushed -= diagonal[-1] * vector
        for known in basis:
            pushed -= (known @ pushed) * known
        length = float(np.linalg.norm(pushed))
        if length <= 1e-10 * np.max(np.abs(points)):
            break
        before, vector = vector, pushed / length
        basis.append(vector)
        beside.append(length)
    inner = beside[1 : len(diagonal)]
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(inner, 1) + np.diag(inner, -1))
    return np.asarray(values), np.asarray(total * vectors[0] ** 2)


def _hand_over(points: FloatArray, masses: FloatArray, nodes: FloatArray) -> FloatArray:
    """What each node gets of masses at some points."""
    given = np.asarray(masses @ _interpolation(points, nodes))
    return given if np.all(given >= 0) else np.asarray(masses @ _between_neighbours(points, nodes))


def _interpolation(points: FloatArray, nodes: FloatArray) -> FloatArray:
    """Lagrange's polynomials at the points (points × nodes)."""
    apart = nodes[:, None] - nodes + np.eye(nodes.size)
    factors = (points[:, None, None] - nodes) / apart
    factors[:, np.arange(nodes.size), np.arange(nodes.size)] = 1.0
    return np.asarray(np.prod(factors, axis=2))


def _between_neighbours(points: FloatArray, nodes: FloatArray) -> FloatArray:
    """Shares of the two nodes around each point."""
    return np.stack([np.interp(points, nodes, unit) for unit in np.eye(nodes.size)], axis=1)
