"""The roster: the owners with which a live run began, in an order that never changes, and the rule that follows."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.protocol.meeting import Hello
from copriv.protocol.terms import Terms
from copriv.rules.averaged import AveragedRule
from copriv.rules.newton import NewtonRule
from copriv.rules.paper import CentralStep, PaperRule
from copriv.rules.rule import Rule
from copriv.rules.statistics import StatisticsRule
from copriv.schedule.poisson import availability
from copriv.vectors import Norm


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


@dataclass(frozen=True, slots=True)
class NoiseModel:
    """What a rule that weighs answers has to know of the owners' noise, and the public rows if it starts from them.

    Args:
        deviations: of each owner's noise, in the order of the roster.
        clip: of every owner.
        norm: of the owners' mechanism.
        public: the public rows, as the study's dictionary has them.
    """

    deviations: tuple[float, ...]
    clip: float
    norm: Norm
    public: Sample | None = None


def meetings_of(terms: Terms, roster: Roster) -> int:
    """How many meetings a run has: the horizon of the paper's rule, else until every owner has given its answers."""
    return terms.horizon if terms.rule == PaperRule.name else sum(hello.answers for hello in roster.owners)


def rule_of(terms: Terms, roster: Roster, prospects: NoiseModel | None = None) -> Rule[Any]:
    """The rule of the terms for these owners: their sizes, how often each is met, and what is known of their noise."""
    records = tuple(hello.records for hello in roster.owners)
    if terms.rule == PaperRule.name:
        return _paper(terms, roster, records)
    if terms.rule == AveragedRule.name:
        horizon = meetings_of(terms, roster)
        return AveragedRule(terms.parameters, records, terms.step, horizon, terms.regularization, terms.limit)
    if terms.rule == StatisticsRule.name and prospects is not None:
        known = (prospects.deviations, prospects.norm)
        return StatisticsRule(terms.parameters, records, *known, terms.regularization, terms.limit)
    if terms.rule == NewtonRule.name and prospects is not None and prospects.public is not None:
        return NewtonRule.of(
            prospects.public,
            terms.objective(),
            records=records,
            deviations=prospects.deviations,
            clip=prospects.clip,
            norm=prospects.norm,
        )
    raise BadInput(
        f"the rule {terms.rule!r} cannot be set up here",
        remedy="use a rule of this version; newton needs the public rows that `copriv learner draft` has kept",
        value=terms.rule,
    )


def _paper(terms: Terms, roster: Roster, records: tuple[int, ...]) -> PaperRule:
    rates = [hello.rate if terms.clock == "poisson" else 1.0 for hello in roster.owners]
    return PaperRule(
        parameters=terms.parameters,
        records=records,
        availability=tuple(availability(rates).tolist()),
        step=terms.step,
        regularization=terms.regularization,
        limit=terms.limit,
        central=CentralStep(terms.central),
    )
