"""An adversary that looks for the two neighbours furthest apart.

It tries what has broken sensitivity bounds before: opposite gradients of full length, directions in which norms
differ, records just on the clip, features so small or so large that their squares leave the range of doubles, other
records that round badly. Targets stay within the terms, features below 1e150: an owner's dictionary bounds both far
more tightly. Where gradients are told along axes, all this is tried there: it is along them that a record is clipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from copriv.audit.axes import along, back
from copriv.audit.claim import Claim
from copriv.audit.subject import LIMIT, REACH
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray

LARGEST = 1e150
SIZES = (5e-324, 1e-310, 1e-200, 1e-160, 1e-100, 1e-8, 0.1, 1.0, 1.0, 1.0, 10.0, 1e8, 1e100, 1e150)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two tables that differ in their first record, and a model to ask at."""

    others: FloatArray
    other_targets: FloatArray
    rows: FloatArray
    targets: FloatArray
    theta: FloatArray

    def tables(self) -> tuple[Sample, Sample]:
        """The two tables."""
        first, second = (
            Sample.of_rows(np.vstack([row, self.others]), np.append(target, self.other_targets))
            for row, target in zip(self.rows, self.targets, strict=True)
        )
        return first, second


def propose(claim: Claim, generator: np.random.Generator) -> Iterator[Neighbours]:
    """Endless fresh attempts: opposite records in every other one, unrelated ones in between."""
    while True:
        row, theta = _any_row(claim, generator), any_model(claim, generator)
        others, other_targets = other_records(claim, generator)
        target = _target(claim, row, theta, generator)
        margin = float(theta @ row)
        opposite = np.clip(2 * margin - target, -REACH * claim.clip, REACH * claim.clip)
        yield Neighbours(others, other_targets, np.array([row, row]), np.array([target, opposite]), theta)
        rows = np.array([row, _any_row(claim, generator)])
        targets = np.array([target, _target(claim, rows[1], theta, generator)])
        yield Neighbours(others, other_targets, rows, targets, theta)


def perturb(claim: Claim, found: Neighbours, generator: np.random.Generator) -> Neighbours:
    """A neighbour of the neighbours: a step uphill, perhaps."""
    step = 10.0 ** generator.uniform(-16, 0)
    rows = found.rows * (1 + step * generator.normal(size=found.rows.shape))
    targets = found.targets * (1 + step * generator.normal(size=2))
    bound = REACH * claim.clip
    return replace(found, rows=np.clip(rows, -LARGEST, LARGEST), targets=np.clip(targets, -bound, bound))


def any_direction(claim: Claim, generator: np.random.Generator) -> FloatArray:
    """Signs, an axis, anything, or numbers of all sizes at once; or, where there are axes, features of that kind.

    A row along one feature is where the length there is least like the length here.
    """
    found = _plain_direction(claim, generator)
    return along(found, claim.axes) if claim.axes and generator.integers(2) else found


def _plain_direction(claim: Claim, generator: np.random.Generator) -> FloatArray:
    """No entry is above 1."""
    signs = generator.choice([-1.0, 1.0], size=claim.parameters)
    kind = generator.integers(4)
    if kind == 0:
        return signs
    if kind == 1:
        return np.where(np.arange(claim.parameters) == generator.integers(claim.parameters), signs, 0.0)
    if kind == 2:
        return generator.uniform(-1, 1, size=claim.parameters)
    return signs * 10.0 ** generator.uniform(-160, 0, size=claim.parameters)


def row_of(claim: Claim, there: FloatArray) -> FloatArray:
    """The row that lies there along the claim's axes; none is larger than the largest."""
    return np.clip(back(there, claim.axes), -LARGEST, LARGEST)


def _any_row(claim: Claim, generator: np.random.Generator) -> FloatArray:
    return row_of(claim, any_direction(claim, generator) * generator.choice(SIZES))


def any_model(claim: Claim, generator: np.random.Generator) -> FloatArray:
    """Nothing, a corner of the box, or anything in it."""
    kind = generator.integers(3)
    if kind == 0:
        return np.zeros(claim.parameters)
    if kind == 1:
        return LIMIT * generator.choice([-1.0, 1.0], size=claim.parameters)
    return generator.uniform(-LIMIT, LIMIT, size=claim.parameters)


def _target(claim: Claim, row: FloatArray, theta: FloatArray, generator: np.random.Generator) -> float:
    """The largest target, or the one whose gradient lies just on the clip."""
    bound, sign = REACH * claim.clip, generator.choice([-1.0, 1.0])
    length = claim.norm.of(along(row, claim.axes))
    if generator.integers(2) or length < 1e-300:
        return float(sign * bound)
    on_the_clip = float(theta @ row) + sign * claim.clip / (2 * length) * (1 + generator.integers(-2, 3) * 2.0**-52)
    return float(np.clip(on_the_clip, -bound, bound))


def other_records(claim: Claim, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """The other records: none that count, or some that are long, of mixed signs and round badly."""
    shape = (claim.records - 1, claim.parameters)
    if generator.integers(3) == 0:
        return np.zeros(shape), np.zeros(shape[0])
    bound = REACH * claim.clip
    return generator.uniform(-1, 1, size=shape) / 3, generator.uniform(-bound, bound, size=shape[0])
