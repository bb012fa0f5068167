"""A request: an owner's public key and name, signed with the private key that stays at home. It holds no secret."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from copriv.errors import BadInput
from copriv.transport.authority import key_text, new_key
from copriv.transport.certificates import fingerprint_of_key
from copriv.transport.subjects import require_name

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

FORMAT = 1
LONGEST_REQUEST = 4096

_HEADER = "# A request to take part in a copriv study. It holds no secret; compare its fingerprint by telephone.\n\n"
_REMEDY = "ask the owner for another one: copriv owner request NAME"


class Request(msgspec.Struct, frozen=True):
    """What an owner gives to the learner.

    Args:
        name: the name under which the owner wants to take part.
        request: its public key, signed with the private one, as PEM.
        format: of this file.
    """

    name: str
    request: str
    format: int = FORMAT

    @property
    def fingerprint(self) -> str:
        """Of the public key; both sides print it, to be compared by telephone."""
        return fingerprint_of_key(public_key_of(self.request))


def make_request(name: str) -> tuple[str, Request]:
    """A new private key, as PEM, and the request for it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.x509.oid import NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, require_name(name))])
    key = new_key()
    signed = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return key_text(key), Request(name, signed.public_bytes(Encoding.PEM).decode())


def public_key_of(request_pem: str) -> ec.EllipticCurvePublicKey:
    """The key that a certificate is asked for, if whoever asks holds its private half."""
    from cryptography.hazmat.primitives.asymmetric import ec

    read = _read_signed(request_pem)
    try:
        key = read.public_key()
        sound = read.is_signature_valid
    except Exception as problem:
        raise BadInput(f"a request whose key cannot be read: {type(problem).__name__}", remedy=_REMEDY) from problem
    if not sound:
        raise BadInput("a request that was not signed with the key it names", remedy=_REMEDY)
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise BadInput("a request for a key that is not on P-256", remedy=_REMEDY)
    return key


def request_text(request: Request) -> str:
    """A request as it is passed on."""
    import tomli_w

    return _HEADER + tomli_w.dumps(msgspec.to_builtins(request), multiline_strings=True)


def read_request(path: Path) -> Request:
    """Read a request and check it, or say why it is none."""
    import tomllib

    if not path.is_file():
        raise BadInput(f"there is no request {path}", remedy=_REMEDY, value=str(path))
    try:
        with path.open("rb") as file:
            text = file.read(4 * LONGEST_REQUEST).decode()
        request = msgspec.convert(tomllib.loads(text), Request)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError, RecursionError) as problem:
        raise BadInput(f"{path} is not a request: {type(problem).__name__}", remedy=_REMEDY, value=str(path)) from None
    if request.format != FORMAT:
        raise BadInput(f"{path} is a request of format {request.format}", remedy=f"this version reads format {FORMAT}")
    _require_name(request)
    return request


def _require_name(request: Request) -> None:
    """The name that was signed is the name that is asked for."""
    from cryptography.x509.oid import NameOID

    require_name(request.name)
    public_key_of(request.request)
    signed = [
        str(part.value) for part in _read_signed(request.request).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    ]
    if signed != [request.name]:
        raise BadInput(f"a request for {request.name!r} that was signed for another name", remedy=_REMEDY)


def _read_signed(request_pem: str) -> x509.CertificateSigningRequest:
    from cryptography import x509

    if len(request_pem) > LONGEST_REQUEST:
        raise BadInput(f"a request of {len(request_pem)} characters", remedy=_REMEDY)
    try:
        return x509.load_pem_x509_csr(request_pem.encode())
    except ValueError as problem:
        raise BadInput("a request that cannot be read", remedy=_REMEDY) from problem
