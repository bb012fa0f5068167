"""A menu: does every choice of the learner get the noise of its own share, and nothing beyond the menu an answer?

Many owners are asked, each for what fits into its budget, kind and share drawn at random: as an adversary would that
hopes for a choice whose noise is too small. The noise of every choice is measured by itself, as in `transcript`. All
choices share the level, so that one that is wrong is not hidden among those that are right. Under Laplace noise the
adversary also has answers made finer, at random: these are choices of their own, and `levels` looks at both together.
Where gradients are filled, the numbers of the gradient are measured by themselves, and so are those behind it.

Before and after that each owner is asked for more: for shares and kinds that are not on the menu, for shares that do
not fit any more, and for finer answers to what it was never asked. It must refuse all of this, and no refusal may cost
anything. There is no chance in that verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

import msgspec
import numpy as np

from copriv.audit.claim import Asks, Claim
from copriv.audit.levels import Steps, levels_verdict, steps_hold
from copriv.audit.people import as_people
from copriv.audit.reference import reference_positives, reference_second_moments
from copriv.audit.result import AuditResult
from copriv.audit.second_derivation import reference_gradient
from copriv.audit.subject import LIMIT, NAME, Advance, MakeResponder, make_terms, on_one_core
from copriv.audit.transcript import CONFIRMING, FIRST_LEVEL, Reading, draw_records, read
from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin, fingerprint_of_sample
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder
from copriv.protocol.commitment import Commitment, make_commitment
from copriv.protocol.messages import Answer, Kind, Query
from copriv.protocol.terms import Terms
from copriv.vectors import FloatArray

SHARES = (10, 15, 20, 60, 70)
KINDS: tuple[Asks, ...] = ("gradient", "second_moments", "positives")
_WHOLE = 100
# How often an earlier answer is made finer where that is possible.
_REFINING = 0.5

# What is asked for, at which level, and whether it makes an earlier answer finer.
Choice: TypeAlias = tuple[Asks, int, bool]
MakeOwner: TypeAlias = Callable[[str, Terms, Commitment, Sample, MemoryLedger], Owner]


@dataclass(frozen=True, slots=True)
class MenuSubject:
    """Owners with a menu, all alike but for their records; a broken twin has a promise or a way of its own."""

    claim: Claim
    terms: Terms
    commitment: Commitment
    make_owner: MakeOwner

    def choices(self) -> list[Choice]:
        """Everything on the menu, and what an answer can be made finer to."""
        finer: list[Choice] = [("gradient", share, True) for share in SHARES[1:]] if self.has_levels else []
        return [(kind, share, False) for kind in KINDS for share in SHARES] + finer

    @property
    def has_levels(self) -> bool:
        """Whether answers can be made finer."""
        return self.claim.guarantee.pure

    def claim_of(self, choice: Choice) -> Claim:
        """What the guarantee demands of one choice."""
        return replace(self.claim, asks=choice[0], share=choice[1])


def build_menu_subject(
    claim: Claim, commitment: Commitment | None = None, make_responder: MakeResponder = PrivateResponder
) -> MenuSubject:
    """Owners of a claim with a menu."""
    terms = menu_terms(claim)

    def make_owner(name: str, terms: Terms, promised: Commitment, sample: Sample, ledger: MemoryLedger) -> Owner:
        return Owner(name, terms, promised, make_responder(sample, promised), ledger)

    return MenuSubject(claim, terms, honest_menu(claim) if commitment is None else commitment, make_owner)


def honest_menu(claim: Claim) -> Commitment:
    """What an owner promises for a menu, worked out by the owner's own code."""
    return make_commitment(menu_terms(claim), claim.guarantee, records=claim.records, answers=claim.answers)


def menu_terms(claim: Claim) -> Terms:
    """The terms of a claim, with a menu; gradients are filled, or told along axes, if the claim says so."""
    terms = make_terms(replace(claim, asks="gradient", share=0, fill=0.0, axes=()))
    return msgspec.structs.replace(terms, shares=SHARES, kinds=KINDS, fill=claim.fill, axes=claim.axes)


@dataclass(slots=True)
class Seen:
    """What owners did: the noise of every choice, and what they said or charged that they should not have.

    `steps` has the noise of answers that were made finer beside that of the former ones.
    """

    noise: dict[Choice, list[FloatArray]] = field(default_factory=dict)
    steps: Steps = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    refusals: int = 0


def audit_menu(
    subject: MenuSubject, level: float, generator: np.random.Generator, advance: Advance, owners: int
) -> list[AuditResult]:
    """Measure the noise of every choice, and of four times as many owners where a doubt arises; and try the limits."""
    choices = subject.choices()
    seen, lives = _meet(subject, generator, advance, owners), 1
    readings = _read(subject, seen, FIRST_LEVEL / len(choices))
    doubts = not steps_hold(subject.claim, seen.steps, FIRST_LEVEL)
    if doubts or not all(reading.passed for reading in readings.values()):
        again = _meet(subject, generator, advance, CONFIRMING * owners)
        readings, lives = _read(subject, again, level / FIRST_LEVEL / len(choices)), 1 + CONFIRMING
        seen = replace(again, wrong=seen.wrong + again.wrong, refusals=seen.refusals + again.refusals)
    found = [_noise_verdict(subject, readings, lives * owners, level), _limits_verdict(subject, seen)]
    if subject.has_levels:
        found.insert(1, levels_verdict(subject.claim, seen.steps, level, level / FIRST_LEVEL if doubts else None))
    return found


def _read(subject: MenuSubject, seen: Seen, level: float) -> dict[Choice, Reading]:
    """The test of every choice; an owner that never answered one has failed the other test."""
    return {
        choice: _read_parts(subject.claim_of(choice), np.stack(noise), level) for choice, noise in seen.noise.items()
    }


def _read_parts(claim: Claim, noise: FloatArray, level: float) -> Reading:
    """The worst of the parts of an answer, each read by itself: too much noise on one makes up for no other."""
    filled = claim.asks == "gradient" and claim.fill > 0
    parts = np.split(noise, [claim.parameters], axis=1) if filled else [noise]
    return min((read(claim, part, level / len(parts)) for part in parts), key=Reading.margin)


@on_one_core()
def _meet(subject: MenuSubject, generator: np.random.Generator, advance: Advance, owners: int) -> Seen:
    sample, seen = draw_records(subject.claim, generator), Seen()
    opening = begin(NAME, fingerprint_of_sample(sample), subject.claim.guarantee)
    for _ in range(owners):
        ledger = MemoryLedger(opening)
        people = as_people(subject.claim, sample)
        owner = subject.make_owner(NAME, subject.terms, subject.commitment, people, ledger)
        _ask_for_more(subject, owner, ledger, _WHOLE, seen)
        left = _Interview(subject, owner, sample, seen, generator).ask_what_fits()
        _ask_for_more(subject, owner, ledger, left, seen)
        advance(1)
    return seen


@dataclass(slots=True)
class _Interview:
    """One owner, asked at random for what fits; `told` has level and noise of the newest answer at every model."""

    subject: MenuSubject
    owner: Owner
    sample: Sample
    seen: Seen
    generator: np.random.Generator
    left: int = _WHOLE
    told: dict[tuple[float, ...], tuple[int, FloatArray]] = field(default_factory=dict)

    def ask_what_fits(self) -> int:
        """Ask for random choices until none fits; the shares that are left."""
        number = 0
        while asked := self._choose():
            number += 1
            self._ask(f"fits-{number}", *asked)
        return self.left

    def _choose(self) -> tuple[Asks, int, tuple[float, ...]] | None:
        """A kind, a level and a model: every other time one that was asked at before, if something finer fits there."""
        finer = [
            (level, theta)
            for theta, (before, _) in self.told.items()
            for level in SHARES
            if self.subject.has_levels and before < level <= before + self.left
        ]
        fitting = [(kind, share) for kind in KINDS for share in SHARES if share <= self.left]
        if finer and (not fitting or self.generator.random() < _REFINING):
            level, theta = finer[self.generator.integers(len(finer))]
            return "gradient", level, theta
        if not fitting:
            return None
        kind, share = fitting[self.generator.integers(len(fitting))]
        model = self.generator.uniform(-LIMIT, LIMIT, size=self.subject.claim.parameters)
        return kind, share, tuple((model if kind == "gradient" else np.zeros_like(model)).tolist())

    def _ask(self, name: str, kind: Asks, level: int, theta: tuple[float, ...]) -> None:
        before, former = self.told.get(theta, (0, None)) if kind == "gradient" else (0, None)
        self.left -= level - before
        place = np.asarray(theta)
        reply = self.owner.answer(_query(self.subject, name, kind, level - before, place, before))
        if not isinstance(reply, Answer):
            self.seen.wrong.append(f"refuses {kind} at {level} % after {before} %, which fits: {reply.text}")
            return
        noise = np.asarray(reply.values) - _exact(self.subject.claim, kind, self.sample, place)
        self.seen.noise.setdefault((kind, level, before > 0), []).append(noise)
        if former is not None:
            self.seen.steps.setdefault((before, level), []).append(np.array([former, noise]))
        if kind == "gradient":
            self.told[theta] = level, noise


def _ask_for_more(subject: MenuSubject, owner: Owner, ledger: MemoryLedger, left: int, seen: Seen) -> None:
    """Ask for what does not fit or is not on the menu; whatever is answered or charged is wrong."""
    before = ledger.state().spent
    zero = np.zeros(subject.claim.parameters)
    for number, (kind, share, after) in enumerate(_too_much(left)):
        reply = owner.answer(_query(subject, f"more-{left}-{number}", kind, share, zero, after))
        seen.refusals += 1
        if isinstance(reply, Answer):
            seen.wrong.append(f"answers {kind} at {share} % after {after} %, of which {left} % are left")
    state = ledger.state()
    if state.spent != before:
        seen.wrong.append(f"is charged for what it refuses: {state.spent - before} billionths")
    if state.spent > state.budget.nano:
        seen.wrong.append(f"has spent {state.spent} of {state.budget.nano} billionths")


def _too_much(left: int) -> Iterator[tuple[Kind, int, int]]:
    """What fits no more, what never was on the menu, and finer answers to a question that nobody has asked."""
    kinds: tuple[Kind, ...] = ("gradient", "second_moments", "positives")
    for kind in kinds:
        yield from ((kind, share, 0) for share in SHARES if share > left)
        yield from ((kind, share, 0) for share in (-10, 0, 1, SHARES[0] - 1, SHARES[-1] + 1, _WHOLE, 10 * _WHOLE))
        yield from ((kind, level - before, before) for before, level in pairwise(SHARES))
        yield from ((kind, 10, -10), (kind, 0, 10), (kind, -10, 20), (kind, 10, 11), (kind, 5, 1 << 62))
    yield from (("moments", SHARES[0], 0), ("loss", SHARES[0], 0), ("moments", 0, 0), ("loss", 0, 0), ("loss", 5, 10))


def _query(subject: MenuSubject, name: str, kind: Kind, share: int, theta: FloatArray, before: int) -> Query:
    return Query(name, subject.terms.digest(), NAME, tuple(theta.tolist()), None, kind, share, before)


def _exact(claim: Claim, kind: Asks, sample: Sample, theta: FloatArray) -> FloatArray:
    if kind == "second_moments":
        return reference_second_moments(sample, claim.norm)
    if kind == "positives":
        return reference_positives(sample)
    return reference_gradient(claim, sample, theta)


def _noise_verdict(subject: MenuSubject, readings: dict[Choice, Reading], owners: int, level: float) -> AuditResult:
    if not readings:
        return _verdict_without_answers(subject, level)
    (kind, share, finer), worst = min(readings.items(), key=lambda found: found[1].margin())
    return AuditResult(
        name="menu: noise",
        certified=worst.certified,
        claimed=subject.claim.guarantee.epsilon,
        statistic=worst.statistic,
        threshold=worst.threshold,
        answers=owners,
        false_alarms=level,
        passed=all(reading.passed for reading in readings.values()),
        words=f"of {len(readings)} choices asked of {owners:,} owners, the noise of {kind} at {share} %"
        f"{', made finer,' if finer else ''} is the smallest: {worst.ratio:.3f} times what its share needs"
        + ("" if worst.passed else "; the statistic lies below its threshold"),
    )


def _verdict_without_answers(subject: MenuSubject, level: float) -> AuditResult:
    return AuditResult(
        name="menu: noise",
        certified=0.0,
        claimed=subject.claim.guarantee.epsilon,
        statistic=0.0,
        threshold=0.0,
        answers=0,
        false_alarms=level,
        passed=False,
        words="no owner answers anything that is on the menu",
    )


def _limits_verdict(subject: MenuSubject, seen: Seen) -> AuditResult:
    wrong = list(dict.fromkeys(seen.wrong))
    return AuditResult(
        name="menu: limits",
        certified=np.inf if wrong else 0.0,
        claimed=subject.claim.guarantee.epsilon,
        statistic=float(len(seen.wrong)),
        threshold=0.0,
        answers=seen.refusals,
        false_alarms=0.0,
        passed=not wrong,
        words=f"{seen.refusals:,} questions beyond the menu or the budget are refused for free"
        if not wrong
        else f"an owner {'; '.join(wrong[:3])}",
    )
