"""The learner's side of renewals: sign for whoever the broker says is asking, and remember what was signed.

The subject carries name and serial of the identity, and only its holder may write there. So nothing in a message can
make the learner sign for somebody else, not even for a later identity of the same name.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from copriv.errors import CoprivError
from copriv.protocol.renewal import Errand, InUse, NotRenewed, Renewal, Renewed, decode_errand, encode_errand
from copriv.protocol.text import plain
from copriv.transport import subjects
from copriv.transport.authority import certify_client, identity_of
from copriv.transport.certificates import identity_in, life_of, signed_by, written
from copriv.transport.learner_workspace import LearnerWorkspace, Member
from copriv.transport.link import Session
from copriv.transport.request import public_key_of

if TYPE_CHECKING:
    from nats.aio.msg import Msg

_PARTS_OF_A_LIFE = 100
_SECONDS_PER_DAY = 86_400
_LEAST_SECONDS, _MOST_SECONDS = 0.1, 60.0


@dataclass(slots=True)
class RenewalDesk:
    """Where owners get their next certificate while the learner runs.

    Args:
        quarters: the learner's folder.
        tell: is told what happens, in words.
        clock: what time it is.
    """

    quarters: LearnerWorkspace
    tell: Callable[[str], None]
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    last: dict[str, float] = field(default_factory=dict)

    async def open(self, session: Session) -> None:
        """Listen on a new session."""

        async def hear(message: Msg) -> None:
            owner, serial = subjects.renewing(message.subject)
            if not message.reply.startswith(f"{subjects.inbox(owner)}."):
                return
            try:
                await session.publish(message.reply, self.reply(owner, serial, bytes(message.data)))
            except Exception as problem:  # noqa: BLE001 - told, and the learner goes on
                self.tell(plain(f"what {owner} asks of the authority could not be handled: {problem!r}", most=500))

        await session.client.subscribe(subjects.EVERY_RENEWAL, cb=hear)

    def reply(self, owner: str, serial: str, data: bytes) -> bytes:
        """Bytes in, bytes out; whatever an owner sends, the learner goes on."""
        try:
            return encode_errand(self._answer(owner, serial, decode_errand(data)))
        except CoprivError as problem:
            return encode_errand(NotRenewed(problem.problem))

    def _answer(self, owner: str, serial: str, errand: Errand) -> Errand:
        member = self.quarters.register().owners.get(owner)
        if member is None or member.revoked or member.identity != identity_of("owner", owner, serial):
            return NotRenewed("this invitation was revoked")
        if isinstance(errand, Renewal):
            return self._sign(owner, member, errand)
        if isinstance(errand, InUse):
            return self._note(owner, member, errand)
        return NotRenewed("this is not for the learner to hear")

    def _sign(self, owner: str, member: Member, errand: Renewal) -> Errand:
        if not self._in_turn(f"sign {owner}", member.days):
            return NotRenewed("a certificate was signed a moment ago")
        keys, now = self.quarters.keys, self.clock()
        authority, key = keys.signing(), public_key_of(errand.request)
        end = life_of(authority.certificate).ends
        if end < now + timedelta(days=member.days) / 2:
            return NotRenewed(f"the authority ends on {written(end)}: copriv learner authority roll")
        certificate = certify_client(authority, key, member.identity, now, member.days)
        with self.quarters.locked():
            self.quarters.issued.offer(owner, certificate)
        self.tell(f"{owner} gets a certificate until {written(life_of(certificate).ends)}")
        return Renewed(certificate, keys.bundle())

    def _note(self, owner: str, member: Member, errand: InUse) -> Errand:
        """Only what we have signed for this very identity is put on record."""
        certificate, keys = errand.certificate, self.quarters.keys
        if self.quarters.issued.held(owner) == (certificate,):
            return InUse()
        if not self._in_turn(f"note {owner}", member.days):
            return NotRenewed("a certificate was looked at a moment ago")
        if not any(signed_by(certificate, root) for root in keys.roots()):
            return NotRenewed("this certificate is from another authority")
        if identity_in(certificate) != member.identity:
            return NotRenewed("this certificate is for another identity")
        with self.quarters.locked():
            self.quarters.issued.confirm(owner, certificate)
        return InUse()

    def _in_turn(self, errand: str, days: float) -> bool:
        """Once in a while: an owner that asks all the time keeps nobody else waiting."""
        now = time.monotonic()
        pause = min(max(days * _SECONDS_PER_DAY / _PARTS_OF_A_LIFE, _LEAST_SECONDS), _MOST_SECONDS)
        if errand in self.last and now - self.last[errand] < pause:
            return False
        self.last[errand] = now
        return True
