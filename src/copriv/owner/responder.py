"""The one place where records and noise meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, final

from copriv.entropy import secure
from copriv.errors import BadInput
from copriv.losses.records import Records
from copriv.privacy.exact import PrivateVector
from copriv.privacy.levels import release_levels
from copriv.protocol.commitment import Commitment
from copriv.protocol.messages import Kind
from copriv.protocol.query_budget import QueryBudget
from copriv.vectors import FloatArray


class Responder(Protocol):
    """Turns a question into noisy numbers."""

    def respond(self, theta: FloatArray, kind: Kind = "gradient", share: int = 0) -> FloatArray:
        """The noisy average gradient at θ, or whatever else may be asked for; of a menu, at a share of the budget."""

    def respond_levels(self, theta: FloatArray, levels: Sequence[QueryBudget]) -> Sequence[FloatArray]:
        """The same at several levels of a menu, the finest first: each adds noise to the one before.

        All but the last are to be sealed at once by whoever calls.
        """


@final
class PrivateResponder:
    """Records behind secure noise: nothing but `respond` ever reads them."""

    __slots__ = ("_held_back", "_promise", "_records")

    def __init__(self, records: Records, commitment: Commitment, held_back: Records | None = None) -> None:
        for some in (records, held_back):
            if some is not None:
                commitment.require_bounded(some)
        self._records = records
        self._held_back = held_back
        self._promise = commitment

    def respond(self, theta: FloatArray, kind: Kind = "gradient", share: int = 0) -> FloatArray:
        """Exact sampling over the operating system's randomness; it cannot be seeded."""
        part = self._promise.part(kind, share)
        records = records_for(kind, self._records, self._held_back)
        return part.calibration.mechanism.release(PrivateVector(part.exact(records, theta)))

    def respond_levels(self, theta: FloatArray, levels: Sequence[QueryBudget]) -> Sequence[FloatArray]:
        """Exact sampling likewise, of all levels together."""
        exact = PrivateVector(levels[0].exact(self._records, theta))
        return release_levels(exact, [level.calibration.mechanism.scale for level in levels], secure().randbytes)

    def __repr__(self) -> str:
        return "PrivateResponder(<records>)"


def records_for(kind: Kind, training: Records, held_back: Records | None) -> Records:
    """The records that a question is about: those that train, or those that are held back from it."""
    if kind != "validation":
        return training
    if held_back is None:
        raise BadInput("no records were held back", remedy="divide them as the terms say", value=kind)
    return held_back
