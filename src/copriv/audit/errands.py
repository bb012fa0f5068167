"""What a learner may send to an owner, good and bad, and in which order: the script of one owner's working life."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from copriv.protocol.messages import Kind, Query
from copriv.protocol.terms import Terms
from copriv.protocol.wire import encode

Errand: TypeAlias = bytes | Literal["restart"]
# Kind, share, and the level that the same question was answered at before.
Choice: TypeAlias = tuple[Kind, int, int]

# Kinds of questions that do not depend on a model, and how often each is asked: more would spend what others need.
_OF_NO_MODEL: tuple[Kind, ...] = ("second_moments", "positives")
_FIRST = 2
_GARBAGE = (b"", b"\xc1", b"\x91" * 2000, b"[/x]\x1b[2J", b"\xff\xfe")


def models(terms: Terms) -> list[tuple[float, ...]]:
    """Models at which a record stands out if it ever does: nothing, a little, and the corners of the box."""
    size, limit = min(terms.parameters, 1000), terms.limit
    alternating = tuple(limit if place % 2 else -limit for place in range(size))
    ramp = tuple(limit * (place + 1) / size for place in range(size))
    return [(0.0,) * size, (limit,) * size, (-limit,) * size, alternating, (5e-324,) * size, ramp]


def brief(terms: Terms, owner: str, choices: Sequence[Choice]) -> list[Errand]:
    """Every kind of question, at nothing and at a corner of the box; of a menu, at every share, and once made finer."""
    return [encode(query) for query in _questions(terms, owner, choices) if query.theta in models(terms)[:_FIRST]]


def thorough(terms: Terms, owner: str, choices: Sequence[Choice], receipt: str) -> list[Errand]:
    """Everything that an owner has a word for: repetitions, conflicts, strangers, garbage, restarts, a spent budget.

    Args:
        terms: the study's.
        owner: whom to ask.
        choices: what the terms set a budget aside for: kinds, shares, and levels before.
        receipt: the one that the owner will have given for its first answer.
    """
    early = models(terms)[:_FIRST]  # of every kind some are asked before the budget is spent
    questions = sorted(_questions(terms, owner, choices), key=lambda query: query.theta not in early)
    first, asked = questions[0], [encode(query) for query in questions]
    known = msgspec.structs.replace(first, id="with-a-receipt", receipt=receipt)
    return [
        asked[0],
        asked[0],
        *(encode(query) for query in _strangers(first, terms)),
        *_GARBAGE,
        asked[0][:-3],
        asked[0] + b"\x00",
        b"\x00" * (1 << 20),
        "restart",
        asked[0],
        encode(known),
        *asked[1:],
        "restart",
        *asked,
        *(encode(msgspec.structs.replace(query, id=f"beyond-{query.id}")) for query in questions[:3]),
        encode(msgspec.structs.replace(known, id="late", receipt=receipt)),
    ]


def _questions(terms: Terms, owner: str, choices: Sequence[Choice]) -> Iterator[Query]:
    for kind, share, before in choices:
        alike = kind in _OF_NO_MODEL
        for place, theta in enumerate(models(terms)[: _FIRST if alike else None]):
            asked = (0.0,) * len(theta) if alike else theta
            name = f"{kind}-{share}-{place}" if share else f"{kind}-{place}"
            name += f"-after-{before}" if before else ""
            yield Query(name, terms.digest(), owner, asked, kind=kind, share=share, before=before)


def _strangers(first: Query, terms: Terms) -> Iterator[Query]:
    """Queries that an owner must refuse, whatever its records are."""
    other, size = tuple(value + terms.limit / 2 for value in first.theta), len(first.theta)
    changed = msgspec.structs.replace
    yield changed(first, theta=other)
    yield changed(first, terms="0" * 64)
    yield changed(first, owner="somebody else")
    for place, name in enumerate(("", "x" * 201, "\x1b[2J[/x]\n")):
        yield changed(first, id=name, terms=first.terms if place < 2 else "")
    for place, value in enumerate((2 * terms.limit, math.inf, math.nan, -math.inf)):
        yield changed(first, id=f"outside-{place}", theta=(value,) * size)
    yield changed(first, id="short", theta=first.theta[1:])
    yield changed(first, id="empty", theta=())
    for place, receipt in enumerate(("", "0" * 64, "1:" + "0" * 64, "\x1b[2J", "x" * 3000)):
        yield changed(first, id=f"receipt-{place}", receipt=receipt)
    for before in (-1, 1, first.share or 10, 1 << 62):
        yield changed(first, id=f"after-{before}", before=before, theta=other)
    kinds: tuple[Kind, ...] = ("gradient", "moments", "loss", "second_moments", "validation", "positives")
    for kind in kinds:
        yield changed(first, kind=kind, theta=other)
        yield changed(first, kind=kind, id=f"{kind}-unlisted", share=first.share + 1)
