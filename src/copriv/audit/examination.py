"""The whole audit of one claim: four tests, from the cheapest to the most patient.

Secure noise cannot be seeded, so a test can be wrong about a correct owner. Whatever fails is therefore tried once
more with fresh answers and fails only if it fails again: a certificate of 95 % is wrong twice with probability at
most 1/400.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import msgspec
import numpy as np

from copriv.audit.canary import audit_canary
from copriv.audit.certificate import CONFIDENCE
from copriv.audit.claim import Asks, Claim
from copriv.audit.floating_point import audit_low_bits, split
from copriv.audit.neighbours import audit_neighbours
from copriv.audit.pair import canaries
from copriv.audit.result import AuditResult
from copriv.audit.second_derivation import audit_exact
from copriv.audit.subject import Subject, build_subject
from copriv.audit.transcript import LEVEL, audit_transcript
from copriv.errors import BadInput

BuildSubject: TypeAlias = Callable[[Claim], Subject]
Tell: TypeAlias = Callable[[int, int], None]

DRAWS = 80_000
OWNERS = 1000
_FEWEST = 100
# Which part of the draws each canary gets, and the low bits; answers with moments are long, so there are fewer of them.
_PARTS: dict[Asks, tuple[int, ...]] = {"gradient": (1, 8), "moments": (16,)}
_LOW_BITS: dict[Asks, int] = {"gradient": 10, "moments": 40}
_PART_FILLED, _PART_TURNED = 32, 64
_EVERY = 50


def _say_nothing(_done: int, _total: int) -> None:
    """For audits that nobody watches."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to look.

    Args:
        draws: answers with gradients from two neighbours along (1, …, 1); an eighth of them along an axis, a tenth for
            the low bits. With moments a sixteenth from the furthest neighbours, a fortieth for the low bits. With
            filled gradients a thirty-second, with gradients along other axes half of that.
        level: how often a correct owner may fail the transcript test.
        confidence: of the certificates of the canaries and the low bits.
        owners: how many owners' moments are measured; of gradients, one owner gives a whole transcript.
    """

    draws: int = DRAWS
    level: float = LEVEL
    confidence: float = CONFIDENCE
    owners: int = OWNERS

    def __post_init__(self) -> None:
        if self.draws < _FEWEST:
            raise BadInput(f"{self.draws} draws", remedy=f"give at least {_FEWEST}", value=self.draws)

    def canaries(self, asks: Asks) -> tuple[int, ...]:
        """Answers from each pair of neighbours."""
        return tuple(self.draws // part for part in _PARTS[asks])

    def of_menu(self, claim: Claim) -> int:
        """Answers from two neighbours whose gradients are filled, or told along axes."""
        return self.draws // (_PART_TURNED if claim.axes else _PART_FILLED)

    def low_bits(self, asks: Asks) -> int:
        """Answers whose low bits are looked at."""
        return self.draws // _LOW_BITS[asks]

    def transcript(self, asks: Asks) -> int:
        """Owners whose answers are measured."""
        return self.owners if asks == "moments" else 1


def examine(
    claim: Claim,
    effort: Effort,
    generator: np.random.Generator,
    build: BuildSubject = build_subject,
    tell: Tell = _say_nothing,
) -> list[AuditResult]:
    """Audit owners of a claim. Records, models and searches come from the generator; the owners' noise cannot."""
    asks, confidence, owners = claim.asks, effort.confidence, effort.transcript(claim.asks)
    draws, few = effort.canaries(asks), effort.low_bits(asks)
    advance = _Counter(tell, owners * claim.answers + sum(draws) + few)
    subject, single, part = build(claim), build(claim.over(1)), build(split(claim))
    found = [audit_neighbours(subject, generator), audit_transcript(subject, effort.level, generator, advance, owners)]
    found += confirm(partial(audit_low_bits, part, few, confidence, advance))
    for pair, count in zip(canaries(claim), draws, strict=True):
        found += confirm(partial(audit_canary, single, pair, count, confidence, generator, advance))
    return found


def confirm(test: Callable[[], list[AuditResult]]) -> list[AuditResult]:
    """What a test finds, or, if that is a failure, what it finds the second time."""
    found = test()
    if not all(verdict.passed for verdict in found):
        found = test()
    return [msgspec.structs.replace(verdict, false_alarms=verdict.false_alarms**2) for verdict in found]


def examine_filled(
    claim: Claim,
    effort: Effort,
    generator: np.random.Generator,
    build: BuildSubject = build_subject,
    tell: Tell = _say_nothing,
) -> list[AuditResult]:
    """Audit owners that give one filled gradient for the whole guarantee: neighbours, and a canary.

    What else there is to see of them, `menu` sees.
    """
    subject, pairs = build(claim), canaries(claim)
    found, draws = [audit_neighbours(subject, generator)], effort.of_menu(claim)
    advance = _Counter(tell, len(pairs) * draws)
    for pair in pairs:
        attempt = partial(audit_canary, subject, pair, draws, effort.confidence, generator, advance)
        found += confirm(attempt)
    return found


def examine_turned(
    claim: Claim,
    effort: Effort,
    generator: np.random.Generator,
    build: BuildSubject = build_subject,
    tell: Tell = _say_nothing,
) -> list[AuditResult]:
    """The same of gradients that are told along axes, filled or alone; and whether they are what the terms say."""
    return [audit_exact(build(claim), generator), *examine_filled(claim, effort, generator, build, tell)]


class _Counter:
    """Adds up what is done, and tells it now and then."""

    def __init__(self, tell: Tell, total: int) -> None:
        self._tell, self._total, self._done = tell, total, 0

    def __call__(self, count: int) -> None:
        self._done += count
        if self._done % _EVERY == 0:
            self._tell(self._done, max(self._total, self._done))
