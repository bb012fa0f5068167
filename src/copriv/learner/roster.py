"""The roster: the owners with which a live run began, in an order that never changes, and the rule that follows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from copriv.errors import BadInput
from copriv.protocol.meeting import Hello
from copriv.protocol.terms import Terms
from copriv.rules.paper import CentralStep, PaperRule
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


def rule_of(terms: Terms, roster: Roster) -> PaperRule:
    """The rule of the terms for these owners: their sizes, and how often each is met."""
    if terms.rule != PaperRule.name:
        raise BadInput(f"the rule {terms.rule!r} is not known", remedy="use 'paper'", value=terms.rule)
    rates = [hello.rate if terms.clock == "poisson" else 1.0 for hello in roster.owners]
    return PaperRule(
        parameters=terms.parameters,
        records=tuple(hello.records for hello in roster.owners),
        availability=tuple(availability(rates).tolist()),
        step=terms.step,
        regularization=terms.regularization,
        limit=terms.limit,
        central=CentralStep(terms.central),
    )
