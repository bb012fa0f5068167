"""The learner's side of the broker: the link, and one query at a time to whoever is met.

Who is there and whom to meet is the matter of the `reception`. Who stays silent is passed over. The event loop runs
only while the learner waits for somebody. Nothing that is heard, however odd, ends the learner.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from copriv.errors import CoprivError, ProtocolError
from copriv.protocol.meeting import Call, Hello, Purpose, encode_notice
from copriv.protocol.messages import Query, Refusal, Reply, Silence
from copriv.protocol.text import plain
from copriv.protocol.wire import decode_reply, encode
from copriv.schedule.trace import Meeting
from copriv.transport import subjects
from copriv.transport.connection_policy import ConnectionPolicy
from copriv.transport.link import Link, Session, Unreachable, connect, pauses
from copriv.transport.reception import Reception

if TYPE_CHECKING:
    from nats.aio.msg import Msg

Result = TypeVar("Result")

_SECONDS_TO_PROBE = 1.0
_SECONDS_BETWEEN_CALLS = 1.0
_SECONDS_FOR_FAREWELLS = 5.0
_LONGEST_TELLING = 1000


def read_reply(query: Query, data: bytes) -> Reply:
    """What an owner has replied to a query; what cannot be read is garbage."""
    try:
        return decode_reply(data)
    except ProtocolError as problem:
        return Refusal(query.id, query.owner, "garbage", problem.problem)


class NatsLearner:
    """A transport, and the company that it brings.

    Args:
        link: to the broker.
        manners: how to meet owners.
        instance: a fresh word for this process.
    """

    def __init__(self, link: Link, manners: ConnectionPolicy, instance: str) -> None:
        self._link = link
        self._manners = manners
        self._instance = instance
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._session: Session | None = None
        self._reception = Reception(manners, self._speak, self._replies)
        self._number = 0
        self._last_roll = 0.0
        self._epoch = time.monotonic()

    # --- what the learner does ---------------------------------------------------------------------

    def open(self) -> None:
        """Connect, make sure that no other learner is at work, and call the roll."""
        self._run(self._connected())

    def gather(self, enough: Callable[[Mapping[str, Hello]], bool]) -> dict[str, Hello]:
        """Wait until enough owners are there, and tell who they are."""
        self._run(self._until(lambda: enough(self.present)))
        return dict(self.present)

    def begin(
        self, roster: Mapping[str, Hello], *, elapsed: float = 0.0, answered: Mapping[str, int] | None = None
    ) -> None:
        """From now on only these owners are met, in this order.

        Args:
            roster: the owners.
            elapsed: seconds of the run that have gone by before.
            answered: how often each has answered: who has done so least is met first. None for no such preference.
        """
        self._reception.begin(roster)
        self._reception.prefer(answered)
        self._epoch = time.monotonic() - elapsed

    def dismiss(self, owner: str) -> None:
        """Never meet this owner again."""
        self._reception.dismiss(owner)

    def expel(self, owner: str, roster: Mapping[str, Hello]) -> None:
        """Go on with these owners, without one that was caught lying; it is told so when it says hello."""
        self._reception.expel(owner)
        self._reception.begin(roster)
        self._run(self._call("roll"))

    def send_away(self, owner: str) -> None:
        """Do not meet this owner again until somebody has looked: until another process of it says hello."""
        self._reception.send_away(owner)

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
        return self._meeting(self._choose(number)) if self._manners.chooses else None

    def visit(self, owner: int, *, absent: bool) -> Meeting | None:
        """A meeting with this very owner, there or (if so wished) absent; None if it is to be met no more."""
        name = self._reception.names[owner]
        met = self._reception.is_welcome(name) and (absent or name in self.present)
        return self._meeting(name) if met else None

    def end(
        self, model: Sequence[float], *, everybody: Sequence[str] = (), seconds: float = _SECONDS_FOR_FAREWELLS
    ) -> None:
        """Tell owners that it is over and give them the model: all that are there, or wait for everybody a while."""
        self._reception.end(tuple(model))
        self._run(self._say_goodbye(everybody, seconds))

    def close(self) -> None:
        """Leave."""
        self._run(self._reception.close())
        self._run(self._stack.aclose())
        self._runner.close()

    @property
    def present(self) -> Mapping[str, Hello]:
        """Who is there."""
        return self._reception.present

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._runner.get_loop().run_until_complete(work)

    # --- the link ----------------------------------------------------------------------------------

    async def _connected(self) -> Session:
        """The session, made anew if it was lost."""
        if self._session is not None and not self._session.lost.is_set():
            return self._session
        if self._session is not None:
            self._tell("the link to the broker is lost; trying again")
        async for _ in pauses(self._manners.jitter):
            await self._stack.aclose()
            self._manners.revive()
            try:
                self._session = await self._stack.enter_async_context(connect(self._link, self._link.context()))
                await self._introduce(self._session)
            except Unreachable as problem:
                self._tell(problem.problem)
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
        await session.client.subscribe(subjects.LEARNER, cb=self._heed(self._on_learner))
        if self._manners.settle is not None:
            await self._manners.settle(session)
        await session.client.subscribe(subjects.EVERY_HELLO, cb=self._heed(self._reception.on_hello))
        await session.client.subscribe(subjects.EVERY_CLAIM, cb=self._heed(self._reception.on_claim))
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
            self._reception.news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._reception.news.wait()
        return True

    # --- one query ---------------------------------------------------------------------------------

    async def _ask(self, query: Query) -> Reply | Silence:
        session, name = await self._connected(), query.owner
        if not await self._until(lambda: name in self.present, self._manners.deadline):
            self._tell(f"{name} is not there")
            await self._call_the_roll()
            return Silence(name)
        if (self._manners.meeting, self._manners.clock) == ("broadcast", "always"):
            await self._call("work", self._number + 1)  # whoever is ready for the next meeting may say so meanwhile
        subject = subjects.query(name, self.present[name].instance)
        data = await session.request(subject, encode(query), self._manners.deadline)
        if data is None:
            if not session.lost.is_set():
                self._reception.note_silence(name)
                self._tell(f"{name} does not reply")
                await self._call_the_roll()
            return Silence(name)
        self._reception.note_reply(name)
        return read_reply(query, data)

    # --- whom to meet ------------------------------------------------------------------------------

    def _meeting(self, owner: str | None) -> Meeting | None:
        return None if owner is None else Meeting(time.monotonic() - self._epoch, self._reception.places[owner])

    def _choose(self, number: int) -> str | None:
        return None if self._session is None or self._session.lost.is_set() else self._reception.choose(number)

    async def _next(self, number: int) -> str | None:
        """Wait for somebody; in a broadcast study, after calling for work."""
        await self._connected()
        while self._reception.may_come():
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
        there = {*everybody, *self.present, *self._reception.expelled}
        invited = {name for name in there if self._manners.admits(name)}
        await self._until(lambda: self._reception.farewells >= invited, seconds)

    # --- hearing and speaking ----------------------------------------------------------------------

    def _heed(self, hear: Callable[[Msg], Awaitable[None]]) -> Callable[[Msg], Awaitable[None]]:
        """Whatever goes wrong with a message is told; it neither ends the learner nor goes unnoticed."""

        async def heed(message: Msg) -> None:
            try:
                await hear(message)
            except Exception as problem:  # noqa: BLE001 - see above
                self._tell(f"a message on {message.subject} could not be handled: {problem!r}")

        return heed

    async def _on_learner(self, message: Msg) -> None:
        if message.data != self._instance.encode() and message.reply.startswith(f"{subjects.LEARNER_INBOX}."):
            await self._speak(message.reply, self._instance.encode())

    async def _speak(self, subject: str, data: bytes) -> None:
        if self._session is not None:
            await self._session.publish(subject, data)

    async def _replies(self, subject: str) -> bool:
        session = self._session
        return session is not None and await session.request(subject, b"", _SECONDS_TO_PROBE) is not None

    def _tell(self, words: str) -> None:
        self._manners.tell(plain(words, most=_LONGEST_TELLING))
