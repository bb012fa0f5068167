"""The learner's folder: its authority, its broker's configuration, and who is invited.

Only the folder says who may take part. Inviting and revoking rewrite the broker's configuration and have a running
broker take it over, so both take effect at once.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import msgspec

from copriv.errors import BadInput
from copriv.protocol.study_file import StudyFile, read_study
from copriv.protocol.wire import largest_query
from copriv.transport import subjects
from copriv.transport.authority import Pair, identity_of, issue_client, issue_server, make_authority
from copriv.transport.broker import Broker, Place, config_text, end, reload, running
from copriv.transport.invitation import Invitation
from copriv.transport.link import Link

_SMALLEST_LIMIT = 16_384


class Member(msgspec.Struct, frozen=True):
    """One invited owner: the identity that the broker knows it by, since when, and whether it still does.

    `most_records` is the most records that it may claim; 0 where the invitation does not say.
    """

    identity: str
    invited: str
    revoked: bool = False
    most_records: int = 0


class Register(msgspec.Struct, frozen=True):
    """Where the broker is, who the learner is, and who is invited."""

    host: str
    listen: str
    port: int
    learner: str
    owners: dict[str, Member]


class Headquarters:
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
        hosts: Sequence[str],
        listen: str,
        port: int,
        now: datetime,
        serial: str,
        public: bytes = b"",
    ) -> Headquarters:
        """Make a folder for a study: an authority, certificates for broker and learner, nobody invited yet.

        Args:
            folder: must not exist.
            study: the text of the study file.
            hosts: names and addresses under which owners reach the broker; invitations carry the first.
            listen: the address on which the broker listens.
            port: its port.
            now: when.
            serial: of the learner's identity.
            public: the public rows as the study's dictionary has them, if the rule needs them.
        """
        read_study(study)
        identity = identity_of("learner", "learner", serial)
        authority = make_authority(now)
        server, learner = issue_server(authority, hosts, now), issue_client(authority, identity, now)
        register = Register(hosts[0], listen, port, identity, {})
        config_text(_place(folder, register), _users(register), largest=_SMALLEST_LIMIT)
        _make_folder(folder)
        _write_secret(folder / "study.toml", study)
        for name, pair in (("authority", authority), ("server", server), ("learner", learner)):
            _write_secret(folder / f"{name}.pem", pair.certificate)
            _write_secret(folder / f"{name}.key", pair.key)
        if public:
            _replace(folder / "public.npz", public)
        _replace(folder / "members.json", _to_json(register))
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

    def invite(self, owners: Mapping[str, str], *, now: datetime, days: int, most_records: int = 0) -> list[Invitation]:
        """A certificate for each owner, and a place for it in the broker's configuration; older ones are revoked.

        Args:
            owners: by name, the serial of the new identity.
            now: when.
            days: how long the certificates are valid.
            most_records: the most records that each of them may claim; 0 for what the study says.
        """
        authority = self._authority()
        identities = {owner: identity_of("owner", owner, serial) for owner, serial in owners.items()}
        pairs = {owner: issue_client(authority, identity, now, days) for owner, identity in identities.items()}
        with self._locked():
            register = self.register()
            since = now.isoformat(timespec="seconds")
            new = {owner: Member(identity, since, most_records=most_records) for owner, identity in identities.items()}
            self._update(msgspec.structs.replace(register, owners={**register.owners, **new}))
        where, study = (register.host, register.port, authority.certificate), self.study_text()
        return [Invitation(owner, *where, pair.certificate, pair.key, study) for owner, pair in pairs.items()]

    def revoke(self, owner: str) -> bool:
        """Shut an owner out, at once; whether a running broker has taken note."""
        with self._locked():
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
        register, folder = self.register(), self.folder
        files = (folder / "learner.pem", folder / "learner.key", folder / "authority.pem")
        return Link(register.host, register.port, *files, subjects.LEARNER_INBOX)

    def broker_runs(self) -> bool:
        """Whether a broker of this folder runs on this machine."""
        return running(self.folder / "broker.pid") is not None

    def start_broker(self) -> Broker:
        """Start the broker of this folder."""
        register = self.register()
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

    def _authority(self) -> Pair:
        certificate = (self.folder / "authority.pem").read_text(encoding="utf-8")
        return Pair(certificate, (self.folder / "authority.key").read_text(encoding="utf-8"))

    def _update(self, register: Register) -> bool:
        """First what the broker enforces, then what the learner looks at: nobody is let in by half an update."""
        self._write_broker(register)
        _replace(self.folder / "members.json", _to_json(register))
        return reload(self.folder / "broker.pid", self.folder / "broker.log")

    def _write_broker(self, register: Register) -> None:
        largest = max(_SMALLEST_LIMIT, 2 * largest_query(self.study().terms.parameters))
        text = config_text(_place(self.folder.absolute(), register), _users(register), largest=largest)
        _replace(self.folder / "broker.conf", text.encode())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One change at a time."""
        with (self.folder / "members.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _users(register: Register) -> dict[str, dict[str, object]]:
    owners = {
        member.identity: subjects.owner_permissions(name)
        for name, member in register.owners.items()
        if not member.revoked
    }
    return {register.learner: subjects.learner_permissions(), **owners}


def _place(folder: Path, register: Register) -> Place:
    return Place(
        host=register.listen,
        port=register.port,
        certificate=folder / "server.pem",
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


def _write_secret(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def _replace(path: Path, content: bytes) -> None:
    """A new content, complete or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
