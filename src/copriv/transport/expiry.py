"""When certificates end, as both sides show it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from copriv.transport.certificates import life_of, written


class Expiry(msgspec.Struct):
    """When a certificate ends, and whether less than a third of its life is left."""

    holder: str
    expires: str
    running_out: bool


def expiry_of(holder: str, certificate: str) -> Expiry:
    """When the certificate of somebody ends."""
    life, now = life_of(certificate), datetime.now(UTC)
    return Expiry(holder, life.ends.isoformat(timespec="seconds"), life.running_out(now))


def words_of(expiry: Expiry) -> str:
    """The same for people."""
    return f"until {written(datetime.fromisoformat(expiry.expires))}"


def warnings_of(expiries: Iterable[Expiry], remedy: str) -> list[str]:
    """A sentence for each certificate that should have been renewed by now."""
    return [
        f"warning: less than a third of the life of the certificate of {expiry.holder} is left "
        f"({words_of(expiry)}): {remedy}"
        for expiry in expiries
        if expiry.running_out
    ]
