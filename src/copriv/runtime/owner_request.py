"""What `copriv owner request` and `renew` do: a key that never leaves its folder, and certificates for it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from copriv.errors import BadInput
from copriv.owner.workspace import OwnerWorkspace
from copriv.transport.certificates import fingerprint, require_valid, split
from copriv.transport.credentials import credentials_text, read_credentials
from copriv.transport.expiry import Expiry, expiry_of
from copriv.transport.invitation import Invitation, read_invitation
from copriv.transport.pending import Pending, require_room_for_request
from copriv.transport.request import make_request, request_text


class Requested(msgspec.Struct):
    """A request for a certificate; it holds no secret, and the key is in the folder."""

    owner: str
    request: str
    fingerprint: str
    folder: str


class Renewed(msgspec.Struct):
    """A folder with a new certificate, and where its broker is."""

    owner: str
    folder: str
    broker: str


def request_certificate(name: str, folder: Path, out: Path, *, again: bool) -> Requested:
    """Make a key and keep it, and write the request, which holds no secret."""
    require_room_for_request(folder, again=again)
    if (folder / "engagement.json").is_file() and OwnerWorkspace(folder).enrollment.owner != name:
        owner = OwnerWorkspace(folder).enrollment.owner
        raise BadInput(f"{folder} belongs to {owner!r}", remedy=f"make the request for {owner!r}", value=name)
    if out.exists():
        raise BadInput(f"{out} exists, and a request is never overwritten", remedy="choose another --out")
    key, request = make_request(name)
    Pending(folder).keep(key, request)
    out.write_text(request_text(request), encoding="utf-8")
    return Requested(name, str(out), request.fingerprint, str(folder))


def renew_certificate(invitation_file: Path, folder: Path) -> Renewed:
    """Take over a new certificate for the same study; records, promise and ledger stay as they are."""
    home, invitation = OwnerWorkspace(folder), read_invitation(invitation_file)
    require_valid(invitation.certificate, datetime.now(UTC))
    for what, given, held in (
        ("owner", invitation.owner, home.enrollment.owner),
        ("study", invitation.terms().terms.digest(), home.study.terms.digest()),
    ):
        if given != held:
            raise BadInput(
                f"the invitation is for another {what}: {given}, and the folder's is {held}",
                remedy="join with it in a folder of its own: copriv owner join",
                value=given,
            )
    home.renew(invitation.host, invitation.port, secrets_of(invitation, folder))
    return Renewed(invitation.owner, str(folder), f"{invitation.host}:{invitation.port}")


def secrets_of(invitation: Invitation, folder: Path) -> dict[str, str]:
    """What an owner's folder keeps of an invitation: whom to trust, and its own key with the certificate for it."""
    pair = Pending(folder).pair_for(invitation)
    return {"authority.pem": invitation.authority, "owner.key": credentials_text(pair)}


def authorities_of(bundle: str) -> str:
    """The fingerprints of the authorities that are to be trusted, to be compared by telephone."""
    return ", ".join(fingerprint(root) for root in split(bundle))


def expiries_of(folder: Path) -> list[Expiry]:
    """When the certificates of an owner's folder end."""
    own = read_credentials(folder / "owner.key").certificate
    roots = split((folder / "authority.pem").read_text(encoding="ascii"))
    return [expiry_of("this owner", own), *(expiry_of("the authority", root) for root in roots)]
