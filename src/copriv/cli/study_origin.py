"""Who asks, and which public rows a study was drafted from, for the person who approves it."""

from __future__ import annotations

from copriv.protocol.terms import Terms
from copriv.protocol.text import quoted, squeezed

NOT_NAMED = "not named"


def origin_rows(terms: Terms) -> list[tuple[str, str]]:
    """Each a name and what is to be said; names are the learner's choice, and shown as text."""
    return [
        ("learner", quoted(terms.learner) if terms.learner else NOT_NAMED),
        ("public rows", squeezed(terms.public.words, 400)),
    ]
