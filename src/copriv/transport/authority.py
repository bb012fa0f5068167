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
from copriv.transport.subjects import require_name

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

ROLES = ("learner", "owner")
BACKDATED = timedelta(days=1)

_SERIAL = re.compile(r"[0-9A-Za-z]{1,64}")
_HOST_NAME = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9]([A-Za-z0-9-]{0,62})?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,62})?)*")
_NEW_INVITATION = "ask the learner for a new invitation: copriv learner invite NAME --again"


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


def make_authority(now: datetime, days: int = 3650) -> Pair:
    """An authority that may sign certificates of learner, broker and owners, but no further authorities."""
    from cryptography import x509

    key = _new_key()
    subject = _distinguished_name("learner authority")
    builder = _begin(subject, subject, key.public_key(), now, _utc(now) + timedelta(days=days))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    return _sign(builder, key, issuer_key=key)


def issue_server(authority: Pair, hosts: Sequence[str], now: datetime, days: int = 825) -> Pair:
    """What the broker shows to its clients: good for being reached under these names and addresses, nothing else."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    if isinstance(hosts, str) or not hosts:
        raise BadInput(
            f"the hosts {hosts!r}",
            remedy="list the names and addresses under which owners reach the learner",
            value=hosts,
        )
    names = x509.SubjectAlternativeName([_host(host) for host in hosts])
    return _issue(authority, "broker", names, ExtendedKeyUsageOID.SERVER_AUTH, now, days)


def issue_client(authority: Pair, identity: str, now: datetime, days: int = 825) -> Pair:
    """What a learner or an owner shows to the broker: good for speaking as this identity, nothing else."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    name = _name_in(identity)
    names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(identity)])
    return _issue(authority, name, names, ExtendedKeyUsageOID.CLIENT_AUTH, now, days)


def expires(pair: Pair) -> datetime:
    """When a certificate ceases to be accepted."""
    return _read(pair.certificate).not_valid_after_utc


def require_valid(certificate_pem: str, now: datetime) -> None:
    """Refuse a certificate that every broker would refuse today, and say so more clearly than it would."""
    _require_current(_read(certificate_pem), now, remedy=_NEW_INVITATION)


def _require_current(certificate: x509.Certificate, now: datetime, *, remedy: str) -> None:
    first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if _utc(now) > last:
        raise BadInput(f"the certificate expired on {_written(last)}", remedy=remedy, value=last)
    if _utc(now) < first:
        raise BadInput(
            f"the certificate is not valid before {_written(first)}",
            remedy=f"set this machine's clock, which says {_written(_utc(now))}",
            value=first,
        )


def _issue(
    authority: Pair,
    name: str,
    alternatives: x509.SubjectAlternativeName,
    purpose: x509.ObjectIdentifier,
    now: datetime,
    days: int,
) -> Pair:
    """Sign a new key for one purpose; no certificate outlives the authority behind it."""
    from cryptography import x509

    issuer, key = _read(authority.certificate), _new_key()
    _require_current(issuer, now, remedy="make a new authority and invite every owner again")
    until = min(_utc(now) + timedelta(days=days), issuer.not_valid_after_utc)
    builder = _begin(_distinguished_name(name), issuer.subject, key.public_key(), now, until)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    builder = builder.add_extension(alternatives, critical=False)
    return _sign(builder, key, issuer_key=_read_key(authority))


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


def _sign(
    builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, *, issuer_key: ec.EllipticCurvePrivateKey
) -> Pair:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    certificate = builder.add_extension(issuer, critical=False).sign(issuer_key, hashes.SHA256())
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Pair(certificate.public_bytes(Encoding.PEM).decode(), secret.decode())


def _new_key() -> ec.EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _read(certificate_pem: str) -> x509.Certificate:
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(certificate_pem.encode())
    except ValueError as problem:
        # Without the text: where files were mixed up, it is a key.
        raise BadInput(f"a certificate that cannot be read: {problem}", remedy=_NEW_INVITATION) from problem


def _read_key(authority: Pair) -> ec.EllipticCurvePrivateKey:
    """The authority's key; the errors do not carry it, for they are printed and logged."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(authority.key.encode(), password=None)
    except (ValueError, TypeError) as problem:
        raise BadInput("the authority's key cannot be read", remedy="restore it from its backup") from problem
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise BadInput("the authority's key is of another kind", remedy="restore it from its backup")
    return key


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
        return x509.IPAddress(ip_address(host))
    except ValueError:
        pass
    if not _HOST_NAME.fullmatch(host):
        raise BadInput(
            f"the host {host!r}", remedy="give a name or an address alone, such as learner.example.org", value=host
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


def _written(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
