"""The three things said: a query, an answer, a refusal. And the receipt that keeps an owner's ledger honest.

Every answer carries a receipt: a random token that says nothing to anybody but the owner's ledger. The learner echoes
the newest receipt it holds. A ledger that does not know its own receipt was rolled back, and says so.

How learner and owners find each other is said in `meeting`.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from copriv.privacy.release import Release
from copriv.protocol.text import is_plain

Reason = Literal[
    "oversized",
    "malformed",
    "terms",
    "outside",
    "rollback",
    "unfounded",
    "exhausted",
    "conflict",
    "failed",
    "garbage",
]
Kind = Literal["gradient", "moments", "loss", "second_moments", "validation", "positives"]

LONGEST_TEXT = 500


class Query(msgspec.Struct, frozen=True, tag="query"):
    """The learner asks an owner for its average gradient or loss at θ, for moments, or for a validation.

    The id makes repeating free. The receipt is the newest one that the learner holds from this owner. The share is the
    per cent of the training budget that the learner has chosen from the menu of the terms; 0 where there is none.
    `before` is the level at which this owner has answered the same question already: the answer is then at the level of
    both together, takes the place of the former, and costs the difference.
    """

    id: str
    terms: str
    owner: str
    theta: tuple[float, ...]
    receipt: str | None = None
    kind: Kind = "gradient"
    share: int = 0
    before: int = 0


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """The owner's noisy average, the record of its release, and the receipt for it."""

    id: str
    owner: str
    values: tuple[float, ...]
    release: Release
    receipt: str


class Refusal(msgspec.Struct, frozen=True, tag="refusal"):
    """The owner says no; the words depend on the query and the account, never on a record.

    One reason is the learner's own word: an answer that is not one to the query was "garbage". The text is printable
    and short, or the refusal is not read.
    """

    id: str
    owner: str
    reason: Reason
    text: Annotated[str, Meta(max_length=LONGEST_TEXT)]

    def __post_init__(self) -> None:
        if not is_plain(self.text):
            raise ValueError("text that cannot be shown")


Reply: TypeAlias = Answer | Refusal


class Silence(msgspec.Struct, frozen=True):
    """Nobody has replied in time. Not a message: what a transport says when there is none.

    The query may have been charged all the same, so it stays open: the owner is asked the same again when it is back.
    """

    owner: str
