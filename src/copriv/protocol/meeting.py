"""How learner and owners find each other: who is there, who is wanted, when it is over.

An owner says hello and is welcomed or turned away. In a *broadcast* study the learner calls for work and owners claim
it; in a *request* study owners claim whenever their clock ticks. A claim costs nothing: only a query is ever paid for.
Every message carries the hash of the terms; whoever has other terms is not heard.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from copriv.errors import ProtocolError

Stage = Literal["waiting", "training", "ended"]
Purpose = Literal["roll", "work", "end"]

LONGEST_HELLO = 4096


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """An owner is there, with what the learner may know of it; `instance` tells one process of it from another.

    Args:
        terms: digest of the approved terms.
        owner: the owner's name.
        instance: a fresh word for each process that serves.
        records: n_i, public under replace-one adjacency.
        nano_epsilon: what it promises for this study.
        delta: likewise.
        accountant: how its answers add up.
        answers: K_i, the most it will answer.
        rate: of its Poisson clock; 0 if it is always on.
    """

    terms: str
    owner: str
    instance: str
    records: int
    nano_epsilon: int
    delta: float
    accountant: str
    answers: int
    rate: float = 0.0


class Welcome(msgspec.Struct, frozen=True, tag="welcome"):
    """The learner has taken note of an owner, and says how far the study is; at the end, with the model."""

    terms: str
    stage: Stage
    theta: tuple[float, ...] = ()


class TurnedAway(msgspec.Struct, frozen=True, tag="turned away"):
    """The learner has no place for this owner: `final` means that asking again is of no use."""

    terms: str
    text: str
    final: bool


class Call(msgspec.Struct, frozen=True, tag="call"):
    """The learner speaks to all owners: say hello; claim meeting `number`; it is over, say hello to get the model."""

    terms: str
    purpose: Purpose
    number: int = 0


class Claim(msgspec.Struct, frozen=True, tag="claim"):
    """An owner is ready to be asked; in a broadcast study, for meeting `number`."""

    terms: str
    owner: str
    instance: str
    number: int = 0


Notice: TypeAlias = Hello | Welcome | TurnedAway | Call | Claim

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Notice] = msgspec.msgpack.Decoder(Hello | Welcome | TurnedAway | Call | Claim)


def encode_notice(notice: Notice) -> bytes:
    """The bytes of a notice.

    >>> decode_notice(encode_notice(Claim("t", "bank", "x", 3)))
    Claim(terms='t', owner='bank', instance='x', number=3)
    """
    return _encoder.encode(notice)


def decode_notice(data: bytes) -> Notice:
    """Read a notice, or say that this is none."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise ProtocolError("these bytes are not a notice", remedy="send one of this protocol") from problem
