"""The learner's folder: its authority, its broker's configuration, and who is invited.

Only the folder says who may take part. Inviting and revoking rewrite the broker's configuration and have a running
broker take it over, so both take effect at once.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path

import msgspec

from copriv.errors import BadInput
from copriv.protocol.study_file import StudyFile, read_study
from copriv.protocol.wire import largest_reply
from copriv.transport import subjects
from copriv.transport.authority import DAYS, certify_client, identity_of, issue_client, require_hosts, serial_in
from copriv.transport.broker import Broker, Place, config_text, end, reload, running
from copriv.transport.credentials import join_files, replace_file
from copriv.transport.invitation import Invitation
from copriv.transport.issued import Issued
from copriv.transport.keyring import Keyring
from copriv.transport.link import Link
from copriv.transport.request import Request, public_key_of

_SMALLEST_LIMIT = 16_384


class Member(msgspec.Struct, frozen=True):
    """One invited owner: the identity that the broker knows it by, since when, and whether it still does.

    `days` is how long each of its certificates lasts; `most_records` is the most records that it may claim, 0 where the
    invitation does not say.
    """

    identity: str
    invited: str
    revoked: bool = False
    days: float = DAYS
    most_records: int = 0


class Register(msgspec.Struct, frozen=True):
    """Where the broker is, who the learner is, and who is invited; `days` last certificates of broker and learner."""

    host: str
    listen: str
    port: int
    learner: str
    owners: dict[str, Member]
    days: float = DAYS


@dataclass(frozen=True, slots=True)
class Address:
    """Where owners reach the broker.

    Args:
        hosts: names and addresses of its machine; invitations carry the first.
        listen: the address on which it listens.
        port: its port.
    """

    hosts: Sequence[str]
    listen: str
    port: int


class LearnerWorkspace:
    """A learner's folder.

    Args:
        folder: where `copriv learner init` has made it.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / "members.json").is_file():
            raise BadInput(
                f"{folder} is not a learner's folder",
                remedy="make one with `copriv learner init STUDY`, or name it with --folder",
                value=str(folder),
            )
        self.folder = folder
        self.keys, self.issued = Keyring(folder), Issued(folder)
        self._broker: Broker | None = None
        self._members = str(folder / "members.json")
        self._read_at = 0
        self._register = self.register()

    @classmethod
    def create(
        cls,
        folder: Path,
        study: str,
        *,
        address: Address,
        now: datetime,
        serial: str,
        public: bytes = b"",
        days: float = DAYS,
    ) -> LearnerWorkspace:
        """Make a folder for a study: an authority, certificates for broker and learner, nobody invited yet.

        Args:
            folder: must not exist.
            study: the text of the study file.
            address: where owners reach the broker.
            now: when.
            serial: of the learner's identity.
            public: the public rows as the study's dictionary has them, if the rule needs them.
            days: how long certificates of broker and learner last.
        """
        read_study(study)
        identity = identity_of("learner", "learner", serial)
        require_hosts(address.hosts)
        register = Register(address.hosts[0], address.listen, address.port, identity, {}, days)
        config_text(_place(folder, register), _users(register), largest=_SMALLEST_LIMIT)
        _make_folder(folder)
        replace_file(folder / "study.toml", study.encode())
        Keyring(folder).make(address.hosts, identity, now, days)
        if public:
            replace_file(folder / "public.npz", public)
        replace_file(folder / "members.json", _to_json(register))
        made = cls(folder)
        made._write_broker(register)
        return made

    def study(self) -> StudyFile:
        """The study of this folder."""
        return read_study(self.study_text())

    def study_text(self) -> str:
        """The study file as it is."""
        return (self.folder / "study.toml").read_text(encoding="utf-8")

    def register(self) -> Register:
        """Who is invited, as it stands on disk; read again only when it has changed."""
        changed = os.stat(self._members).st_mtime_ns  # noqa: PTH116 - asked at every meeting
        if changed != self._read_at:
            path = Path(self._members)
            try:
                self._register = msgspec.json.decode(path.read_bytes(), type=Register)
            except msgspec.DecodeError as problem:
                raise BadInput(f"{path} cannot be read: {problem}", remedy="restore it", value=str(path)) from problem
            self._read_at = changed
        return self._register

    def admits(self, owner: str) -> bool:
        """Whether an owner is invited and not revoked."""
        member = self.register().owners.get(owner)
        return member is not None and not member.revoked

    def most_records(self, owner: str) -> int:
        """The most records that an owner may claim by its invitation; 0 if that does not say."""
        member = self.register().owners.get(owner)
        return 0 if member is None else member.most_records

    def invited(self) -> list[str]:
        """The owners that may take part, in the order of their names."""
        return sorted(name for name in self.register().owners if self.admits(name))

    def invite(
        self, owners: Mapping[str, str], *, now: datetime, days: float = DAYS, most_records: int = 0
    ) -> list[Invitation]:
        """For rehearsals on one machine: keys and certificates for owners, of which older ones are revoked.

        Args:
            owners: by name, the serial of the new identity.
            now: when.
            days: how long the certificates are valid.
            most_records: the most records that each of them may claim; 0 for what the study says.
        """
        self._require_rehearsal()
        authority = self.keys.signing()
        identities = {owner: identity_of("owner", owner, serial) for owner, serial in owners.items()}
        pairs = {owner: issue_client(authority, identity, now, days) for owner, identity in identities.items()}
        certificates = {owner: pair.certificate for owner, pair in pairs.items()}
        members = {owner: self._member(identity, now, days, most_records) for owner, identity in identities.items()}
        return [
            msgspec.structs.replace(invitation, key=pairs[invitation.owner].key)
            for invitation in self._admit(members, certificates)
        ]

    def approve(
        self, request: Request, serial: str, *, now: datetime, days: float = DAYS, most_records: int = 0
    ) -> Invitation:
        """The answer to an owner's request: a certificate for its key, which the learner never sees.

        Args:
            request: what the owner has sent.
            serial: of its new identity; an older one is revoked.
            now: when.
            days: how long each of its certificates is valid.
            most_records: the most records that it may claim; 0 for what the study says.
        """
        identity = identity_of("owner", request.name, serial)
        key = public_key_of(request.request)
        certificate = certify_client(self.keys.signing(), key, identity, now, days)
        member = self._member(identity, now, days, most_records)
        [invitation] = self._admit({request.name: member}, {request.name: certificate})
        return invitation

    def _member(self, identity: str, now: datetime, days: float, most_records: int) -> Member:
        return Member(identity, now.isoformat(timespec="seconds"), days=days, most_records=most_records)

    def _admit(self, members: Mapping[str, Member], certificates: Mapping[str, str]) -> list[Invitation]:
        """A place in the broker's configuration for these owners; the others keep theirs as it is."""
        with self.locked():
            register = self.register()
            for owner, certificate in certificates.items():
                self.issued.confirm(owner, certificate)
            self._update(msgspec.structs.replace(register, owners={**register.owners, **members}))
        where, study = (register.host, register.port, self.keys.bundle()), self.study_text()
        return [Invitation(owner, *where, certificate, study) for owner, certificate in certificates.items()]

    def _require_rehearsal(self) -> None:
        host = self.register().host
        if not is_loopback(host):
            raise BadInput(
                f"owners reach this learner at {host}, and an invitation with a key inside must not travel",
                remedy="let the owner run `copriv owner request NAME`, and answer with `copriv learner approve FILE`",
                value=host,
            )

    def revoke(self, owner: str) -> bool:
        """Shut an owner out, at once; whether a running broker has taken note."""
        with self.locked():
            register = self.register()
            member = register.owners.get(owner)
            if member is None:
                raise BadInput(
                    f"there is no owner {owner!r}",
                    remedy=f"invited are {', '.join(register.owners) or 'none'}",
                    value=owner,
                )
            revoked = msgspec.structs.replace(member, revoked=True)
            return self._update(msgspec.structs.replace(register, owners={**register.owners, owner: revoked}))

    def link(self) -> Link:
        """How the learner itself reaches the broker."""
        register = self.register()
        join_files(self.keys.learner_file)
        files = (self.keys.learner_file, self.keys.roots_file)
        return Link(register.host, register.port, *files, subjects.LEARNER_INBOX)

    def broker_runs(self) -> bool:
        """Whether a broker of this folder runs on this machine."""
        return running(self.folder / "broker.pid") is not None

    def start_broker(self) -> Broker:
        """Start the broker of this folder."""
        register = self.register()
        join_files(self.keys.server_file)
        self._write_broker(register)
        return Broker.start(self.folder / "broker.conf", self.folder / "broker.log", register.listen, register.port)

    def keep_broker(self) -> None:
        """Start the broker of this folder unless it runs: also after it was killed."""
        ours = self._broker is not None and self._broker.alive()
        if not ours and not self.broker_runs():
            self._broker = self.start_broker()

    def end_broker(self) -> None:
        """Stop the broker of this folder, whichever learner has started it."""
        if self._broker is not None:
            self._broker.stop()
        end(self.folder / "broker.pid")

    def reload_broker(self) -> bool:
        """Have a broker that runs here take over its new files; False if none runs here."""
        return reload(self.folder / "broker.pid", self.folder / "broker.log")

    def _update(self, register: Register) -> bool:
        """First what the broker enforces, then what the learner looks at: nobody is let in by half an update."""
        self._write_broker(register)
        replace_file(self.folder / "members.json", _to_json(register))
        return self.reload_broker()

    def _write_broker(self, register: Register) -> None:
        terms = self.study().terms
        squares = terms.kind == "moments" or "second_moments" in terms.kinds or terms.fill > 0
        largest = max(_SMALLEST_LIMIT, 2 * largest_reply(terms.parameters, squares=squares))
        text = config_text(_place(self.folder.absolute(), register), _users(register), largest=largest)
        replace_file(self.folder / "broker.conf", text.encode())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One change at a time."""
        with (self.folder / "members.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def is_loopback(host: str) -> bool:
    """Whether a name or address never leaves the machine.

    >>> is_loopback("127.0.0.1"), is_loopback("learner.example.org")
    (True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _users(register: Register) -> dict[str, dict[str, object]]:
    owners = {
        member.identity: subjects.owner_permissions(name, serial_in(member.identity))
        for name, member in register.owners.items()
        if not member.revoked
    }
    return {register.learner: subjects.learner_permissions(), **owners}


def _place(folder: Path, register: Register) -> Place:
    return Place(
        host=register.listen,
        port=register.port,
        certificate=folder / "server.key",
        key=folder / "server.key",
        authority=folder / "authority.pem",
        pid_file=folder / "broker.pid",
    )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, mode=0o700)
    except OSError as problem:
        raise BadInput(
            f"{folder} cannot be made: {problem.strerror}", remedy="choose another --folder", value=str(folder)
        ) from problem


def _to_json(register: Register) -> bytes:
    return msgspec.json.format(msgspec.json.encode(register)) + b"\n"
