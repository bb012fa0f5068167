"""A trace: the times t_k and the owners i_k of a run's meetings, drawn or recorded, ready to be replayed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from copriv.errors import BadInput


class Meeting(msgspec.Struct, frozen=True, array_like=True):
    """At `time` the learner meets `owner`, an index from 0."""

    time: float
    owner: int


@dataclass(frozen=True, slots=True)
class Trace:
    """Meetings in order of time among a number of owners.

    >>> trace = Trace.of([0.0, 0.5], [1, 0], owners=2)
    >>> Trace.from_json(trace.to_json()) == trace
    True
    """

    owners: int
    meetings: tuple[Meeting, ...]

    def __post_init__(self) -> None:
        for k, meeting in enumerate(self.meetings):
            if not 0 <= meeting.owner < self.owners:
                raise BadInput(
                    f"meeting {k} is with owner {meeting.owner} of {self.owners}",
                    remedy=f"owners are numbered 0 to {self.owners - 1}",
                    value=meeting.owner,
                )
        if any(not earlier.time <= later.time for earlier, later in pairwise(self.meetings)):
            raise BadInput("the times of a trace go backwards", remedy="sort the meetings by time")

    @classmethod
    def of(cls, times: list[float], owners_met: list[int], *, owners: int) -> Trace:
        """From the two sequences t_k and i_k."""
        return cls(owners, tuple(Meeting(t, i) for t, i in zip(times, owners_met, strict=True)))

    def digest(self) -> str:
        """SHA-256 of the meetings, by which a run knows its schedule again."""
        return hashlib.sha256(self.to_json()).hexdigest()

    @classmethod
    def from_json(cls, text: bytes) -> Trace:
        """Read back what `to_json` wrote."""
        try:
            stored = msgspec.json.decode(text, type=_Stored)
        except msgspec.DecodeError as problem:
            raise BadInput(
                f"this is not a recorded schedule: {problem}", remedy="use the schedule.json of a run folder"
            ) from problem
        return cls(stored.owners, tuple(stored.meetings))

    def to_json(self) -> bytes:
        """The trace as text, to be kept with a run."""
        return msgspec.json.encode(_Stored(self.owners, list(self.meetings)))

    def answers_of(self, owner: int) -> int:
        """How often an owner is met."""
        return sum(meeting.owner == owner for meeting in self.meetings)

    def __len__(self) -> int:
        return len(self.meetings)

    def __iter__(self) -> Iterator[Meeting]:
        return iter(self.meetings)


class _Stored(msgspec.Struct):
    owners: int
    meetings: list[Meeting]
