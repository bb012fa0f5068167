"""An owner's side of the broker: dial out, say hello, answer, and come back after every break.

Nothing listens for connections on the owner's machine. Whatever happens to the broker, the learner or the link, the
owner's account is its ledger: a query that comes again is answered with the stored bytes, for free.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from copriv.errors import CoprivError, LedgerFailure, ProtocolError
from copriv.protocol.meeting import Call, Claim, Hello, Notice, TurnedAway, Welcome, decode_notice, encode_notice
from copriv.protocol.terms import Clock, Meeting
from copriv.transport import subjects
from copriv.transport.link import Link, Session, Unreachable, Unwelcome, connect, pauses

if TYPE_CHECKING:
    from nats.aio.msg import Msg

_SECONDS_FOR_A_WELCOME = 3.0
_SECONDS_BETWEEN_HELLOS = 15.0
_SECONDS_WITHOUT_LEARNER = 1.0
_SECONDS_TO_HEED = 0.1
_MOST_REFUSED_LINKS = 8


class Dismissed(CoprivError):
    """The learner has no place for this owner, and asking again is of no use."""


Handle: TypeAlias = Callable[[bytes], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class OwnerEndpoint:
    """What an owner brings to a study.

    Args:
        hello: who it is and what it promises.
        handle: query in, reply out, as bytes.
        meeting: who speaks first.
        clock: always on, or ticking.
        wait: draws the seconds to the clock's next tick.
        jitter: draws a number between 0 and 1.
        tell: is told what happens, in words.
        contact: is told of every query that was replied to, and with what.
        attend: goes on beside every session, and keeps our certificate young.
        witnesses: whether our ledger knows a receipt.
        paused: whether nothing may be said now; nobody is connected then.
    """

    hello: Hello
    handle: Handle
    meeting: Meeting
    clock: Clock
    wait: Callable[[], float]
    jitter: Callable[[], float]
    tell: Callable[[str], None]
    contact: Callable[[bytes], None]
    attend: Callable[[Session], Coroutine[Any, Any, None]] | None = None
    witnesses: Callable[[str], bool] = lambda _receipt: True
    paused: Callable[[], bool] = lambda: False


def at_once(handle: Callable[[bytes], bytes]) -> Handle:
    """Replies that take no time worth mentioning: the session waits for each."""

    async def reply(data: bytes) -> bytes:
        return handle(data)

    return reply


async def serve(desk: OwnerEndpoint, link: Link) -> tuple[float, ...]:
    """Answer until the study ends, and return its model.

    Raises:
        Dismissed: the learner turns this owner away for good.
        Unwelcome: the broker does not accept our certificate, again and again.
        LedgerFailure: the ledger cannot be used; nothing was said.
    """
    refused = 0
    while True:
        await _until_resumed(desk)
        async for _ in pauses(desk.jitter):
            if desk.paused():
                break
            try:
                async with connect(link, link.context()) as session:
                    refused = 0
                    desk.tell("connected to the broker")
                    model = await _Visit(desk, session).stay()
                if model is not None:
                    return model
                if not desk.paused():
                    desk.tell("the link to the broker is lost; trying again")
                break
            except Unreachable as problem:
                desk.tell(problem.problem)
            except Unwelcome as problem:
                refused += 1
                desk.tell(problem.problem)
                if refused >= _MOST_REFUSED_LINKS:
                    raise


async def _until_resumed(desk: OwnerEndpoint) -> None:
    """Stay away for as long as the owner is paused."""
    if desk.paused():
        desk.tell("paused: we are not connected, and nothing is answered until somebody resumes")
        while desk.paused():  # noqa: ASYNC110 - another process sets and clears the mark
            await asyncio.sleep(_SECONDS_TO_HEED)
        desk.tell("resumed")


@dataclass(slots=True)
class _Visit:
    """One session with the broker, from hello to its end."""

    desk: OwnerEndpoint
    session: Session
    outcome: asyncio.Future[tuple[float, ...] | None] = field(init=False)
    roll: asyncio.Event = field(default_factory=asyncio.Event)
    welcome: asyncio.Event = field(default_factory=asyncio.Event)
    claiming: asyncio.Task[None] | None = None

    async def stay(self) -> tuple[float, ...] | None:
        """Until the study ends (its model), or the link is lost or the owner paused (None)."""
        self.outcome = asyncio.get_running_loop().create_future()
        hello = self.desk.hello
        await self.session.client.subscribe(subjects.query(hello.owner, hello.instance), cb=self._answer)
        await self.session.client.subscribe(subjects.CALL, cb=self._listen)
        beside = (self._greet(), self._tick(), self._watch(), self._attend(), self._heed())
        tasks = [asyncio.create_task(work) for work in beside]
        try:
            return await self.outcome
        finally:
            await _stop([*tasks, *([self.claiming] if self.claiming else [])])

    async def _answer(self, message: Msg) -> None:
        if self.desk.paused():
            return
        try:
            reply = await self.desk.handle(message.data)
        except Exception as problem:  # noqa: BLE001 - a ledger that fails must end the process, not only this answer
            self._fail(problem)
            return
        if self.desk.paused():  # it is kept, and goes out for free when the same is asked again
            return
        await self.session.publish(message.reply, reply)
        self.desk.contact(reply)

    async def _listen(self, message: Msg) -> None:
        call = _read(message.data)
        if not isinstance(call, Call) or call.terms != self.desk.hello.terms:
            return
        if call.purpose != "work":
            self.roll.set()
        else:
            if self.claiming is not None:
                self.claiming.cancel()
            self.claiming = asyncio.create_task(self._claim(call.number))

    async def _claim(self, number: int) -> None:
        """Claim a meeting: at once, or when the clock ticks."""
        if self.desk.clock == "poisson":
            await asyncio.sleep(self.desk.wait())
        hello = self.desk.hello
        claim = Claim(hello.terms, hello.owner, hello.instance, number)
        await self.session.publish(subjects.claim(hello.owner), encode_notice(claim))

    async def _tick(self) -> None:
        """In a request study with clocks: ask to be met at every tick."""
        if (self.desk.meeting, self.desk.clock) == ("request", "poisson"):
            await self.welcome.wait()
            while True:
                await self._claim(0)

    async def _greet(self) -> None:
        """Say hello at once, when the learner calls the roll, and now and then."""
        hello, missed = self.desk.hello, False
        while True:
            self.roll.clear()
            data = await self.session.request(subjects.hello(hello.owner), encode_notice(hello), _SECONDS_FOR_A_WELCOME)
            if data is None and not missed:
                self.desk.tell("the learner is not there yet; waiting for it")
            missed = data is None
            if data is not None:
                self._take_note(_read(data))
            pause = _SECONDS_WITHOUT_LEARNER if missed else _SECONDS_BETWEEN_HELLOS
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause * (0.75 + 0.5 * self.desk.jitter())):
                    await self.roll.wait()

    async def _attend(self) -> None:
        """What is not about meetings has time until the learner is there."""
        if self.desk.attend is not None:
            await self.welcome.wait()
            await self.desk.attend(self.session)

    async def _watch(self) -> None:
        await self.session.lost.wait()
        self._leave()

    async def _heed(self) -> None:
        """Leave as soon as the owner is paused."""
        while not self.desk.paused():  # noqa: ASYNC110 - another process sets and clears the mark
            await asyncio.sleep(_SECONDS_TO_HEED)
        self._leave()

    def _leave(self) -> None:
        if not self.outcome.done():
            self.outcome.set_result(None)

    def _take_note(self, notice: Notice | None) -> None:
        if isinstance(notice, Welcome) and notice.receipt is not None and not self.desk.witnesses(notice.receipt):
            self._fail(_rolled_back(self.desk.hello.owner))
        elif isinstance(notice, TurnedAway):
            self.desk.tell(notice.text)
            if notice.final:
                self._fail(Dismissed(notice.text, remedy="ask whoever runs the learner", value=self.desk.hello.owner))
        elif isinstance(notice, Welcome) and notice.stage == "ended":
            self._end(notice.theta)
        elif isinstance(notice, Welcome) and not self.welcome.is_set():
            self.desk.tell("the learner has welcomed us")
            self.welcome.set()

    def _end(self, theta: tuple[float, ...]) -> None:
        if not self.outcome.done():
            self.outcome.set_result(theta)

    def _fail(self, problem: Exception) -> None:
        if not self.outcome.done():
            self.outcome.set_exception(problem)


def _rolled_back(owner: str) -> LedgerFailure:
    return LedgerFailure(
        "the learner holds a receipt, perhaps of an earlier study, that our ledger does not know",
        remedy="an old copy of the ledger was restored, or another one is in its place: find the right one first",
        value=owner,
    )


async def _stop(tasks: list[asyncio.Task[None]]) -> None:
    """Cancel until it is heeded: a wait that ends in the same moment swallows the first word."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=_SECONDS_TO_HEED)


def _read(data: bytes) -> Notice | None:
    try:
        return decode_notice(data)
    except ProtocolError:
        return None
