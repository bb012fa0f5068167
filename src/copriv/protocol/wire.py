"""Messages as bytes (MessagePack): doubles travel bit for bit.

>>> from copriv.protocol.messages import Query
>>> query = Query("q1", "abc", "bank", (0.1, -2.5e-300))
>>> decode_query(encode(query)) == query
True
"""

from __future__ import annotations

import msgspec

from copriv.errors import ProtocolError
from copriv.losses.moments import moment_count
from copriv.protocol.messages import Answer, Query, Refusal, Reply

# What a decoder may say of bytes that are no message: also invalid text, and nesting without end.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_encoder = msgspec.msgpack.Encoder()
_queries = msgspec.msgpack.Decoder(Query)
_replies: msgspec.msgpack.Decoder[Answer | Refusal] = msgspec.msgpack.Decoder(Answer | Refusal)


def largest_query(parameters: int) -> int:
    """No query of so many numbers has more bytes; what is longer is refused unread.

    >>> largest_query(10)
    4346
    """
    return 4096 + 25 * parameters


def largest_reply(parameters: int, *, squares: bool = False) -> int:
    """No reply under terms with so many parameters has more bytes; with squares where products may be asked for.

    >>> largest_reply(10), largest_reply(10, squares=True)
    (4346, 5721)
    """
    return largest_query(moment_count(parameters) if squares else parameters)


def encode(message: Query | Answer | Refusal) -> bytes:
    """The bytes of a message."""
    return _encoder.encode(message)


def decode_query(data: bytes) -> Query:
    """Read a query, or say that this is none."""
    try:
        return _queries.decode(data)
    except _UNREADABLE as problem:
        raise ProtocolError("these bytes are not a query", remedy="send a query of this protocol") from problem


def decode_reply(data: bytes) -> Reply:
    """Read an answer or a refusal, or say that this is neither."""
    try:
        return _replies.decode(data)
    except _UNREADABLE as problem:
        raise ProtocolError("these bytes are not a reply", remedy="ask an owner of this protocol") from problem
