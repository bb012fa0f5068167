"""The roster: the owners with which a live run began, in an order that never changes, and the rule that follows."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from copriv.errors import BadInput
from copriv.protocol.meeting import Hello
from copriv.protocol.terms import Terms
from copriv.rules.registry import resolve
from copriv.rules.rule import AnyRule
from copriv.rules.setting import NoiseModel, Owners
from copriv.schedule.poisson import availability


class Roster(msgspec.Struct, frozen=True):
    """Owners as they said hello, in the order of their names."""

    owners: tuple[Hello, ...]

    @classmethod
    def of(cls, present: Mapping[str, Hello]) -> Roster:
        """Whoever is there."""
        return cls(tuple(present[name] for name in sorted(present)))

    @classmethod
    def from_json(cls, data: bytes) -> Roster:
        """Read back what `to_json` wrote."""
        try:
            return msgspec.json.decode(data, type=cls)
        except msgspec.DecodeError as problem:
            raise BadInput(f"this is not a roster: {problem}", remedy="restore the run folder") from problem

    def to_json(self) -> bytes:
        """The roster as text."""
        return msgspec.json.format(msgspec.json.encode(self)) + b"\n"

    def digest(self) -> str:
        """What a checkpoint remembers of the owners that it is for."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()

    @property
    def names(self) -> tuple[str, ...]:
        """The owners' names."""
        return tuple(hello.owner for hello in self.owners)

    def without(self, expelled: Collection[str]) -> Roster:
        """The same owners but for some, in the same order."""
        return Roster(tuple(hello for hello in self.owners if hello.owner not in expelled))


def meetings_of(terms: Terms, roster: Roster) -> int:
    """How many meetings a run has: the horizon of a rule that counts them, else until every owner has answered.

    Under a menu these are the most: an owner whom nothing is left to ask is met no more.
    """
    counts_meetings = resolve(terms.rule).counts == "meetings"
    return terms.horizon if counts_meetings else sum(hello.answers for hello in roster.owners)


def rule_of(terms: Terms, roster: Roster, noise: NoiseModel | None = None) -> AnyRule[Any]:
    """The rule of the terms for these owners: their sizes, how often each is met, and what is known of their noise.

    Fails if the rule is not known here, or if something is missing that it needs.
    """
    rates = [hello.rate if terms.clock == "poisson" else 1.0 for hello in roster.owners]
    owners = Owners(
        records=tuple(hello.records for hello in roster.owners),
        answers=tuple(hello.answers for hello in roster.owners),
        availability=tuple(availability(rates).tolist()),
    )
    return resolve(terms.rule).make(terms, owners, noise)
