"""The learner's keys: the authority that signs, and the certificates of broker and learner.

`authority.pem` holds the authorities that everybody trusts, `authority.key` the key of the one that signs. While a new
authority takes over, both are trusted: certificates of owners and learner come from the new one, and the broker's from
the old one, because an owner that has not been there since knows no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from copriv.errors import BadInput
from copriv.transport.authority import Pair, issue_client, issue_server, make_authority
from copriv.transport.certificates import hosts_in, identity_in, is_for_key, life_of, signed_by, split
from copriv.transport.credentials import read_credentials, replace_file, write_credentials

_OWN = ("broker", "learner")
_ROUNDING = timedelta(seconds=1)


class Keyring:
    """The keys in a learner's folder.

    Args:
        folder: the learner's.
    """

    def __init__(self, folder: Path) -> None:
        self.roots_file = folder / "authority.pem"
        self.server_file, self.learner_file = folder / "server.key", folder / "learner.key"
        self._key, self._old_key = folder / "authority.key", folder / "authority.old.key"

    def make(self, hosts: Sequence[str], identity: str, now: datetime, days: float) -> None:
        """A new authority, and certificates for broker and learner."""
        authority = make_authority(now)
        server, learner = issue_server(authority, hosts, now, days), issue_client(authority, identity, now, days)
        replace_file(self._key, authority.key.encode())
        replace_file(self.roots_file, authority.certificate.encode())
        write_credentials(self.server_file, server)
        write_credentials(self.learner_file, learner)

    def roots(self) -> tuple[str, ...]:
        """The authorities that are trusted."""
        return split(self.roots_file.read_text(encoding="ascii"))

    def bundle(self) -> str:
        """The same as one text."""
        return "".join(self.roots())

    def signing(self) -> Pair:
        """The authority that signs for owners and learner."""
        pair = self._pair(self._key)
        if pair is None:
            raise BadInput(
                f"{self._key} is not the key of an authority in {self.roots_file}",
                remedy="restore both from the same backup",
                value=str(self._key),
            )
        return pair

    def own(self) -> dict[str, str]:
        """The certificates of broker and learner."""
        files = {"broker": self.server_file, "learner": self.learner_file}
        return {name: read_credentials(path).certificate for name, path in files.items()}

    def signs(self, certificate: str) -> bool:
        """Whether a certificate comes from the authority that signs now."""
        return signed_by(certificate, self.signing().certificate)

    def due(self, now: datetime) -> list[str]:
        """Which of broker and learner are past the half-life of their certificates, if others would last longer."""
        ends = {name: life_of(self._authority_of(name, now).certificate).ends for name in _OWN}
        lives = {name: life_of(certificate) for name, certificate in self.own().items()}
        return [
            name
            for name, life in lives.items()
            if life.half <= now and (life.over(now) or life.ends < ends[name] - _ROUNDING)
        ]

    def renew(self, names: Sequence[str], now: datetime, days: float) -> None:
        """New keys and certificates for broker or learner, under the names that the present ones have."""
        own = self.own()
        if "broker" in names:
            self._renew_broker(self._authority_of("broker", now), own["broker"], now, days)
        if "learner" in names:
            learner = issue_client(self.signing(), identity_in(own["learner"]), now, days)
            write_credentials(self.learner_file, learner)

    def add(self, authority: Pair) -> None:
        """Trust a second authority, and keep the old key for the broker's certificate. It does not sign yet."""
        replace_file(self._old_key, self.signing().key.encode())
        replace_file(self.roots_file, (authority.certificate + self.bundle()).encode())

    def sign_with(self, authority: Pair) -> None:
        """From now on this authority signs."""
        replace_file(self._key, authority.key.encode())

    def hand_over(self, now: datetime, days: float) -> None:
        """Certificates of the authority that signs for broker and learner, too."""
        self._renew_broker(self.signing(), self.own()["broker"], now, days)
        self.renew(["learner"], now, days)

    def keep_only_signing(self) -> None:
        """Trust no authority but the one that signs."""
        replace_file(self.roots_file, self.signing().certificate.encode())
        self._old_key.unlink(missing_ok=True)

    def _renew_broker(self, authority: Pair, present: str, now: datetime, days: float) -> None:
        write_credentials(self.server_file, issue_server(authority, hosts_in(present), now, days))

    def _authority_of(self, name: str, now: datetime) -> Pair:
        """Who signs for the broker is the oldest that everybody knows; for the learner, the newest."""
        old = self._pair(self._old_key) if name == "broker" else None
        return self.signing() if old is None or life_of(old.certificate).over(now) else old

    def _pair(self, key_file: Path) -> Pair | None:
        if not key_file.is_file():
            return None
        key = key_file.read_text(encoding="ascii")
        return next((Pair(root, key) for root in self.roots() if is_for_key(root, key)), None)
