"""Events in words, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from copriv.runtime.events import Done, Note, Refused, Waiting, Warned
from copriv.runtime.network_events import Evaluated, Expelled, NetworkEvent, Replied

_MOST_NAMES = 8


def words_of(event: NetworkEvent) -> str | None:
    """What a person reads of an event; None if a bar, or the note beside it, says it already.

    >>> words_of(Waiting(("east", "north")))
    'waiting for east, north'
    """
    match event:
        case Note(words):
            return words
        case Warned(words):
            return f"warning: {words}"
        case Waiting(owners, words):
            return f"waiting for {_some(owners)}" + (f"; {words}" if words else "")
        case Refused(_, owner, reason, words):
            return f"note: {owner} refuses ({reason}): {words}"
        case Expelled(0, owner, words):
            return f"note: {owner} is named and not counted: {words}"
        case Expelled(_, owner, words):
            return f"note: {owner} is expelled, and its answers are taken out: {words}"
        case Evaluated(owner):
            return f"{owner} has told how good the model is, behind noise"
        case Done(meetings, refused, folder):
            return f"done: {meetings:,} meetings, {refused:,} without an answer; {folder}" if meetings else None
        case _:
            return None


def replied_words(event: Replied) -> str:
    """An owner's last reply, for the line that is written over again and again.

    >>> print(replied_words(Replied(12, 0.01, 0.12, 0.88, "epsilon", "answer")))
    query 12: ε = 0.01 for any one record (replace-one); this study ε = 0.12, ledger ε = 0.88 left
    """
    sign = "ε" if event.measure == "epsilon" else "ρ"
    left = "no budget is declared" if event.left is None else f"ledger {sign} = {event.left:.6g} left"
    price = f"{sign} = {event.price:.6g} for any one {event.unit} ({event.adjacency})"
    return f"query {event.query}: {price}; this study {sign} = {event.spent:.6g}, {left}"


def _some(names: Sequence[str]) -> str:
    """Names, and how many more there are.

    >>> _some([f"bank-{place}" for place in range(10)])
    'bank-0, bank-1, bank-2, bank-3, bank-4, bank-5, bank-6, bank-7 and 2 more'
    """
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
