"""What learner and owner are told after a step that sets a study up, and what to do next."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from copriv.protocol.text import quoted
from copriv.runtime.learner_setup import Approved, Invited, LearnerMade, NewAuthority, Retired, Revoked
from copriv.runtime.owner_blocks import BlockAppended
from copriv.runtime.owner_joining import Agreement
from copriv.runtime.owner_request import Renewed, Requested
from copriv.transport.certificates import written

PAUSED = (
    "paused: nothing leaves from now on, and others see only that you are away\n"
    "If you pause after a look at your records, that is a person's decision, which no ε covers.\n"
    "next: copriv owner resume"
)


def learner_made(told: LearnerMade) -> str:
    """The learner's folder is there."""
    return (
        f"the learner's folder is {told.folder}; owners will reach it at {told.host}:{told.port}\n"
        f"next: copriv learner approve REQUEST --folder {told.folder}, for every owner's request"
    )


def invited(told: Invited) -> str:
    """A rehearsal has one owner more."""
    what = "it holds a key, and is for a rehearsal on this machine only"
    return f"the invitation of {told.owner} is {told.invitation}: {what}"


def approved(told: Approved) -> str:
    """A request is answered."""
    return (
        f"the invitation of {told.owner} is {told.invitation}; it holds no secret\n"
        f"fingerprint of the request: {told.fingerprint}\nfingerprint of the authority: {told.authority}\n"
        f"before you pass it on, compare the first over the telephone with what {told.owner} has; if it is another, "
        f"`copriv learner revoke {told.owner}`. `copriv owner join` shows the second"
    )


def revoked(told: Revoked) -> str:
    """An owner is out."""
    cut = "the broker on this machine has cut it off"
    return f"{told.owner} is revoked: {cut if told.broker else 'no broker runs here; it is out from the next start'}"


def rolled(told: NewAuthority, folder: Path) -> str:
    """There are two authorities."""
    ends = written(datetime.fromisoformat(told.expires))
    return (
        f"a new authority signs until {ends}; the old one is trusted until it is retired\n"
        f"owners get both with their next renewal; still to renew: {', '.join(told.waiting) or 'nobody'}\n"
        f"then: copriv learner authority retire --folder {folder}"
    )


def retired(told: Retired) -> str:
    """There is one authority again."""
    out = f"; locked out until they make a new request: {', '.join(told.locked_out)}" if told.locked_out else ""
    return f"the old authority is trusted no more{out}"


def requested(told: Requested) -> str:
    """A request is written."""
    return (
        f"the request of {told.owner} is {told.request}: send it to the learner; it holds no secret, and the key stays "
        f"in {told.folder}\nfingerprint: {told.fingerprint}\n"
        "read it out over the telephone: `copriv learner approve` must show the same"
    )


def joined(told: Agreement) -> str:
    """An owner takes part."""
    after = "serve" if told.approved else "approve"
    return f"{told.owner} has joined {quoted(told.study)}\nnext: copriv owner {after} --folder {told.folder}"


def appended(told: BlockAppended) -> str:
    """A block has arrived, or is where it says now."""
    many = "people" if told.unit == "person" else "records"
    arrived = f"has arrived: {told.units:,} new {many} with an unspent account"
    known = f"was there: {told.units:,} {many} with an account from which something was spent"
    back = f"; {told.returning:,} who were known keep their blocks" if told.returning else ""
    return (
        f"{told.block} {known if told.charged else arrived}{back}\n"
        f"the numbers of new {many} are public: {', '.join(f'{name} {n:,}' for name, n in told.blocks.items())}\n"
        "next: copriv owner join INVITATION --data FILE reads every block that can pay"
    )


def renewed(told: Renewed) -> str:
    """An owner has a new certificate."""
    return (
        f"{told.folder} has a new certificate; everything else is as it was\n"
        f"next: copriv owner serve --folder {told.folder}"
    )
