"""What `copriv learner approve` and `copriv learner authority` do: sign for keys that owners keep at home."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import typer

from copriv.entropy import secure
from copriv.errors import BadInput
from copriv.transport.certificates import fingerprint, life_of, written
from copriv.transport.invitation import write_invitation
from copriv.transport.learner_workspace import LearnerWorkspace
from copriv.transport.request import read_request
from copriv.transport.rollover import dependents, retire, roll

SHORTEST_DAYS, LONGEST_DAYS = 30, 90


def run_approve(
    file: Path, folder: Path, out: Path | None, days: int, records: int | None, *, again: bool, as_json: bool
) -> None:
    """Answer a request with an invitation that holds no key."""
    quarters, request = LearnerWorkspace(folder), read_request(file)
    out = out or Path(f"{request.name}.invitation")
    require_new(quarters, request.name, out, days, records, again=again)
    serial = f"{secure().getrandbits(64):016x}"
    invitation = quarters.approve(request, serial, now=datetime.now(UTC), days=days, most_records=records or 0)
    write_invitation(invitation, out)
    authority = fingerprint(quarters.keys.signing().certificate)
    told = {
        "owner": request.name,
        "invitation": str(out),
        "days": days,
        "fingerprint": request.fingerprint,
        "authority": authority,
    }
    words = (
        f"the invitation of {request.name} is {out}; it holds no secret\n"
        f"fingerprint of the request: {request.fingerprint}\nfingerprint of the authority: {authority}\n"
        f"before you pass it on, compare the first over the telephone with what {request.name} has; if it is another, "
        f"`copriv learner revoke {request.name}`. `copriv owner join` shows the second"
    )
    typer.echo(msgspec.json.encode(told).decode() if as_json else words)


def require_new(
    quarters: LearnerWorkspace, name: str, out: Path, days: int, records: int | None, *, again: bool
) -> None:
    """Refuse to let somebody in twice, for too long, with nothing, or over an existing file."""
    if records is not None and records < 1:
        raise BadInput(f"--records is {records}", remedy="give at least 1", value=records)
    known = quarters.register().owners.get(name)
    if known is not None and not again:
        raise BadInput(
            f"{name!r} is invited already, since {known.invited}",
            remedy="choose another name, or add --again to revoke that invitation and make a new one",
            value=name,
        )
    if not SHORTEST_DAYS <= days <= LONGEST_DAYS:
        raise BadInput(
            f"--days is {days}",
            remedy=f"give between {SHORTEST_DAYS} and {LONGEST_DAYS}: certificates renew themselves at half-life",
            value=days,
        )
    if out.exists():
        raise BadInput(f"{out} exists, and an invitation is never overwritten", remedy="choose another --out")


def run_roll(folder: Path, *, as_json: bool) -> None:
    """Make a second authority."""
    quarters, now = LearnerWorkspace(folder), datetime.now(UTC)
    roll(quarters, now)
    signing = quarters.keys.signing().certificate
    ends, waiting = life_of(signing).ends, dependents(quarters, now)
    told = {"authority": fingerprint(signing), "expires": ends.isoformat(timespec="seconds"), "waiting": waiting}
    words = (
        f"a new authority signs until {written(ends)}; the old one is trusted until it is retired\n"
        f"owners get both with their next renewal; still to renew: {', '.join(waiting) or 'nobody'}\n"
        f"then: copriv learner authority retire --folder {folder}"
    )
    typer.echo(msgspec.json.encode(told).decode() if as_json else words)


def run_retire(folder: Path, *, force: bool, as_json: bool) -> None:
    """Drop the old authority."""
    quarters = LearnerWorkspace(folder)
    locked_out = retire(quarters, datetime.now(UTC), force=force)
    told = {"authority": fingerprint(quarters.keys.signing().certificate), "locked_out": locked_out}
    words = "the old authority is trusted no more"
    if locked_out:
        words += f"; locked out until they make a new request: {', '.join(locked_out)}"
    typer.echo(msgspec.json.encode(told).decode() if as_json else words)
