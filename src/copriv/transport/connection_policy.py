"""How the learner meets owners, and how much it puts up with from each of them.

Every owner has an account of its own. Whoever shouts is not heard for a while, and nobody else notices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from copriv.protocol import terms as agreed
from copriv.protocol.meeting import Hello
from copriv.transport.link import Session

_HELLOS_PER_SECOND, _HELLOS_AT_ONCE = 5.0, 20.0
_CLAIMS_PER_SECOND, _CLAIMS_AT_ONCE = 5000.0, 200.0
_TICKS_AT_ONCE = 20.0
_WORDS_PER_SECOND, _WORDS_AT_ONCE = 0.2, 10.0
_PATIENT_SILENCES = 3
_LONGEST_PAUSE = 3600.0

Sight: TypeAlias = Literal["here", "silent", "turned away"]


@dataclass(frozen=True, slots=True)
class ConnectionPolicy:
    """How the learner meets owners.

    Args:
        terms: digest of the study's terms.
        meeting: who speaks first.
        clock: whether owners are always on.
        deadline: seconds that an owner has for a reply.
        admits: whether an owner is still invited.
        pick: draws a whole number below its argument.
        jitter: draws a number between 0 and 1.
        tell: is told what happens, in words.
        objects: says why an owner that says hello has no place, or None; it may take its time.
        revive: is called before every attempt to connect, so that a broker of our own can be started again.
        settle: is given every new session, to listen there for what is not about meetings.
        recall: the newest receipt of a ledger, if the learner has one.
        sees: is told of every owner that comes, falls silent or is turned away, when that changes.
    """

    terms: str
    meeting: agreed.Meeting
    clock: agreed.Clock
    deadline: float
    admits: Callable[[str], bool]
    pick: Callable[[int], int]
    jitter: Callable[[], float]
    tell: Callable[[str], None]
    objects: Callable[[Hello], str | None] | None = None
    revive: Callable[[], None] = lambda: None
    settle: Callable[[Session], Coroutine[Any, Any, None]] | None = None
    recall: Callable[[str], str | None] = lambda _ledger: None
    sees: Callable[[str, Sight], None] = lambda _owner, _sight: None

    @property
    def chooses(self) -> bool:
        """Whether whom to meet is the learner's to choose."""
        return (self.meeting, self.clock) == ("request", "always")


@dataclass(slots=True)
class Bucket:
    """So many at once, and so many a second after that.

    >>> bucket = Bucket(rate=1.0, most=2.0)
    >>> [bucket.take(now) for now in (0.0, 0.0, 0.0, 0.5, 1.0, 1.5)]
    [True, True, False, False, True, False]
    """

    rate: float
    most: float
    level: float | None = None
    filled: float = 0.0

    def take(self, now: float) -> bool:
        """Take one, if there is one."""
        level = self.most if self.level is None else min(self.most, self.level + self.rate * (now - self.filled))
        self.filled, enough = now, level >= 1
        self.level = level - 1 if enough else level
        return enough


@dataclass(slots=True)
class Account:
    """What the learner remembers of one owner's behaviour.

    Args:
        hellos: how many hellos are heard.
        claims: how many claims are heard; of a ticking clock, not many more than it was said to tick.
        visit: a hello of it that is being considered; at most one.
        judged: what was objected to the figures in its hellos.
        told: what was told of it last, so that it is told once.
        seen: how it was seen last, likewise.
        words: how often something is told of it.
        silences: how many queries it has left without a reply, one after the other.
        absences: how often it was sent away.
        until: when it may be met again.
    """

    hellos: Bucket = field(default_factory=lambda: Bucket(_HELLOS_PER_SECOND, _HELLOS_AT_ONCE))
    claims: Bucket = field(default_factory=lambda: Bucket(_CLAIMS_PER_SECOND, _CLAIMS_AT_ONCE))
    visit: asyncio.Task[None] | None = None
    judged: dict[tuple[object, ...], str | None] = field(default_factory=dict)
    told: str = ""
    seen: Sight | None = None
    words: Bucket = field(default_factory=lambda: Bucket(_WORDS_PER_SECOND, _WORDS_AT_ONCE))
    silences: int = 0
    absences: int = 0
    until: float = 0.0

    def tick(self, rate: float) -> None:
        """Hear no more claims than a clock of this rate makes: twice as many would be a chance of one in 10¹¹."""
        self.claims = Bucket(2 * rate, _TICKS_AT_ONCE) if self.claims.rate != 2 * rate else self.claims

    def stay_silent(self, now: float, deadline: float) -> None:
        """It has not replied in time; whoever does so again and again is met less and less often."""
        self.silences += 1
        if self.silences >= _PATIENT_SILENCES:
            self.until = now + min(deadline * 2.0 ** (self.silences - _PATIENT_SILENCES), _LONGEST_PAUSE)

    def send_away(self, now: float) -> None:
        """It has refused; the first time another process may come at once, then later and later."""
        self.absences += 1
        self.until = now + min(2.0 ** (self.absences - 1) - 1, _LONGEST_PAUSE)
