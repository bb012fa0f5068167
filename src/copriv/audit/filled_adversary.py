"""An adversary that looks for the two records whose filled gradients are furthest apart.

It tries all that breaks a plain gradient. Beyond that it sets how much of the clip a gradient takes, from nothing to a
little more than all, and scales rows so that the fill just uses up what is left: there the weight turns from one
formula to the other. Rows along different axes are as far apart as second moments can be, in L1 by the whole 2C.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from copriv.audit import adversary
from copriv.audit.adversary import LARGEST, SIZES, Neighbours, any_direction, any_model, other_records, row_of
from copriv.audit.axes import along
from copriv.audit.claim import Claim
from copriv.audit.reference import reference_second_moments
from copriv.audit.subject import REACH
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray, Norm

_ULP = 2.0**-53
# How much of the clip a gradient takes.
_PARTS = (0.0, 1e-16, 0.1, 0.5, 0.5**0.5, 0.9, 1 - 1e-8, 1 - _ULP, 1.0, 1 + 2 * _ULP, 1.5, 1e6)
_SHORTEST = 1e-300


def propose(claim: Claim, generator: np.random.Generator) -> Iterator[Neighbours]:
    """Endless fresh attempts: what is tried with plain gradients in two of four, records that share the clip else."""
    for found in adversary.propose(claim, generator):
        yield found
        yield _sharing(claim, generator)


def _sharing(claim: Claim, generator: np.random.Generator) -> Neighbours:
    """Two records that give parts of the clip to their gradients, alike or not, along one direction or two."""
    theta, parts = any_model(claim, generator), generator.choice(_PARTS, size=2)
    if generator.integers(2):
        parts[1] = parts[0]
    first, second = (any_direction(claim, generator) for _ in parts)
    directions = (first, second if generator.integers(3) else first)
    rows = np.array([row_of(claim, _row(claim, *one, generator)) for one in zip(directions, parts, strict=True)])
    targets = [_target(claim, row, theta, part, generator) for row, part in zip(rows, parts, strict=True)]
    others, other_targets = other_records(claim, generator)
    return Neighbours(others, other_targets, rows, np.array(targets), theta)


def _row(claim: Claim, direction: FloatArray, part: float, generator: np.random.Generator) -> FloatArray:
    """Of any size, or of the one at which the fill just fits; along the claim's axes."""
    size = claim.norm.of(reference_second_moments(Sample.of_rows([direction], [0.0]), claim.norm))
    held = min(part, 1.0)
    room = claim.clip * ((1 - held) if claim.norm is Norm.L1 else np.sqrt((1 - held) * (1 + held)))
    if generator.integers(3) == 0 or size < _SHORTEST or room == 0:
        return np.asarray(direction * generator.choice(SIZES))
    fitting = np.sqrt(room) / np.sqrt(size) / np.sqrt(claim.fill) * (1 + generator.integers(-2, 3) * _ULP)
    return np.asarray(direction * min(fitting, LARGEST))


def _target(claim: Claim, row: FloatArray, theta: FloatArray, part: float, generator: np.random.Generator) -> float:
    """The one whose gradient takes this part of the clip, if it is within the terms."""
    bound, length = REACH * claim.clip, claim.norm.of(along(row, claim.axes))
    slope = part * claim.clip / length if length > _SHORTEST else 0.0
    return float(np.clip(theta @ row - generator.choice([-0.5, 0.5]) * slope, -bound, bound))
