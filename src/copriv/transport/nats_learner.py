"""The learner's side of the broker: who is there, whom to meet next, and one query at a time.

Everything here is heard from owners and therefore doubted: what cannot be read is ignored, what does not fit the terms
is turned away, who stays silent is passed over. The event loop runs only while the learner waits for somebody.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from copriv.errors import CoprivError, ProtocolError
from copriv.protocol import terms as agreed
from copriv.protocol.meeting import (
    Call,
    Claim,
    Hello,
    Notice,
    Purpose,
    Stage,
    TurnedAway,
    Welcome,
    decode_notice,
    encode_notice,
)
from copriv.protocol.messages import Query, Refusal, Reply, Silence
from copriv.protocol.wire import decode_reply, encode
from copriv.schedule.trace import Meeting
from copriv.transport import subjects
from copriv.transport.link import Link, Session, Unreachable, connect, pauses

if TYPE_CHECKING:
    from nats.aio.msg import Msg

Result = TypeVar("Result")

_SECONDS_TO_PROBE = 1.0
_SECONDS_BETWEEN_CALLS = 1.0
_SECONDS_FOR_FAREWELLS = 5.0


@dataclass(frozen=True, slots=True)
class Manners:
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
        suits: whether a guarantee with this δ has the kind of noise that the rule counts on.
        revive: is called before every attempt to connect, so that a broker of our own can be started again.
        settle: is given every new session, to listen there for what is not about meetings.
    """

    terms: str
    meeting: agreed.Meeting
    clock: agreed.Clock
    deadline: float
    admits: Callable[[str], bool]
    pick: Callable[[int], int]
    jitter: Callable[[], float]
    tell: Callable[[str], None]
    suits: Callable[[float], bool] = lambda _delta: True
    revive: Callable[[], None] = lambda: None
    settle: Callable[[Session], Coroutine[Any, Any, None]] | None = None


class NatsLearner:
    """A transport, and the company that it brings.

    Args:
        link: to the broker.
        manners: how to meet owners.
        instance: a fresh word for this process.
    """

    def __init__(self, link: Link, manners: Manners, instance: str) -> None:
        self._link = link
        self._manners = manners
        self._instance = instance
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._session: Session | None = None
        self._news = asyncio.Event()
        self._present: dict[str, Hello] = {}
        self._roster: dict[str, Hello] = {}
        self._names: list[str] = []
        self._places: dict[str, int] = {}
        self._dismissed: dict[str, str | None] = {}
        self._claims: deque[Claim] = deque()
        self._stage: Stage = "waiting"
        self._model: tuple[float, ...] = ()
        self._farewells: set[str] = set()
        self._number = 0
        self._last_roll = 0.0
        self._epoch = time.monotonic()

    # --- what the learner does ---------------------------------------------------------------------

    def open(self) -> None:
        """Connect, make sure that no other learner is at work, and call the roll."""
        self._run(self._connected())

    def gather(self, enough: Callable[[Mapping[str, Hello]], bool]) -> dict[str, Hello]:
        """Wait until enough owners are there, and tell who they are."""
        self._run(self._until(lambda: enough(self._present)))
        return dict(self._present)

    def begin(self, roster: Mapping[str, Hello], *, elapsed: float = 0.0) -> None:
        """From now on only these owners are met, in this order; `elapsed` seconds of the run have gone by before."""
        self._roster = dict(roster)
        self._names = list(roster)
        self._places = {name: place for place, name in enumerate(roster)}
        self._stage = "training"
        self._epoch = time.monotonic() - elapsed

    def dismiss(self, owner: str) -> None:
        """Never meet this owner again."""
        self._dismissed[owner] = None

    def send_away(self, owner: str) -> None:
        """Do not meet this owner again until somebody has looked: until another process of it says hello."""
        if owner in self._present and owner not in self._dismissed:
            self._dismissed[owner] = self._present[owner].instance

    def ask(self, query: Query) -> Reply | Silence:
        """Put a query to its owner and wait for the reply, until the deadline."""
        return self._run(self._ask(query))

    def ready(self, number: int) -> Meeting | None:
        """The owner to be met next, if one is there already."""
        self._number = number
        return self._meeting(self._choose(number))

    def wait(self, number: int) -> Meeting | None:
        """Wait for the owner to be met next; None if nobody will come any more."""
        return self._meeting(self._run(self._next(number)))

    def ahead(self, number: int) -> Meeting | None:
        """The owner to be met at a later number, where whom to meet is ours to choose."""
        return self._meeting(self._choose(number)) if self._chooses else None

    def visit(self, owner: int, *, absent: bool) -> Meeting | None:
        """A meeting with this very owner, there or (if so wished) absent; None if it is to be met no more."""
        name = self._names[owner]
        met = self._welcome(name) and (absent or name in self._present)
        return self._meeting(name) if met else None

    def end(
        self, model: Sequence[float], *, everybody: Sequence[str] = (), seconds: float = _SECONDS_FOR_FAREWELLS
    ) -> None:
        """Tell owners that it is over and give them the model: all that are there, or wait for everybody a while."""
        self._stage, self._model = "ended", tuple(model)
        self._run(self._say_goodbye(everybody, seconds))

    def close(self) -> None:
        """Leave."""
        self._run(self._stack.aclose())
        self._runner.close()

    @property
    def present(self) -> Mapping[str, Hello]:
        """Who is there."""
        return self._present

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._runner.get_loop().run_until_complete(work)

    # --- the link ----------------------------------------------------------------------------------

    async def _connected(self) -> Session:
        """The session, made anew if it was lost."""
        if self._session is not None and not self._session.lost.is_set():
            return self._session
        if self._session is not None:
            self._manners.tell("the link to the broker is lost; trying again")
        async for _ in pauses(self._manners.jitter):
            await self._stack.aclose()
            self._manners.revive()
            try:
                self._session = await self._stack.enter_async_context(connect(self._link, self._link.context()))
                await self._introduce(self._session)
            except Unreachable as problem:
                self._manners.tell(problem.problem)
                continue
            if not self._session.lost.is_set():
                break
        assert self._session is not None  # noqa: S101 - the loop above ends in no other way
        return self._session

    async def _introduce(self, session: Session) -> None:
        other = await session.request(subjects.LEARNER, self._instance.encode(), _SECONDS_TO_PROBE)
        if other is not None:
            raise CoprivError(
                "another learner is at work on this study",
                remedy="stop it first, or let it finish",
                value=other.decode(errors="replace"),
            )
        await session.client.subscribe(subjects.LEARNER, cb=self._on_learner)
        if self._manners.settle is not None:
            await self._manners.settle(session)
        await session.client.subscribe(subjects.EVERY_HELLO, cb=self._on_hello)
        await session.client.subscribe(subjects.EVERY_CLAIM, cb=self._on_claim)
        await self._call("roll")

    async def _call(self, purpose: Purpose, number: int = 0) -> None:
        if self._session is not None:
            call = Call(self._manners.terms, purpose, number)
            await self._session.publish(subjects.CALL, encode_notice(call))

    async def _call_the_roll(self) -> None:
        """Ask who is there, but not more often than owners can answer."""
        now = time.monotonic()
        if now - self._last_roll > _SECONDS_BETWEEN_CALLS:
            self._last_roll = now
            await self._call("roll")

    async def _until(self, condition: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait for news until a condition holds; False if the time is over before."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while not condition():
            await self._connected()
            left = _SECONDS_BETWEEN_CALLS if deadline is None else min(deadline - time.monotonic(), 1.0)
            if left <= 0:
                return False
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._news.wait()
        return True

    # --- one query ---------------------------------------------------------------------------------

    async def _ask(self, query: Query) -> Reply | Silence:
        session, name = await self._connected(), query.owner
        if not await self._until(lambda: name in self._present, self._manners.deadline):
            self._manners.tell(f"{name} is not there")
            await self._call_the_roll()
            return Silence(name)
        if (self._manners.meeting, self._manners.clock) == ("broadcast", "always"):
            await self._call("work", self._number + 1)  # whoever is ready for the next meeting may say so meanwhile
        subject = subjects.query(name, self._present[name].instance)
        data = await session.request(subject, encode(query), self._manners.deadline)
        if data is None:
            if not session.lost.is_set():
                self._present.pop(name, None)
                self._manners.tell(f"{name} does not reply")
                await self._call_the_roll()
            return Silence(name)
        try:
            return decode_reply(data)
        except ProtocolError as problem:
            return Refusal(query.id, name, "garbage", problem.problem)

    # --- whom to meet ------------------------------------------------------------------------------

    def _meeting(self, owner: str | None) -> Meeting | None:
        return None if owner is None else Meeting(time.monotonic() - self._epoch, self._places[owner])

    def _choose(self, number: int) -> str | None:
        if self._session is None or self._session.lost.is_set():
            return None
        if self._chooses:
            return self._anybody()
        while self._claims:
            claim = self._claims.popleft()
            if self._welcome(claim.owner) and claim.number in {0, number}:
                self._claims = deque(kept for kept in self._claims if kept.owner != claim.owner or kept.number == 0)
                return claim.owner
        return None

    @property
    def _chooses(self) -> bool:
        """Whether whom to meet is ours to choose."""
        return (self._manners.meeting, self._manners.clock) == ("request", "always")

    def _anybody(self) -> str | None:
        """One of those who are there, each as likely as the others."""
        there = [name for name in self._present if name in self._places and name not in self._dismissed]
        while there:
            name = there.pop(self._manners.pick(len(there)))
            if self._manners.admits(name):
                return name
        return None

    def _welcome(self, name: str) -> bool:
        return name in self._places and name not in self._dismissed and self._manners.admits(name)

    async def _next(self, number: int) -> str | None:
        """Wait for somebody; in a broadcast study, after calling for work."""
        await self._connected()
        while any(self._manners.admits(name) for name in self._places if self._dismissed.get(name, "") is not None):
            if self._manners.meeting == "broadcast":
                await self._call("work", number)
            elif self._manners.clock == "always":
                await self._call_the_roll()
            chosen: list[str] = []

            def somebody(chosen: list[str] = chosen) -> bool:
                found = self._choose(number)
                chosen.extend([found] if found else [])
                return bool(chosen)

            if await self._until(somebody, _SECONDS_BETWEEN_CALLS):
                return chosen[0]
        return None

    async def _say_goodbye(self, everybody: Sequence[str], seconds: float) -> None:
        await self._connected()
        await self._call("end")
        invited = {name for name in {*everybody, *self._present} if self._manners.admits(name)}
        await self._until(lambda: self._farewells >= invited, seconds)

    # --- what owners say ---------------------------------------------------------------------------

    async def _on_learner(self, message: Msg) -> None:
        if message.data != self._instance.encode() and message.reply.startswith(f"{subjects.LEARNER_INBOX}."):
            await message.respond(self._instance.encode())

    async def _on_claim(self, message: Msg) -> None:
        claim = _read(message.data)
        name = subjects.sender(message.subject)
        if not isinstance(claim, Claim) or claim.owner != name or claim.terms != self._manners.terms:
            return
        hello = self._present.get(name)
        if hello is not None and hello.instance == claim.instance:
            self._claims.append(claim)
            self._news.set()

    async def _on_hello(self, message: Msg) -> None:
        hello = _read(message.data)
        if not isinstance(hello, Hello) or hello.owner != subjects.sender(message.subject):
            return
        if not message.reply.startswith(f"{subjects.inbox(hello.owner)}."):
            return  # the owner would have us speak for it somewhere else
        problem = self._objection(hello) or await self._duplicate(hello)
        if problem is not None:
            self._manners.tell(f"{hello.owner} is turned away: {problem}")
            await message.respond(encode_notice(TurnedAway(self._manners.terms, problem, final=True)))
            return
        if hello.owner not in self._present and self._stage != "ended":
            self._manners.tell(f"{hello.owner} is here, with {hello.records:,} records")
        self._present[hello.owner] = hello
        if self._dismissed.get(hello.owner) not in {None, hello.instance}:
            del self._dismissed[hello.owner]
        await message.respond(encode_notice(Welcome(self._manners.terms, self._stage, self._model)))
        if self._stage == "ended":
            self._farewells.add(hello.owner)
        self._news.set()

    def _objection(self, hello: Hello) -> str | None:
        """Why an owner has no place here."""
        if hello.terms != self._manners.terms:
            return "its approved terms are not those of this study"
        if not self._manners.admits(hello.owner):
            return "its invitation was revoked"
        if not self._manners.suits(hello.delta):
            return "its delta is not of the kind that the study's rule asks for"
        if not self._roster:
            return None
        known = self._roster.get(hello.owner)
        if known is None:
            return "the study has begun without it"
        if _figures(known) != _figures(hello):
            return "its records or promises are not those with which the study began"
        return None

    async def _duplicate(self, hello: Hello) -> str | None:
        """Whether another process serves under this name; one that is gone is replaced."""
        known = self._present.get(hello.owner)
        if known is None or known.instance == hello.instance or self._session is None:
            return None
        reply = await self._session.request(subjects.query(hello.owner, known.instance), b"", _SECONDS_TO_PROBE)
        return None if reply is None else "another process serves under this name"


def _figures(hello: Hello) -> tuple[object, ...]:
    return hello.records, hello.nano_epsilon, hello.delta, hello.answers


def _read(data: bytes) -> Notice | None:
    try:
        return decode_notice(data)
    except ProtocolError:
        return None
