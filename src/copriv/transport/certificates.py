"""What a certificate says: for whom and for which key it is, who has signed it, and how long it lasts.

Certificates begin a day before they are made, so that clocks that differ between buildings lock nobody out; their life
is counted from the moment at which they were made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from copriv.errors import BadInput

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes

BACKDATED = timedelta(days=1)
NEW_REQUEST = (
    "make a new request with `copriv owner request NAME --again`, have the learner approve it, and "
    "take the answer over with `copriv owner renew`"
)

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----\n.*?\n-----END CERTIFICATE-----\n?", re.DOTALL)
_PRINTED = 32


@dataclass(frozen=True, slots=True)
class Life:
    """How long a certificate lasts.

    Args:
        issued: when it was made.
        ends: when it ceases to be accepted.
    """

    issued: datetime
    ends: datetime

    @property
    def half(self) -> datetime:
        """When it is to be renewed."""
        return self.issued + (self.ends - self.issued) / 2

    def over(self, now: datetime) -> bool:
        """Whether nobody accepts it any more."""
        return now.astimezone(UTC) > self.ends

    def running_out(self, now: datetime) -> bool:
        """Whether less than a third is left: renewal should have happened long ago."""
        return 3 * (self.ends - now.astimezone(UTC)) < self.ends - self.issued


def life_of(certificate_pem: str) -> Life:
    """How long a certificate lasts."""
    certificate = read_certificate(certificate_pem)
    return Life(certificate.not_valid_before_utc + BACKDATED, certificate.not_valid_after_utc)


def require_valid(certificate_pem: str, now: datetime, *, remedy: str = NEW_REQUEST) -> None:
    """Refuse a certificate that every broker would refuse today, and say so more clearly than it would."""
    certificate, today = read_certificate(certificate_pem), now.astimezone(UTC)
    first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if today > last:
        raise BadInput(f"the certificate expired on {written(last)}", remedy=remedy, value=last)
    if today < first:
        raise BadInput(
            f"the certificate is not valid before {written(first)}",
            remedy=f"set this machine's clock, which says {written(today)}",
            value=first,
        )


def read_certificate(certificate_pem: str) -> x509.Certificate:
    """The certificate in a text."""
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(certificate_pem.encode())
    except ValueError as problem:
        # Without the text: where files were mixed up, it is a key.
        raise BadInput(f"a certificate that cannot be read: {problem}", remedy=NEW_REQUEST) from problem


def split(bundle: str) -> tuple[str, ...]:
    """The certificates of a text that holds several."""
    return tuple(found if found.endswith("\n") else f"{found}\n" for found in _PEM.findall(bundle))


def signed_by(certificate_pem: str, root_pem: str) -> bool:
    """Whether this very authority has signed a certificate."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    try:
        read_certificate(certificate_pem).verify_directly_issued_by(read_certificate(root_pem))
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, TypeError):
        return False
    return True


def identity_in(certificate_pem: str) -> str:
    """The identity that a client's certificate is for; empty if it is not for a client."""
    from cryptography import x509

    return next(iter(_names(certificate_pem).get_values_for_type(x509.UniformResourceIdentifier)), "")


def hosts_in(certificate_pem: str) -> tuple[str, ...]:
    """The names and addresses that a broker's certificate is good for, in their order."""
    from cryptography import x509

    kinds = (x509.DNSName, x509.IPAddress)
    return tuple(str(name.value) for name in _names(certificate_pem) if isinstance(name, kinds))


def is_for_key(certificate_pem: str, key_pem: str) -> bool:
    """Whether a certificate belongs to a private key."""
    return public_key_in(certificate_pem) == read_key(key_pem).public_key()


def public_key_in(certificate_pem: str) -> CertificatePublicKeyTypes:
    """The public key that a certificate is for."""
    certificate = read_certificate(certificate_pem)
    try:
        return certificate.public_key()
    except Exception as problem:
        raise BadInput("a certificate whose key cannot be read", remedy=NEW_REQUEST) from problem


def read_key(key_pem: str) -> ec.EllipticCurvePrivateKey:
    """A private key; the errors do not carry it, for they are printed and logged."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(key_pem.encode(), password=None)
    except (ValueError, TypeError) as problem:
        raise BadInput("the key cannot be read", remedy="restore it from its backup") from problem
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise BadInput("the key is of another kind", remedy="restore it from its backup")
    return key


def fingerprint(certificate_pem: str) -> str:
    """The fingerprint of a certificate's public key, to be read out over the telephone."""
    return fingerprint_of_key(public_key_in(certificate_pem))


def fingerprint_of_key(key: CertificatePublicKeyTypes) -> str:
    """128 bits of the hash of a public key, in groups of four."""
    from hashlib import sha256

    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    digits = sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()[:_PRINTED]
    return " ".join(digits[place : place + 4] for place in range(0, _PRINTED, 4))


def written(moment: datetime) -> str:
    """A moment as people read it."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _names(certificate_pem: str) -> x509.SubjectAlternativeName:
    from cryptography import x509

    certificate = read_certificate(certificate_pem)
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return x509.SubjectAlternativeName([])
    except Exception as problem:
        raise BadInput("a certificate whose names cannot be read", remedy=NEW_REQUEST) from problem
