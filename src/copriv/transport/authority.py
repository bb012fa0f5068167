"""The learner's own certificate authority: who may speak to the broker, and under which identity.

Learner, broker and owners trust this authority and no other, so that no public one can let anybody in. The broker
reads who speaks from the certificate alone. Every invitation has an identity of its own: a certificate that was
revoked stays revoked, even when its owner is invited again under the same name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING

import msgspec

from copriv.errors import BadInput
from copriv.protocol.text import plain
from copriv.transport.certificates import BACKDATED, read_certificate, read_key, require_valid
from copriv.transport.subjects import require_name

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

ROLES = ("learner", "owner")
DAYS = 60.0
AUTHORITY_DAYS = 1826.0

_SERIAL = re.compile(r"[0-9A-Za-z]{1,64}")
_HOST_NAME = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9]([A-Za-z0-9-]{0,62})?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,62})?)*")


class Pair(msgspec.Struct, frozen=True):
    """A certificate and its private key, both as PEM. What is printed or logged of it never shows the key.

    Args:
        certificate: says who its holder is, and may be shown to anybody.
        key: proves it, and stays with the holder.
    """

    certificate: str
    key: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}(certificate={self.certificate!r}, key=<secret>)"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("certificate", self.certificate), ("key", "<secret>")]


def identity_of(role: str, name: str, serial: str) -> str:
    """The identity of one invitation, as it stands in the certificate and in the broker's configuration.

    >>> identity_of("owner", "first-bank", "9f3c")
    'copriv:owner:first-bank:9f3c'
    """
    if role not in ROLES:
        raise BadInput(f"the role {role!r}", remedy=f"roles are {', '.join(ROLES)}", value=role)
    if not _SERIAL.fullmatch(serial):
        raise BadInput(f"the serial {serial!r}", remedy="use letters and digits, at most 64 of them", value=serial)
    return f"copriv:{role}:{require_name(name)}:{serial}"


def serial_in(identity: str) -> str:
    """The serial of an identity.

    >>> serial_in("copriv:owner:first-bank:9f3c")
    '9f3c'
    """
    _name_in(identity)
    return identity.rsplit(":", 1)[1]


def make_authority(now: datetime, days: float = AUTHORITY_DAYS) -> Pair:
    """An authority that may sign certificates of learner, broker and owners, but no further authorities."""
    from cryptography import x509

    key = new_key()
    subject = _distinguished_name("learner authority")
    builder = _begin(subject, subject, key.public_key(), now, _utc(now) + timedelta(days=days))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    return Pair(_sign(builder, key), key_text(key))


def issue_server(authority: Pair, hosts: Sequence[str], now: datetime, days: float = DAYS) -> Pair:
    """What the broker shows to its clients: good for being reached under these names and addresses, nothing else."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    require_hosts(hosts)
    names, key = x509.SubjectAlternativeName([_host(host) for host in hosts]), new_key()
    whom = (key.public_key(), "broker", names, ExtendedKeyUsageOID.SERVER_AUTH)
    return Pair(_certify(authority, *whom, now, days), key_text(key))


def require_hosts(hosts: Sequence[str]) -> None:
    """Refuse what a broker's certificate could not be made for."""
    if isinstance(hosts, str) or not hosts:
        raise BadInput(
            f"the hosts {hosts!r}",
            remedy="list the names and addresses under which owners reach the learner",
            value=hosts,
        )
    for host in hosts:
        _host(host)


def issue_client(authority: Pair, identity: str, now: datetime, days: float = DAYS) -> Pair:
    """What a learner or an owner shows to the broker, with a new key: good for speaking as this identity only."""
    key = new_key()
    return Pair(certify_client(authority, key.public_key(), identity, now, days), key_text(key))


def certify_client(
    authority: Pair, key: ec.EllipticCurvePublicKey, identity: str, now: datetime, days: float = DAYS
) -> str:
    """The same for somebody else's key, which stays where it was made."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    name = _name_in(identity)
    names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(identity)])
    return _certify(authority, key, name, names, ExtendedKeyUsageOID.CLIENT_AUTH, now, days)


def _certify(
    authority: Pair,
    key: ec.EllipticCurvePublicKey,
    name: str,
    alternatives: x509.SubjectAlternativeName,
    purpose: x509.ObjectIdentifier,
    now: datetime,
    days: float,
) -> str:
    """Sign a key for one purpose; no certificate outlives the authority behind it."""
    from cryptography import x509

    require_valid(
        authority.certificate, now, remedy="let a new authority take over with `copriv learner authority roll`"
    )
    issuer = read_certificate(authority.certificate)
    until = min(_utc(now) + timedelta(days=days), issuer.not_valid_after_utc)
    builder = _begin(_distinguished_name(name), issuer.subject, key, now, until)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    builder = builder.add_extension(alternatives, critical=False)
    return _sign(builder, read_key(authority.key))


def _begin(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, until: datetime
) -> x509.CertificateBuilder:
    """Backdated, so that clocks that differ between buildings lock nobody out."""
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_utc(now) - BACKDATED)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _sign(builder: x509.CertificateBuilder, issuer_key: ec.EllipticCurvePrivateKey) -> str:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import Encoding

    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    certificate = builder.add_extension(issuer, critical=False).sign(issuer_key, hashes.SHA256())
    return certificate.public_bytes(Encoding.PEM).decode()


def new_key() -> ec.EllipticCurvePrivateKey:
    """A new private key on P-256."""
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def key_text(key: ec.EllipticCurvePrivateKey) -> str:
    """A private key as PEM, to be written where only its holder reads."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _distinguished_name(name: str) -> x509.Name:
    """For people only: the broker goes by the identity."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "copriv"), x509.NameAttribute(NameOID.COMMON_NAME, name)]
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _host(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        if "%" not in host:  # behind it, ip_address takes any text for the name of an interface
            return x509.IPAddress(ip_address(host))
    except ValueError:
        pass
    if not _HOST_NAME.fullmatch(host):
        raise BadInput(
            f"the host {plain(host)!r}",
            remedy="give a name or an address alone, such as learner.example.org",
            value=host,
        )
    return x509.DNSName(host)


def _name_in(identity: str) -> str:
    parts = identity.split(":")
    if len(parts) != 4 or identity_of(*parts[1:]) != identity:
        raise BadInput(
            f"the identity {identity!r}", remedy="make it of role, name and serial, as identity_of does", value=identity
        )
    return parts[2]


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)
