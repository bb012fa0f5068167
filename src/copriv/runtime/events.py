"""What happens during a run, as typed values: the command line prints them, a notebook shows them, a log keeps them.

An event is a plain struct with a tag, so that it is one JSON line and can be read back. Whoever runs something takes a
callback of type `Tell` and decides what to do with what it is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec


class Note(msgspec.Struct, frozen=True, tag_field="kind", tag="note"):
    """Something that a person should know."""

    words: str


class Warned(msgspec.Struct, frozen=True, tag_field="kind", tag="warned"):
    """Something that a person should not overlook."""

    words: str


class Progress(msgspec.Struct, frozen=True, tag_field="kind", tag="progress"):
    """How much of a stage is done; a total of 0 means that nobody knows how much there is."""

    stage: str
    done: int = 0
    total: int = 0


class Waiting(msgspec.Struct, frozen=True, tag_field="kind", tag="waiting"):
    """Nobody can be met; the names are those that are waited for."""

    owners: tuple[str, ...]
    words: str = ""


class Met(msgspec.Struct, frozen=True, tag_field="kind", tag="met"):
    """An owner is met, by the number of the meeting."""

    number: int
    owner: str


class Answered(msgspec.Struct, frozen=True, tag_field="kind", tag="answered"):
    """An owner has answered."""

    number: int
    owner: str


class Refused(msgspec.Struct, frozen=True, tag_field="kind", tag="refused"):
    """An owner has refused, and why; the words are the owner's own, made plain."""

    number: int
    owner: str
    reason: str
    words: str = ""


class Predicted(msgspec.Struct, frozen=True, tag_field="kind", tag="predicted"):
    """What ψ is to be expected after so many answers, worked out from answers behind noise.

    Args:
        answers: how many there were.
        relative_fitness: ψ that one training is as likely to exceed as not.
        interval: where ψ lies with a probability of 95 %.
        misfit: the probability that the public rows do not fit.
    """

    answers: int
    relative_fitness: float
    interval: tuple[float, float]
    misfit: float


class Charged(msgspec.Struct, frozen=True, tag_field="kind", tag="charged"):
    """Records have paid for a run: what they lost in all is in this ledger."""

    ledger: str
    epsilon: float
    delta: float
    unit: str = "record"
    adjacency: str = "replace-one"


class Done(msgspec.Struct, frozen=True, tag_field="kind", tag="done"):
    """The run is finished."""

    meetings: int
    refused: int = 0
    folder: str = ""


Event: TypeAlias = Note | Warned | Progress | Waiting | Met | Answered | Refused | Predicted | Charged | Done
Tell: TypeAlias = Callable[[Event], None]

_LINES: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def silent(_event: Event) -> None:
    """Takes note of nothing."""


def as_line(event: Event) -> bytes:
    r"""An event as one line of JSON.

    >>> as_line(Met(1, "bank"))
    b'{"kind":"met","number":1,"owner":"bank"}\n'
    """
    return msgspec.json.encode(event) + b"\n"


def from_line(line: bytes) -> Event:
    r"""An event as it was written.

    >>> from_line(b'{"kind":"refused","number":2,"owner":"bank","reason":"exhausted"}\n')
    Refused(number=2, owner='bank', reason='exhausted', words='')
    """
    return _LINES.decode(line)


def counting(tell: Tell, stage: str) -> Callable[[int, int], None]:
    """Tells how much of how much of a stage is done."""
    return lambda done, total: tell(Progress(stage, done, total))
