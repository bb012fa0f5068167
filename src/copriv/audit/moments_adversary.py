"""An adversary that looks for the two records whose moments are furthest apart.

Moments have no clip: what bounds them is that an owner refuses records outside the terms. So it tries the furthest pair
that is known, turned every way, and anything else, both at the very edge of what an owner accepts and far beyond it, in
the hope that a check is missing; then it climbs along that edge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from copriv.audit.adversary import Neighbours
from copriv.audit.claim import Claim
from copriv.audit.furthest import TARGETS, furthest_rows
from copriv.vectors import FloatArray, Norm

# How far beyond 1 an owner may take a length for rounding; and lengths to try, as factors of that.
EDGE = 1 + 1e-9
_SIZES = (1e-160, 1e-8, 0.5, 1 / EDGE, 1.0, 1.0, 1.0, 1.0, 1 + 2e-9, 1.01, 10.0, 1e8, 1e150)


def propose(claim: Claim, generator: np.random.Generator) -> Iterator[Neighbours]:
    """Endless fresh attempts: the furthest pair in every other one, unrelated records in between."""
    while True:
        for rows in (_turned(claim, generator), _unrelated(claim, generator)):
            size, targets = EDGE * generator.choice(_SIZES), np.array(TARGETS) * generator.choice([-1.0, 1.0], size=2)
            others, other_targets = _others(claim, generator)
            targets = targets * EDGE * generator.choice([1.0, 1.0, 1.0, 0.5, 1e8])
            yield Neighbours(others, other_targets, size * rows, targets, np.zeros(claim.parameters))


def perturb(claim: Claim, found: Neighbours, generator: np.random.Generator) -> Neighbours:
    """A step in any direction, at most as long as the records; whoever steps over the edge is brought back to it."""
    lengths = np.linalg.norm(found.rows, axis=1, keepdims=True)
    step = 10.0 ** generator.uniform(-12, 0) * lengths / np.sqrt(claim.parameters)
    rows = found.rows + step * generator.normal(size=found.rows.shape)
    edge = np.maximum(EDGE, lengths)
    rows *= np.minimum(1, edge / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny))
    return replace(found, rows=rows)


def _turned(claim: Claim, generator: np.random.Generator) -> FloatArray:
    """The furthest pair in other coordinates: in L2 any turn keeps the change, in L1 only other signs and orders do."""
    rows = furthest_rows(claim.parameters, claim.norm)
    if claim.norm is Norm.L1:
        signs = generator.choice([-1.0, 1.0], size=claim.parameters)
        return np.asarray(signs * generator.permutation(rows, axis=1))
    turn, _ = np.linalg.qr(generator.normal(size=(claim.parameters, claim.parameters)))
    return np.asarray(rows @ turn)


def _unrelated(claim: Claim, generator: np.random.Generator) -> FloatArray:
    """Two directions: signs, an axis or anything."""
    rows = generator.normal(size=(2, claim.parameters))
    kind = generator.integers(3)
    if kind == 0:
        rows = np.sign(rows)
    if kind == 1:
        rows = np.eye(claim.parameters)[generator.integers(claim.parameters, size=2)]
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _others(claim: Claim, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """The other records: none that count, or some of full length that round badly."""
    shape = (claim.records - 1, claim.parameters)
    if generator.integers(2) == 0:
        return np.zeros(shape), np.zeros(shape[0])
    rows = generator.normal(size=shape)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), generator.uniform(-1, 1, size=shape[0])
