"""The three things said: a query, an answer, a refusal."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from copriv.privacy.release import Release

Reason = Literal["terms", "malformed", "outside", "exhausted", "conflict", "failed"]


class Query(msgspec.Struct, frozen=True, tag="query"):
    """The learner asks an owner for its average gradient at θ; the id makes a repetition free."""

    id: str
    terms: str
    owner: str
    theta: tuple[float, ...]


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """The owner's noisy average gradient, and the record of its release."""

    id: str
    owner: str
    values: tuple[float, ...]
    release: Release


class Refusal(msgspec.Struct, frozen=True, tag="refusal"):
    """The owner says no; the words depend on the query and the account, never on a record."""

    id: str
    owner: str
    reason: Reason
    text: str


Reply: TypeAlias = Answer | Refusal
