"""What a learner does before it runs a study: its folder, invitations, and the authority that signs for owners."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from copriv.entropy import secure
from copriv.errors import BadInput
from copriv.learner.public_rows import public_rows_beside, read_sample
from copriv.protocol.study_file import read_study
from copriv.rules.registry import resolve
from copriv.transport import rollover
from copriv.transport.certificates import fingerprint, life_of
from copriv.transport.invitation import write_invitation
from copriv.transport.learner_workspace import Address, LearnerWorkspace
from copriv.transport.request import read_request
from copriv.transport.subjects import require_name

SHORTEST_DAYS, LONGEST_DAYS = 30, 90


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationOptions:
    """How an owner is let in.

    Args:
        folder: the learner's.
        out: the file to write; None for NAME.invitation.
        days: how long each of its certificates is valid.
        records: the most records that it may claim; None for what the study expects, times 10.
        again: let it in a second time, and revoke its old certificate.
    """

    folder: Path
    out: Path | None = None
    days: int = 60
    records: int | None = None
    again: bool = False

    def place(self, name: str) -> Path:
        """Where the invitation of an owner goes."""
        return self.out or Path(f"{name}.invitation")


class LearnerMade(msgspec.Struct):
    """A new learner's folder, and where owners will reach it."""

    folder: str
    study: str
    terms: str
    host: str
    port: int


class Invited(msgspec.Struct):
    """An invitation that holds a key."""

    owner: str
    invitation: str
    days: int


class Approved(msgspec.Struct):
    """An invitation that holds no key, with the fingerprints to compare."""

    owner: str
    invitation: str
    days: int
    fingerprint: str
    authority: str


class Revoked(msgspec.Struct):
    """An owner that is out; `broker` says whether a broker that runs here has taken note."""

    owner: str
    revoked: bool
    broker: bool


class NewAuthority(msgspec.Struct):
    """An authority that signs from now on: its fingerprint, its end, and whoever still depends on the old one."""

    authority: str
    expires: str
    waiting: list[str]


class Retired(msgspec.Struct):
    """The old authority is trusted no more: the one that is left, and whoever is locked out."""

    authority: str
    locked_out: list[str]


def make_learner(study: Path, folder: Path, address: Address) -> LearnerMade:
    """Make the learner's folder: its authority, its certificates and a strict broker configuration."""
    if not study.is_file():
        raise BadInput(
            f"there is no study file {study}", remedy="write one with `copriv learner draft`", value=str(study)
        )
    terms = (
        LearnerWorkspace.create(
            folder,
            study.read_text(encoding="utf-8"),
            address=address,
            now=datetime.now(UTC),
            serial=_serial(),
            public=_public_rows(study),
        )
        .study()
        .terms
    )
    return LearnerMade(str(folder), terms.name, terms.digest(), address.hosts[0], address.port)


def invite_owner(name: str, options: InvitationOptions) -> Invited:
    """For rehearsals on one machine: write an invitation that holds a key."""
    require_name(name)
    quarters, out = LearnerWorkspace(options.folder), options.place(name)
    _require_new(quarters, name, options)
    most = options.records or 0
    [invitation] = quarters.invite({name: _serial()}, now=datetime.now(UTC), days=options.days, most_records=most)
    write_invitation(invitation, out)
    return Invited(name, str(out), options.days)


def approve_owner(file: Path, options: InvitationOptions) -> Approved:
    """Answer a request with an invitation that holds no key."""
    quarters, request = LearnerWorkspace(options.folder), read_request(file)
    _require_new(quarters, request.name, options)
    invitation = quarters.approve(
        request, _serial(), now=datetime.now(UTC), days=options.days, most_records=options.records or 0
    )
    out = options.place(request.name)
    write_invitation(invitation, out)
    return Approved(request.name, str(out), options.days, request.fingerprint, _signing(quarters))


def revoke_owner(name: str, folder: Path) -> Revoked:
    """Shut an owner out, at once."""
    return Revoked(name, revoked=True, broker=LearnerWorkspace(folder).revoke(name))


def roll_authority(folder: Path) -> NewAuthority:
    """Make a second authority; both are trusted."""
    quarters, now = LearnerWorkspace(folder), datetime.now(UTC)
    rollover.roll(quarters, now)
    ends = life_of(quarters.keys.signing().certificate).ends
    return NewAuthority(_signing(quarters), ends.isoformat(timespec="seconds"), rollover.dependents(quarters, now))


def retire_authority(folder: Path, *, force: bool) -> Retired:
    """Trust the old authority no more."""
    quarters = LearnerWorkspace(folder)
    locked_out = rollover.retire(quarters, datetime.now(UTC), force=force)
    return Retired(_signing(quarters), locked_out)


def _signing(quarters: LearnerWorkspace) -> str:
    """The fingerprint of the authority that signs."""
    return fingerprint(quarters.keys.signing().certificate)


def _public_rows(study: Path) -> bytes:
    """The public rows beside a study file; a rule that starts from them cannot do without."""
    path = public_rows_beside(study)
    if path.is_file():
        data = path.read_bytes()
        read_sample(data)
        return data
    rule = read_study(study.read_text(encoding="utf-8")).terms.rule
    if "public" in resolve(rule).needs:
        raise BadInput(
            f"there is no {path}, and the rule {rule!r} starts from public rows",
            remedy="keep it beside the study file, as `copriv learner draft` has written it",
            value=str(path),
        )
    return b""


def _require_new(quarters: LearnerWorkspace, name: str, options: InvitationOptions) -> None:
    """Refuse to let somebody in twice, for too long, with nothing, or over an existing file."""
    if options.records is not None and options.records < 1:
        raise BadInput(f"--records is {options.records}", remedy="give at least 1", value=options.records)
    known, out = quarters.register().owners.get(name), options.place(name)
    if known is not None and not options.again:
        raise BadInput(
            f"{name!r} is invited already, since {known.invited}",
            remedy="choose another name, or add --again to revoke that invitation and make a new one",
            value=name,
        )
    if not SHORTEST_DAYS <= options.days <= LONGEST_DAYS:
        raise BadInput(
            f"--days is {options.days}",
            remedy=f"give between {SHORTEST_DAYS} and {LONGEST_DAYS}: certificates renew themselves at half-life",
            value=options.days,
        )
    if out.exists():
        raise BadInput(f"{out} exists, and an invitation is never overwritten", remedy="choose another --out")


def _serial() -> str:
    return f"{secure().getrandbits(64):016x}"
