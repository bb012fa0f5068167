"""An owner's side of renewals: at half-life a new key, a new certificate, tried before it takes the old one's place.

The link that stands is left alone; the next one is made with what is on disk then. The old key is used until the new
certificate was accepted by the broker, and both change in one moment, in one file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from copriv.errors import BadInput, CoprivError, ProtocolError
from copriv.protocol.renewal import Errand, InUse, NotRenewed, Renewal, Renewed, decode_errand, encode_errand
from copriv.transport import subjects
from copriv.transport.authority import Pair, serial_in
from copriv.transport.certificates import identity_in, is_for_key, life_of, require_valid, signed_by, split, written
from copriv.transport.credentials import credentials_text, draft_file, read_credentials
from copriv.transport.link import Link, Session, connect
from copriv.transport.request import make_request

_SECONDS_FOR_A_REPLY = 10.0
_PARTS_OF_A_LIFE = 100
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 15.0
_LONGEST_SLEEP = 3600.0  # a clock that is set meanwhile is noticed


@dataclass(frozen=True, slots=True)
class Renewals:
    """What keeps an owner's certificate young.

    Args:
        owner: its name.
        link: how it reaches the broker.
        jitter: draws a number between 0 and 1, so that owners do not all ask at the same moment.
        tell: is told what happens, in words.
        clock: what time it is.
    """

    owner: str
    link: Link
    jitter: Callable[[], float]
    tell: Callable[[str], None]
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def attend(self, session: Session) -> None:
        """For as long as a session lasts: say which certificate is in use, and renew it at half-life."""
        noted = ""
        while True:
            try:
                noted = await self._turn(session, noted)
            except (CoprivError, OSError) as problem:
                self.tell(f"our certificate cannot be renewed now: {getattr(problem, 'problem', problem)}")
                await asyncio.sleep(_LONGEST_PAUSE)

    async def _turn(self, session: Session, noted: str) -> str:
        """One look at the certificate, and the pause after it; which certificate the learner has on record."""
        held = read_credentials(self.link.credentials)
        if noted != held.certificate:
            noted = held.certificate if await self._in_use(session, held) else ""
        wait = (life_of(held.certificate).half - self.clock()).total_seconds()
        if noted and wait > 0:
            await asyncio.sleep(min(wait, _LONGEST_SLEEP))
        elif not noted or not await self._renew(session, held):
            await asyncio.sleep(self._pause(held))
        return noted

    async def _in_use(self, session: Session, held: Pair) -> bool:
        return isinstance(await self._ask(session, held, InUse(held.certificate)), InUse)

    async def _renew(self, session: Session, held: Pair) -> bool:
        """Whether another certificate is in place."""
        key, request = make_request(self.owner)
        reply = await self._ask(session, held, Renewal(request.request))
        if isinstance(reply, NotRenewed):
            self.tell(f"the learner does not renew our certificate: {reply.text}")
        if not isinstance(reply, Renewed):
            return False
        try:
            require_ours(reply, key, held, self.clock())
            await self._install(Pair(reply.certificate, key), reply.authority)
        except (CoprivError, OSError) as problem:
            self.tell(f"the new certificate is not used: {getattr(problem, 'problem', problem)}")
            return False
        self.tell(f"our certificate is renewed until {written(life_of(reply.certificate).ends)}")
        return True

    async def _ask(self, session: Session, held: Pair, errand: Errand) -> Errand | None:
        subject = subjects.renewal(self.owner, serial_in(identity_in(held.certificate)))
        data = await session.request(subject, encode_errand(errand), _SECONDS_FOR_A_REPLY)
        try:
            return None if data is None else decode_errand(data)
        except ProtocolError:
            return None

    async def _install(self, pair: Pair, authority: str) -> None:
        """Try it on a link of its own; only what the broker accepts takes the old one's place."""
        link = self.link
        drafts = [
            draft_file(link.authority, authority.encode()),
            draft_file(link.credentials, credentials_text(pair).encode()),
        ]
        try:
            trial = replace(link, authority=drafts[0], credentials=drafts[1])
            async with connect(trial, trial.context()):
                pass
            # The authorities first: they are no fewer than what the old certificate needs.
            for draft, path in zip(drafts, (link.authority, link.credentials), strict=True):
                draft.rename(path)
        finally:
            _remove(drafts)

    def _pause(self, held: Pair) -> float:
        life = life_of(held.certificate)
        part = (life.ends - life.issued).total_seconds() / _PARTS_OF_A_LIFE
        return min(max(part, _SHORTEST_PAUSE), _LONGEST_PAUSE) * (0.5 + 0.5 * self.jitter())


def require_ours(reply: Renewed, key: str, held: Pair, now: datetime) -> None:
    """Refuse a certificate for another key, identity or time, or from an authority that does not come along."""
    roots = split(reply.authority)
    require_valid(reply.certificate, now)
    if not is_for_key(reply.certificate, key) or identity_in(reply.certificate) != identity_in(held.certificate):
        raise BadInput("it is not for our key and name", remedy="ask whoever runs the learner")
    if not any(signed_by(reply.certificate, root) for root in roots):
        raise BadInput("no authority has signed it", remedy="ask whoever runs the learner")


def _remove(drafts: list[Path]) -> None:
    for draft in drafts:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
