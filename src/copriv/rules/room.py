"""Second moments that owners tell in the room that their clipped gradients leave, and what they say of the Hessian.

A record tells (w/fill)·xxᵀ with a weight that room allows (`losses.filled`), so it is seen as a whole or in part.
Public rows at the same model are seen in part, too: with S what is seen of theirs and M all of it, the second moments
of the owners' records are read as R Ŝ Rᵀ with R = M^½ S^(−½), which is right where the part that is seen is the same.
Rows that are long, or that the model fits badly, have little room: where owners' records have more of these, their
Hessian is larger than it is read. It is doubted in proportion to how far each direction is from the public one, and the
less the better gradients of several places agree with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from copriv.losses.filled import second_moment_lengths, seen_second_moments
from copriv.losses.sample import Sample
from copriv.losses.turned import turned_model
from copriv.protocol.terms import RANGES
from copriv.rules.difference import HessianObservation
from copriv.rules.geometry import PublicGeometry, lifted_noise
from copriv.vectors import FloatArray, Norm

# So many of the public rows are told whole where their gradients leave this part of the clip.
_WHOLE, _ROOM = 0.95, 0.5
# How far a reading may be off, as a part of the lengths of its rows. None is used with more noise in its entries.
DOUBTS = (0.02, 0.1, 0.5, 2.5)
_BLURRED = 1.0


def choose_fill(public: Sample, clip: float, norm: Norm) -> float:
    """How gradients are to be filled: the less, the more noise second moments have; the more, the fewer are whole.

    0 where rows are people, or have no length.
    """
    if public.people is not None:
        return 0.0
    size = float(np.quantile(second_moment_lengths(public, norm), _WHOLE))
    return min(float(f"{_ROOM * clip / size:.3g}"), RANGES["fill"][1]) if size > 0 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """What is seen of the public rows' second moments at a model, and how to read what is seen of others'.

    Args:
        seen: S.
        lift: T with T(Ŝ − S)Tᵀ the change of the Hessian, in the geometry's coordinates.
        norm: in which second moments are packed.
    """

    seen: FloatArray
    lift: FloatArray
    norm: Norm

    def change(self, moments: FloatArray) -> FloatArray:
        """By how much the Hessian differs from the public one where so much is seen."""
        return np.asarray(self.lift @ (moments - self.seen) @ self.lift.T)

    def noise(self, variance: float) -> FloatArray:
        """Variance of each entry of that, if each of the second moments has noise of this variance."""
        return lifted_noise(self.lift, variance, self.norm)


def room_at(geometry: PublicGeometry, theta: FloatArray, fill: float) -> Room:
    """At a model."""
    return _room_at(geometry, theta.tobytes(), fill)


@lru_cache(maxsize=64)
def _room_at(geometry: PublicGeometry, theta: bytes, fill: float) -> Room:
    objective, place = geometry.objective, np.frombuffer(theta)
    there, back = turned_model(place, geometry.axes), np.linalg.inv(geometry.along)
    seen = seen_second_moments(objective.loss, geometry.turned, there, (geometry.clip, fill), geometry.norm)
    return Room(seen, geometry.lift_of(back @ seen @ back.T) @ back, geometry.norm)


def read_together(
    readings: Sequence[HessianObservation], bought: HessianObservation | None, doubt: float
) -> HessianObservation | None:
    """What was seen at all places, with a doubt, and what was bought; by precision. None if there is nothing."""
    seen = _seen(readings, doubt)
    if seen is None or bought is None:
        return bought if seen is None else seen
    return _both(seen, bought)


def agreement(readings: Sequence[HessianObservation], bought: HessianObservation | None, doubt: float) -> float:
    """The logarithm of how likely what was bought is, given what was seen with a doubt; 0 if there is only one."""
    seen = _seen(readings, doubt)
    if seen is None or bought is None:
        return 0.0
    variance = seen.variance + bought.variance
    upper = np.triu_indices(variance.shape[0])
    return -0.5 * float(np.sum((np.log(variance) + (seen.change - bought.change) ** 2 / variance)[upper]))


def _seen(readings: Sequence[HessianObservation], doubt: float) -> HessianObservation | None:
    precise = sum(1 / one.variance for one in readings)
    if not readings or float(np.mean(1 / precise)) > _BLURRED:
        return None
    change = sum(one.change / one.variance for one in readings) / precise
    lengths = np.sqrt(np.maximum(np.sum(change**2 - 1 / precise, axis=1), 0.0))
    variance = 1 / precise + doubt**2 * np.outer(lengths, lengths)
    return HessianObservation(np.asarray(change), np.asarray(variance))


def _both(one: HessianObservation, other: HessianObservation) -> HessianObservation:
    precise = 1 / one.variance + 1 / other.variance
    return HessianObservation((one.change / one.variance + other.change / other.variance) / precise, 1 / precise)
