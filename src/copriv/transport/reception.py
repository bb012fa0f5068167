"""Who is there, and whom to meet: what the learner makes of owners' hellos and claims.

Everything here is heard from owners and therefore doubted. What cannot be read is ignored, what does not fit the terms
is turned away. Nothing that one owner says makes another one wait: whatever takes time is done on the side, once an
owner, and each owner is heard only so often.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from copriv.errors import ProtocolError
from copriv.protocol.meeting import (
    LONGEST_HELLO,
    VERSION,
    Claim,
    Hello,
    Notice,
    Stage,
    TurnedAway,
    Welcome,
    decode_notice,
    encode_notice,
)
from copriv.protocol.messages import LONGEST_TEXT
from copriv.protocol.text import plain
from copriv.transport import subjects
from copriv.transport.connection_policy import Account, ConnectionPolicy, Sight

_MOST_CLAIMS = 16
_MOST_FIGURES = 8


class Message(Protocol):
    """What the broker brings."""

    @property
    def subject(self) -> str:
        """Where it was said."""

    @property
    def reply(self) -> str:
        """Where an answer is expected."""

    @property
    def data(self) -> bytes:
        """What was said."""


class Reception:
    """Hears hellos and claims, and knows who is there.

    Args:
        manners: how to meet owners.
        speak: says something on a subject; it never fails.
        probe: whether a process of an owner replies on a subject.
        clock: tells the time in seconds.
    """

    def __init__(
        self,
        manners: ConnectionPolicy,
        speak: Callable[[str, bytes], Awaitable[None]],
        probe: Callable[[str], Awaitable[bool]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._manners, self._speak, self._probe, self._clock = manners, speak, probe, clock
        self.news = asyncio.Event()
        self.present: dict[str, Hello] = {}
        self.names: list[str] = []
        self.places: dict[str, int] = {}
        self.farewells: set[str] = set()
        self._roster: dict[str, Hello] = {}
        self._dismissed: dict[str, str | None] = {}
        self.expelled: set[str] = set()
        self._claims: deque[Claim] = deque()
        self._pending: Counter[str] = Counter()
        self._chosen: Counter[str] | None = None
        self._accounts: dict[str, Account] = {}
        self._stage: Stage = "waiting"
        self._model: tuple[float, ...] = ()

    # --- what the learner decides ------------------------------------------------------------------

    def begin(self, roster: Mapping[str, Hello]) -> None:
        """From now on only these owners are met, in this order."""
        self._roster, self.names = dict(roster), list(roster)
        self.places = {name: place for place, name in enumerate(roster)}
        self._stage = "training"

    def prefer(self, answered: Mapping[str, int] | None) -> None:
        """From now on, of several that are there, meet who was met least often; None for no such preference."""
        self._chosen = None if answered is None else Counter(answered)

    def end(self, model: tuple[float, ...]) -> None:
        """From now on a hello is answered with the model."""
        self._stage, self._model = "ended", model

    def dismiss(self, owner: str) -> None:
        """Never meet this owner again."""
        self._dismissed[owner] = None

    def expel(self, owner: str) -> None:
        """Never meet this owner again, and tell it so."""
        self.dismiss(owner)
        self.expelled.add(owner)
        self.present.pop(owner, None)

    def send_away(self, owner: str) -> None:
        """Do not meet this owner again until another process of it says hello."""
        if owner in self.present and owner not in self._dismissed:
            self._dismissed[owner] = self.present[owner].instance
            self._account(owner).send_away(self._clock())

    def note_reply(self, owner: str) -> None:
        """It replies."""
        self._account(owner).silences = 0

    def note_silence(self, owner: str) -> None:
        """It does not reply: until it says hello again, it is not there."""
        self.present.pop(owner, None)
        self._account(owner).stay_silent(self._clock(), self._manners.deadline)
        self._see(owner, "silent")

    async def close(self) -> None:
        """Let go of hellos that are still considered."""
        visits = [account.visit for account in self._accounts.values() if account.visit is not None]
        for visit in visits:
            visit.cancel()
        await asyncio.gather(*visits, return_exceptions=True)

    # --- whom to meet ------------------------------------------------------------------------------

    def choose(self, number: int) -> str | None:
        """Somebody to be met now: one of those who are there, or who has claimed this meeting."""
        name = self._anybody() if self._manners.chooses else self._claimant(number)
        if name is not None and self._chosen is not None:
            self._chosen[name] += 1
        return name

    def is_welcome(self, name: str) -> bool:
        """Whether an owner is to be met at all."""
        return name in self.places and name not in self._dismissed and self._manners.admits(name)

    def may_come(self) -> bool:
        """Whether anybody is left who might be met, now or later."""
        return any(self._manners.admits(name) for name in self.places if self._dismissed.get(name, "") is not None)

    def _anybody(self) -> str | None:
        """One of those who are there: of those met least often, if that is preferred, each as likely as the others."""
        there = [name for name in self.present if name in self.places and name not in self._dismissed]
        while there:
            likely = self._least_met(there)
            name = likely[self._manners.pick(len(likely))]
            if self._is_due(name) and self._manners.admits(name):
                return name
            there.remove(name)
        return None

    def _least_met(self, names: list[str]) -> list[str]:
        if self._chosen is None:
            return names
        fewest = min(self._chosen[name] for name in names)
        return [name for name in names if self._chosen[name] == fewest]

    def _claimant(self, number: int) -> str | None:
        while self._claims:
            claim = self._claims.popleft()
            self._pending[claim.owner] -= 1
            if self._is_due(claim.owner) and self.is_welcome(claim.owner) and claim.number in {0, number}:
                self._claims = deque(kept for kept in self._claims if kept.owner != claim.owner or kept.number == 0)
                self._pending = Counter(kept.owner for kept in self._claims)
                return claim.owner
        return None

    def _is_due(self, name: str) -> bool:
        account = self._accounts.get(name)
        return account is None or not account.until or account.until <= self._clock()

    # --- what owners say ---------------------------------------------------------------------------

    async def on_claim(self, message: Message) -> None:
        """An owner is ready to be asked."""
        name = subjects.sender(message.subject)
        hello, account = self.present.get(name), self._account(name)
        if hello is None or not self._hears(account, hello) or self._pending[name] >= _MOST_CLAIMS:
            return
        claim = _read(message.data)
        if not isinstance(claim, Claim) or (claim.owner, claim.terms) != (name, self._manners.terms):
            return
        if hello.instance == claim.instance:
            self._claims.append(claim)
            self._pending[name] += 1
            self.news.set()

    def _hears(self, account: Account, hello: Hello) -> bool:
        if self._manners.clock == "poisson":
            account.tick(self._roster.get(hello.owner, hello).rate)
        return account.claims.take(self._clock())

    async def on_hello(self, message: Message) -> None:
        """An owner is there."""
        name = subjects.sender(message.subject)
        account = self._account(name)
        if not account.hellos.take(self._clock()) or account.visit is not None:
            return
        if not message.reply.startswith(f"{subjects.inbox(name)}."):
            return  # the owner would have us speak for it somewhere else
        hello = _read(message.data)
        if not isinstance(hello, Hello) or hello.owner != name:
            await self._turn_away(name, message.reply, "its hello is not one of this protocol")
        elif self._takes_time(hello, account):
            account.visit = asyncio.create_task(self._consider(hello, message.reply, account))
        else:
            await self._receive(hello, message.reply, self._objection(hello, account))

    async def _consider(self, hello: Hello, reply: str, account: Account) -> None:
        try:
            if self._is_unjudged(hello, account):
                assert self._manners.objects is not None  # noqa: S101 - else nothing is left to be judged
                account.judged[_figures(hello)] = await asyncio.to_thread(self._manners.objects, hello)
            problem = self._objection(hello, account)
            if problem is None and await self._is_duplicate(hello):
                problem = "another process serves under this name"
            await self._receive(hello, reply, problem)
        except Exception as problem:  # noqa: BLE001 - nobody waits for this task: what goes wrong is told here
            self._tell(hello.owner, f"a hello of {hello.owner} could not be considered: {problem!r}")
        finally:
            account.visit = None

    def _takes_time(self, hello: Hello, account: Account) -> bool:
        known = self.present.get(hello.owner)
        return (known is not None and known.instance != hello.instance) or self._is_unjudged(hello, account)

    def _is_unjudged(self, hello: Hello, account: Account) -> bool:
        """Whether nobody has looked at these figures yet: only before a study begins, and not without end."""
        fresh = not self._roster and _figures(hello) not in account.judged and len(account.judged) < _MOST_FIGURES
        return self._manners.objects is not None and fresh and self._refusal(hello) is None

    def _refusal(self, hello: Hello) -> str | None:
        if hello.version != VERSION:
            return (
                f"it speaks version {hello.version} of this protocol, and we speak {VERSION}: install the same copriv"
            )
        if hello.terms != self._manners.terms:
            return "its approved terms are not those of this study"
        if hello.owner in self.expelled:
            return "it was expelled: an answer was not what it had promised"
        return None if self._manners.admits(hello.owner) else "its invitation was revoked"

    def _objection(self, hello: Hello, account: Account) -> str | None:
        """Why an owner has no place here."""
        refusal = self._refusal(hello)
        if refusal is not None:
            return refusal
        if not self._roster:
            return account.judged.get(_figures(hello), self._unknown_figures())
        known = self._roster.get(hello.owner)
        if known is None:
            return "the study has begun without it"
        if _figures(known) != _figures(hello):
            return "its records or promises are not those with which the study began"
        return None

    def _unknown_figures(self) -> str | None:
        return None if self._manners.objects is None else "it says other figures of itself again and again"

    async def _is_duplicate(self, hello: Hello) -> bool:
        """Whether another process serves under this name; one that is gone is replaced."""
        known = self.present.get(hello.owner)
        if known is None or known.instance == hello.instance:
            return False
        return await self._probe(subjects.query(hello.owner, known.instance))

    async def _receive(self, hello: Hello, reply: str, problem: str | None) -> None:
        """Welcome an owner, or turn it away."""
        name, account = hello.owner, self._account(hello.owner)
        if problem is not None:
            await self._turn_away(name, reply, problem)
            return
        if name not in self.present and self._stage != "ended":
            self._tell(name, f"{name} is here, with {hello.records:,} records")
        self.present[name] = hello
        self._see(name, "here")
        if self._dismissed.get(name) not in {None, hello.instance} and account.until <= self._clock():
            del self._dismissed[name]
        receipt = self._manners.recall(hello.ledger) if hello.ledger else None
        await self._speak(reply, encode_notice(Welcome(self._manners.terms, self._stage, self._model, receipt)))
        if self._stage == "ended":
            self.farewells.add(name)
        self.news.set()

    async def _turn_away(self, name: str, reply: str, problem: str) -> None:
        words = plain(problem, most=LONGEST_TEXT)
        self._tell(name, f"{name} is turned away: {words}")
        if name not in self.present:  # another process of it may be at work
            self._see(name, "turned away")
        await self._speak(reply, encode_notice(TurnedAway(self._manners.terms, words, final=True)))
        if name in self.expelled:
            self.farewells.add(name)
            self.news.set()

    def _tell(self, name: str, words: str) -> None:
        """Say what has changed about an owner, once."""
        account, words = self._account(name), plain(words, most=2 * LONGEST_TEXT)
        if words != account.told and account.words.take(self._clock()):
            account.told = words
            self._manners.tell(words)

    def _see(self, name: str, sight: Sight) -> None:
        """Pass on how an owner is seen, when that changes."""
        account = self._account(name)
        if account.seen != sight:
            account.seen = sight
            self._manners.sees(name, sight)

    def _account(self, name: str) -> Account:
        return self._accounts.setdefault(name, Account())


def _figures(hello: Hello) -> tuple[object, ...]:
    return hello.records, hello.nano_epsilon, hello.delta, hello.accountant, hello.answers


def _read(data: bytes) -> Notice | None:
    if len(data) > LONGEST_HELLO:
        return None
    try:
        return decode_notice(data)
    except ProtocolError:
        return None
