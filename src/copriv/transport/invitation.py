"""An invitation: everything that one owner needs to take part, in one file. It holds a key, so it is a secret."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from copriv.errors import BadInput
from copriv.protocol.study_file import StudyFile, read_study
from copriv.transport.authority import Pair

FORMAT = 1
_HEADER = (
    "# An invitation to a copriv study. It holds a private key: pass it on over a safe channel, to its owner only.\n\n"
)


class Invitation(msgspec.Struct, frozen=True):
    """What the learner gives to one owner.

    Args:
        owner: the owner's name in the study.
        host: where the broker is.
        port: its port.
        authority: the certificate of the learner's authority.
        certificate: the owner's certificate.
        key: its key.
        study: the text of the study file.
        format: of this file.
    """

    owner: str
    host: str
    port: int
    authority: str
    certificate: str
    key: str
    study: str
    format: int = FORMAT

    @property
    def pair(self) -> Pair:
        """The owner's certificate and key."""
        return Pair(self.certificate, self.key)

    def terms(self) -> StudyFile:
        """The study that the owner is invited to."""
        return read_study(self.study)

    def __repr__(self) -> str:
        return f"Invitation(owner={self.owner!r}, host={self.host!r}, port={self.port}, key=<secret>)"


def write_invitation(invitation: Invitation, path: Path) -> None:
    """Write an invitation for its owner's eyes only; an existing file is never overwritten."""
    import tomli_w

    text = _HEADER + tomli_w.dumps(msgspec.to_builtins(invitation), multiline_strings=True)
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
        # Without the text: it holds a key.
        raise BadInput(
            f"{path} is not an invitation: {type(problem).__name__}", remedy="ask the learner for one", value=str(path)
        ) from problem
    if invitation.format != FORMAT:
        raise BadInput(
            f"{path} is an invitation of format {invitation.format}",
            remedy=f"this version reads format {FORMAT}",
            value=invitation.format,
        )
    return invitation
