"""How an owner gets its next certificate, over the link that its present one has opened.

Who asks is not in the messages: the broker lets nobody but the holder of an identity write on its subject.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from copriv.errors import ProtocolError

LONGEST_RENEWAL = 8192


class Renewal(msgspec.Struct, frozen=True, tag="renewal"):
    """An owner asks for another certificate, for a key that it has just made; `request` is signed with it."""

    request: str


class InUse(msgspec.Struct, frozen=True, tag="in use"):
    """An owner says which certificate it uses now; the learner repeats it, without the certificate, once noted."""

    certificate: str = ""


class Renewed(msgspec.Struct, frozen=True, tag="renewed"):
    """The learner has signed: the new certificate, and the authorities to be trusted from now on."""

    certificate: str
    authority: str


class NotRenewed(msgspec.Struct, frozen=True, tag="not renewed"):
    """The learner has not signed, or has not taken note, and says why."""

    text: str


Errand: TypeAlias = Renewal | InUse | Renewed | NotRenewed

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Errand] = msgspec.msgpack.Decoder(Renewal | InUse | Renewed | NotRenewed)


def encode_errand(errand: Errand) -> bytes:
    """The bytes of a message about certificates.

    >>> decode_errand(encode_errand(NotRenewed("not now")))
    NotRenewed(text='not now')
    """
    return _encoder.encode(errand)


def decode_errand(data: bytes) -> Errand:
    """Read a message about certificates, or say that this is none."""
    if len(data) > LONGEST_RENEWAL:
        raise ProtocolError(f"{len(data)} bytes about a certificate", remedy=f"send at most {LONGEST_RENEWAL}")
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise ProtocolError("these bytes are not about a certificate", remedy="send one of this protocol") from problem
