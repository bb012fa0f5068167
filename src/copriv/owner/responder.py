"""The one place where records and noise meet."""

from __future__ import annotations

from typing import Protocol, final

from copriv.losses.sample import Sample
from copriv.owner.promise import Promise
from copriv.privacy.exact import PrivateVector
from copriv.vectors import FloatArray


class Responder(Protocol):
    """Turns a question into noisy numbers."""

    def respond(self, theta: FloatArray) -> FloatArray:
        """The noisy average gradient at θ."""


@final
class PrivateResponder:
    """Records behind secure noise: nothing but `respond` ever reads them."""

    __slots__ = ("_promise", "_sample")

    def __init__(self, sample: Sample, promise: Promise) -> None:
        promise.require_bounded(sample)
        self._sample = sample
        self._promise = promise

    def respond(self, theta: FloatArray) -> FloatArray:
        """Exact sampling over the operating system's randomness; it cannot be seeded."""
        exact = PrivateVector(self._promise.exact_answer(self._sample, theta))
        return self._promise.calibration.mechanism.release(exact)

    def __repr__(self) -> str:
        return "PrivateResponder(<records>)"
