"""Two neighbouring tables whose exact answers are as far apart as they can be.

At θ = 0 the gradient of (x, y) is −2y x. The canary, the one record in which the tables differ, has a gradient far
beyond the clip: against a direction in one table, along it in the other. A partner along the direction brings the
first exact answer to 0; all other records have none. So the second exact answer is the whole sensitivity, 2C/n, along
the direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copriv.audit.claim import Claim
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
    """Neighbours, and how far apart their exact answers should be."""

    first: Sample
    second: Sample
    shift: FloatArray


def make_pair(claim: Claim, direction: Direction) -> Pair:
    """Neighbours whose exact answers are 0 and 2C/n along a direction."""
    unit = direction.vector / np.linalg.norm(direction.vector)
    shift = claim.change * unit / claim.norm.of(unit)
    return Pair(_table(claim, unit, canary=1.0), _table(claim, unit, canary=-1.0), shift)


def diagonal(parameters: int) -> Direction:
    """Where a bound in L2 is furthest from one in L1."""
    return Direction("(1, …, 1)", np.ones(parameters))


def axis(parameters: int) -> Direction:
    """Where Laplace noise has nothing to spare."""
    return Direction("e₁", np.eye(1, parameters)[0])


def _table(claim: Claim, unit: FloatArray, canary: float) -> Sample:
    rows, targets = np.zeros((claim.records, claim.parameters)), np.zeros(claim.records)
    rows[:2] = ROW_NORM * unit
    targets[:2] = REACH * claim.clip * np.array([canary, -1.0])
    return Sample.of_rows(rows, targets)
