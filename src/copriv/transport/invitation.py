"""An invitation: everything that one owner needs to take part, in one file.

It answers a request and holds no key: that one never leaves its owner. Only in rehearsals on one machine, where nobody
asks, a key comes along.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from copriv.errors import BadInput
from copriv.protocol.study_file import StudyFile, read_study
from copriv.transport.authority import Pair, require_hosts
from copriv.transport.certificates import is_for_key
from copriv.transport.subjects import require_name

FORMAT = 2
_READABLE = (1, 2)  # in 1, every invitation held a key
_LAST_PORT = 65_535
_HEADER = "# An invitation to a copriv study, for one owner. It holds no secret.\n\n"
_REHEARSAL_HEADER = (
    "# An invitation to the rehearsal of a copriv study. It holds a private key: it stays on this machine.\n\n"
)


class Invitation(msgspec.Struct, frozen=True):
    """What the learner gives to one owner.

    Args:
        owner: the owner's name in the study.
        host: where the broker is.
        port: its port.
        authority: the certificates of the learner's authorities: one, or two while one takes over from the other.
        certificate: the owner's certificate.
        study: the text of the study file.
        key: the owner's key, in rehearsals only.
        format: of this file.
    """

    owner: str
    host: str
    port: int
    authority: str
    certificate: str
    study: str
    key: str = ""
    format: int = FORMAT

    def pair(self, kept: str | None) -> Pair:
        """The owner's certificate and key: the one that was kept at home when it made its request.

        Args:
            kept: the key of the pending request, if there is one.
        """
        key = self.key or kept
        if key is None:
            raise BadInput(
                "the invitation answers a request, and there is none in this folder",
                remedy="use the --folder of `copriv owner request`, or make a new request there",
                value=self.owner,
            )
        if not is_for_key(self.certificate, key):
            raise BadInput(
                f"the certificate of {self.owner} is not for the key of this folder",
                remedy="take the learner's answer to the newest request, or make a new request",
                value=self.owner,
            )
        return Pair(self.certificate, key)

    def terms(self) -> StudyFile:
        """The study that the owner is invited to."""
        return read_study(self.study)

    def __repr__(self) -> str:
        return f"Invitation(owner={self.owner!r}, host={self.host!r}, port={self.port})"


def write_invitation(invitation: Invitation, path: Path) -> None:
    """Write an invitation for its owner's eyes only; an existing file is never overwritten."""
    import tomli_w

    header = _REHEARSAL_HEADER if invitation.key else _HEADER
    text = header + tomli_w.dumps(msgspec.to_builtins(invitation), multiline_strings=True)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        raise BadInput(
            f"the invitation {path} cannot be written: {problem.strerror}",
            remedy="choose another --out",
            value=str(path),
        ) from problem


def read_invitation(path: Path) -> Invitation:
    """Read an invitation, or say why it is none."""
    import tomllib

    if not path.is_file():
        raise BadInput(f"there is no invitation {path}", remedy="ask the learner for one", value=str(path))
    try:
        invitation = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Invitation)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as problem:
        # Without the text: it may hold a key.
        raise BadInput(
            f"{path} is not an invitation: {type(problem).__name__}", remedy="ask the learner for one", value=str(path)
        ) from problem
    if invitation.format not in _READABLE:
        raise BadInput(
            f"{path} is an invitation of format {invitation.format}",
            remedy=f"this version reads formats {', '.join(map(str, _READABLE))}",
            value=invitation.format,
        )
    require_name(invitation.owner)
    _require_address(invitation)
    return invitation


def _require_address(invitation: Invitation) -> None:
    """Refuse what no broker can be reached at; it is shown to people and connected to."""
    require_hosts([invitation.host])
    if not 1 <= invitation.port <= _LAST_PORT:
        raise BadInput(
            f"the port {invitation.port} of the invitation",
            remedy=f"ask the learner for one with a port from 1 to {_LAST_PORT}",
            value=invitation.port,
        )
