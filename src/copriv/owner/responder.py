"""The one place where records and noise meet."""

from __future__ import annotations

from typing import Protocol, final

from copriv.losses.records import Records
from copriv.privacy.exact import PrivateVector
from copriv.protocol.commitment import Commitment
from copriv.protocol.messages import Kind
from copriv.vectors import FloatArray


class Responder(Protocol):
    """Turns a question into noisy numbers."""

    def respond(self, theta: FloatArray, kind: Kind = "gradient", share: int = 0) -> FloatArray:
        """The noisy average gradient at θ, or whatever else may be asked for; of a menu, at a share of the budget."""


@final
class PrivateResponder:
    """Records behind secure noise: nothing but `respond` ever reads them."""

    __slots__ = ("_promise", "_records")

    def __init__(self, records: Records, commitment: Commitment) -> None:
        commitment.require_bounded(records)
        self._records = records
        self._promise = commitment

    def respond(self, theta: FloatArray, kind: Kind = "gradient", share: int = 0) -> FloatArray:
        """Exact sampling over the operating system's randomness; it cannot be seeded."""
        part = self._promise.part(kind, share)
        return part.calibration.mechanism.release(PrivateVector(part.exact(self._records, theta)))

    def __repr__(self) -> str:
        return "PrivateResponder(<records>)"
