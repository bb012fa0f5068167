"""How learner and owners find each other: who is there, who is wanted, when it is over.

An owner says hello and is welcomed or turned away. In a *broadcast* study the learner calls for work and owners claim
it; in a *request* study owners claim whenever their clock ticks. A claim costs nothing: only a query is ever paid for.
Every message carries the hash of the terms; whoever has other terms is not heard.

Names and instances become parts of subjects, and numbers of owners enter the rule, so decoding itself refuses what is
out of range or could be anything but plain text. What is refused is ignored.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from copriv.errors import ProtocolError
from copriv.privacy.accounting import Accountant
from copriv.protocol.text import is_plain

Stage = Literal["waiting", "training", "ended"]
Purpose = Literal["roll", "work", "end"]

LONGEST_HELLO = 4096
NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,59}\Z"
# Of everything that is said over the broker; whoever speaks another version is turned away.
VERSION = 3
_LONGEST_WORDS = 500

_Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
_Name = Annotated[str, Meta(pattern=NAME)]
_Instance = Annotated[str, Meta(pattern=r"^[0-9a-f]{1,64}\Z")]
_Number = Annotated[int, Meta(ge=0, le=2**53)]
_Receipt = Annotated[str, Meta(pattern=r"^([1-9][0-9]{0,18}:)?[0-9a-f]{64}\Z")]


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
        ledger: the random id of its ledger, by which the learner keeps receipts across studies; empty if it has none.
        version: of the protocol; 1 where it was not said.
    """

    terms: _Digest
    owner: _Name
    instance: _Instance
    records: Annotated[int, Meta(ge=1, le=10**12)]
    nano_epsilon: Annotated[int, Meta(ge=1, le=10**18)]
    delta: Annotated[float, Meta(ge=0, lt=1)]
    accountant: Accountant
    answers: Annotated[int, Meta(ge=1, le=10**9)]
    rate: Annotated[float, Meta(ge=0, le=1e9)] = 0.0
    ledger: Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?\Z")] = ""
    version: int = 1


class Welcome(msgspec.Struct, frozen=True, tag="welcome"):
    """The learner has taken note of an owner, and says how far the study is; at the end, with the model.

    With the newest receipt that it has of the owner's ledger, from this study or an earlier one.
    """

    terms: _Digest
    stage: Stage
    theta: tuple[float, ...] = ()
    receipt: _Receipt | None = None


class TurnedAway(msgspec.Struct, frozen=True, tag="turned away"):
    """The learner has no place for this owner: `final` means that asking again is of no use."""

    terms: _Digest
    text: Annotated[str, Meta(max_length=_LONGEST_WORDS)]
    final: bool

    def __post_init__(self) -> None:
        if not is_plain(self.text):
            raise ValueError("text that cannot be shown")


class Call(msgspec.Struct, frozen=True, tag="call"):
    """The learner speaks to all owners: say hello; claim meeting `number`; it is over, say hello to get the model."""

    terms: _Digest
    purpose: Purpose
    number: _Number = 0


class Claim(msgspec.Struct, frozen=True, tag="claim"):
    """An owner is ready to be asked; in a broadcast study, for meeting `number`."""

    terms: _Digest
    owner: _Name
    instance: _Instance
    number: _Number = 0


Notice: TypeAlias = Hello | Welcome | TurnedAway | Call | Claim

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Notice] = msgspec.msgpack.Decoder(Hello | Welcome | TurnedAway | Call | Claim)


def encode_notice(notice: Notice) -> bytes:
    """The bytes of a notice.

    >>> decode_notice(encode_notice(Claim("0" * 64, "bank", "a7", 3))).instance
    'a7'
    """
    return _encoder.encode(notice)


def decode_notice(data: bytes) -> Notice:
    """Read a notice, or say that this is none."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise ProtocolError("these bytes are not a notice", remedy="send one of this protocol") from problem
