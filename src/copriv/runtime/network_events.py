"""What happens in a study with owners elsewhere, beside what happens in every run.

The vocabulary is fixed. The learner's events say who came, answered, refused or lied. An owner's events say how many
queries it has replied to, what they cost and what is left. None of them has a number that was computed from a record.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import msgspec

from copriv.privacy.guarantee import ADJACENCY, UNIT, Measure
from copriv.runtime.events import Event


class Began(msgspec.Struct, frozen=True, tag_field="kind", tag="began"):
    """Training begins or goes on with these owners."""

    owners: tuple[str, ...]


class Arrived(msgspec.Struct, frozen=True, tag_field="kind", tag="arrived"):
    """An owner is connected."""

    owner: str


class Silent(msgspec.Struct, frozen=True, tag_field="kind", tag="silent"):
    """An owner does not reply: until it says hello again, it is not there."""

    owner: str


class TurnedAway(msgspec.Struct, frozen=True, tag_field="kind", tag="turned-away"):
    """An owner said hello and has no place in the study."""

    owner: str


class Expelled(msgspec.Struct, frozen=True, tag_field="kind", tag="expelled"):
    """An owner was caught lying: at which meeting (0: in the evaluation), and how."""

    number: int
    owner: str
    words: str


class Finished(msgspec.Struct, frozen=True, tag_field="kind", tag="finished"):
    """An owner is asked no more: it has given its answers, or will give none."""

    owner: str


class Evaluated(msgspec.Struct, frozen=True, tag_field="kind", tag="evaluated"):
    """An owner has told how good the model is: its average loss, or a validation, behind noise."""

    owner: str


class Committed(msgspec.Struct, frozen=True, tag_field="kind", tag="committed"):
    """How often the learner has put its run on record since it started, and how long it waited for the disk."""

    commits: int
    seconds: float


class Replied(msgspec.Struct, frozen=True, tag_field="kind", tag="replied"):
    """An owner has replied to a query, as its own log has it.

    Args:
        query: its number in this session.
        price: what it was charged; 0 for a refusal, and for an answer that was given before.
        spent: what the study has cost in all.
        left: what the ledger has left; None if no budget is declared.
        measure: of these three: ε, or ρ for Gaussian noise.
        outcome: answer, or the reason of a refusal.
        unit: whom the price is about: any one of these.
        adjacency: what a change of one is.
    """

    query: int
    price: float
    spent: float
    left: float | None
    measure: Measure
    outcome: str
    unit: str = UNIT
    adjacency: str = ADJACENCY


NetworkEvent: TypeAlias = (
    Event | Began | Arrived | Silent | TurnedAway | Expelled | Finished | Evaluated | Committed | Replied
)


class TellNetwork(Protocol):
    """Takes note of what happens."""

    def __call__(self, event: NetworkEvent, /) -> None:
        """This has happened."""


def dated_line(event: NetworkEvent, at: str) -> bytes:
    r"""An event as one line of JSON, with its time first.

    >>> dated_line(Arrived("bank"), "2026-01-01T00:00:00+00:00")
    b'{"at":"2026-01-01T00:00:00+00:00","kind":"arrived","owner":"bank"}\n'
    """
    return msgspec.json.encode({"at": at, **msgspec.to_builtins(event)}) + b"\n"
