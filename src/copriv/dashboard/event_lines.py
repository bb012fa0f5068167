"""What is in a diary, in words for a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from copriv.report.event_words import words_of
from copriv.runtime.events import Predicted
from copriv.runtime.network_events import (
    Arrived,
    Began,
    Expelled,
    Finished,
    NetworkEvent,
    Silent,
    TurnedAway,
)

_WORST = {"refused", "expelled", "warned", "turned-away"}


class EventLine(msgspec.Struct):
    """One line of the log: when, what kind, in words, and whether it should not be overlooked."""

    at: str
    kind: str
    words: str
    loud: bool


def line_of(event: Mapping[str, Any]) -> EventLine:
    """An event in words; one of a version to come by its kind alone."""
    kind, at = str(event.get("kind", "")), str(event.get("at", ""))
    try:
        known: NetworkEvent = msgspec.convert(dict(event), NetworkEvent)
    except msgspec.ValidationError:
        return EventLine(at, kind, kind, loud=False)
    return EventLine(at, kind, _words(known) or kind, loud=kind in _WORST)


def _words(event: NetworkEvent) -> str | None:
    match event:
        case Began(owners):
            return f"training begins or goes on with {len(owners):,} owners"
        case Arrived(owner):
            return f"{owner} is connected"
        case Silent(owner):
            return f"{owner} does not reply: it is away until it says hello again"
        case TurnedAway(owner):
            return f"{owner} has said hello, and has no place in the study"
        case Finished(owner):
            return f"{owner} is asked no more: it has given its answers, or will give none"
        case Expelled():
            return (words_of(event) or "").removeprefix("note: ")
        case Predicted(answers, psi, (low, high), misfit):
            return (
                f"ψ expected after {answers:,} answers: {psi:.2g} (95 %: {low:.2g} to {high:.2g}); public rows do not "
                f"fit with a probability of {misfit:.0%}"
            )
        case _:
            return (words_of(event) or "").removeprefix("note: ").removeprefix("warning: ") or None
