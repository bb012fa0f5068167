"""Two neighbouring tables whose exact answers are as far apart as they can be.

At θ = 0 the gradient of (x, y) is −2y x. The canary, the one record in which the tables differ, has a gradient far
beyond the clip: against a direction in one table, along it in the other. A partner along the direction brings the
first exact answer to 0; all other records have none. So the second exact answer is the whole sensitivity, 2C/n, along
the direction.

Second moments that fill the room of a gradient are told apart by two records without a gradient, along two axes.

Where gradients are told along axes other than the features, directions are along these, and rows are those that lie
there: their gradients, as they are told, are opposite and at the clip.

Moments have no clip and no partner that could cancel a square: the canary is one of the furthest two records, and all
other features are 0. For the low bits a first table without any features has the exact answer 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copriv.audit.axes import back
from copriv.audit.claim import Claim
from copriv.audit.furthest import TARGETS, furthest_rows
from copriv.audit.reference import reference_filled, reference_moments
from copriv.audit.subject import REACH, ROW_NORM
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray


@dataclass(frozen=True, slots=True)
class Direction:
    """Where a canary points."""

    name: str
    vector: FloatArray


@dataclass(frozen=True, slots=True)
class Pair:
    """Neighbours, the exact answer of the first, and how far from it that of the second should be."""

    name: str
    first: Sample
    second: Sample
    origin: FloatArray
    shift: FloatArray


def canaries(claim: Claim) -> tuple[Pair, ...]:
    """The pairs that one answer may tell apart, the one to look at most closely first."""
    if claim.fill:
        return (_filled_pair(claim),)
    if claim.asks == "moments":
        return (_moments_pair(claim, "of the furthest two", furthest_rows(claim.parameters, claim.norm), TARGETS),)
    points = (axis,) if claim.axes else (diagonal, axis)
    return tuple(make_pair(claim, point(claim.parameters)) for point in points)


def low_bits_pair(claim: Claim) -> Pair:
    """A pair whose first exact answer is 0, and whose second is 0 nowhere."""
    if claim.asks == "gradient":
        return make_pair(claim, diagonal(claim.parameters))
    flat = np.full(claim.parameters, 1 / np.sqrt(claim.parameters))
    return _moments_pair(claim, "away from 0", np.array([np.zeros(claim.parameters), flat]), (1.0, 1.0))


def make_pair(claim: Claim, direction: Direction) -> Pair:
    """Neighbours whose exact answers are 0 and 2C/n along a direction."""
    unit = direction.vector / np.linalg.norm(direction.vector)
    shift = claim.change * unit / claim.norm.of(unit)
    first, second = (_table(claim, unit, canary=sign) for sign in (1.0, -1.0))
    return Pair(f"along {direction.name}", first, second, np.zeros_like(shift), shift)


def diagonal(parameters: int) -> Direction:
    """Where a bound in L2 is furthest from one in L1."""
    return Direction("(1, …, 1)", np.ones(parameters))


def axis(parameters: int) -> Direction:
    """Where Laplace noise has nothing to spare."""
    return Direction("e₁", np.eye(1, parameters)[0])


def _table(claim: Claim, unit: FloatArray, canary: float) -> Sample:
    rows, targets = np.zeros((claim.records, claim.parameters)), np.zeros(claim.records)
    rows[:2] = _longest(back(unit, claim.axes))
    targets[:2] = REACH * claim.clip * np.array([canary, -1.0])
    return Sample.of_rows(rows, targets)


def _moments_pair(claim: Claim, name: str, rows: FloatArray, targets: tuple[float, float]) -> Pair:
    first, second = (_lone_record(claim, row, target) for row, target in zip(rows, targets, strict=True))
    origin = reference_moments(first, claim.norm)
    return Pair(name, first, second, origin, reference_moments(second, claim.norm) - origin)


def _filled_pair(claim: Claim) -> Pair:
    """One record at e₁, or at e₂: all of the clip is room. With one feature the other has none."""
    rows, theta = back(np.eye(2, claim.parameters), claim.axes), np.zeros(claim.parameters)
    first, second = (_lone_record(claim, _longest(row), 0.0) for row in rows)
    bounds = claim.clip, claim.fill
    exact = [reference_filled(table, theta, bounds, claim.norm, claim.axes) for table in (first, second)]
    return Pair("of second moments", first, second, exact[0], exact[1] - exact[0])


def _longest(row: FloatArray) -> FloatArray:
    """As long as the terms allow; a row of nothing stays."""
    length = float(np.linalg.norm(row))
    return ROW_NORM * row / length if length else row


def _lone_record(claim: Claim, row: FloatArray, target: float) -> Sample:
    rows, targets = np.zeros((claim.records, claim.parameters)), np.zeros(claim.records)
    rows[0], targets[0] = row, target
    return Sample.of_rows(rows, targets)
