"""What a transport is: it carries one query to one owner and brings back its reply."""

from __future__ import annotations

from typing import Protocol

from copriv.protocol.messages import Query, Reply, Silence


class Transport(Protocol):
    """Carries messages; knows nothing about what they mean."""

    def ask(self, query: Query) -> Reply | Silence:
        """Put a query to the owner it names and wait for the reply, but not forever."""
