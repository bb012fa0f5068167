"""Owners in the same process. Messages still travel as bytes, so that nothing else can cross the border."""

from __future__ import annotations

from collections.abc import Iterable

from copriv.errors import ProtocolError
from copriv.owner.owner import Owner
from copriv.protocol.messages import Query, Reply
from copriv.protocol.wire import decode_reply, encode


class InProcessTransport:
    """Hands each query to the owner it names."""

    def __init__(self, owners: Iterable[Owner]) -> None:
        self._owners = {owner.name: owner for owner in owners}

    def ask(self, query: Query) -> Reply:
        """Put a query to its owner and bring back the reply."""
        owner = self._owners.get(query.owner)
        if owner is None:
            raise ProtocolError(
                f"there is no owner {query.owner!r}", remedy=f"owners are {sorted(self._owners)}", value=query.owner
            )
        return decode_reply(owner.handle(encode(query)))
