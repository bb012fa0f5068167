"""The whole reply: does anything besides the noisy values tell two files apart that differ in one record?

Differential privacy is a property of everything that leaves, from the raw file on. So an owner lives twice, with two files that
differ in one record, under a study that a hostile learner may have written. Hello, replies with their receipts, refusals and
lengths, failures and the study's statement must be equal, noisy values aside; and the exact answers behind the noise must lie
within the declared sensitivity of each other. A difference is certain, so there is no chance in the verdict and no false alarm.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TypeAlias

import numpy as np

from copriv.audit import hostile_studies, odd_records
from copriv.audit.errands import Errand, brief, thorough
from copriv.audit.hostile_studies import Study
from copriv.audit.house import Exact, House, Life, Said, live, receipt
from copriv.audit.raw_table import FORMATS, RECORDS, USUAL, Odd, Suffix, write_table
from copriv.audit.subject import on_one_core
from copriv.audit.verdict import Verdict
from copriv.protocol.messages import Kind
from copriv.protocol.terms import Terms

Tell: TypeAlias = Callable[[int, int], None]

NAME = "whole-reply"
_MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Case:
    """A study, a file format, and the records that replace a usual one in it, each in a file of its own.

    Args:
        study: what the learner has written.
        suffix: of the files.
        odds: the records.
        place: the row that they replace.
        thorough: whether the owner is asked everything that it has a word for, or only what it answers.
    """

    study: Study
    suffix: Suffix
    odds: tuple[Odd, ...]
    place: int = 3
    thorough: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """Two files told apart: by which record, under which study, and where in what left."""

    case: Case
    odd: Odd
    where: str

    def __str__(self) -> str:
        return f"{self.odd.name!r} ({self.case.suffix}, row {self.case.place + 1}) under {self.case.study.name!r}: {self.where}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two lives have in common: where they differ first, if anywhere, and how far apart their exact answers are."""

    where: str | None
    change: float
    replies: int


def corpus() -> Iterator[Case]:
    """The cases of `copriv audit`: all records under the plain study, and the sharpest under every other one."""
    studies = hostile_studies
    every = odd_records.ALL
    for suffix in FORMATS:
        yield Case(studies.PLAIN, suffix, _of(every, suffix))
        yield Case(studies.PLAIN, suffix, _of(odd_records.SHARP, suffix), thorough=True)
        yield Case(studies.WITH_DELTA, suffix, _of(odd_records.SHARP, suffix), thorough=True)
        yield Case(studies.MOMENTS, suffix, _of(odd_records.SHARP, suffix), thorough=True)
        for study in studies.TYPED:
            yield Case(study, suffix, _of(odd_records.TYPED, suffix))
        for study in (*studies.OTHER_LOSSES, *studies.HOSTILE):
            yield Case(study, suffix, _of(odd_records.SHARP, suffix))
    for place in (0, RECORDS - 1):
        yield Case(studies.PLAIN, "csv", odd_records.LINES, place)


def audit_whole_reply(house: House, cases: Sequence[Case], tell: Tell = lambda _done, _total: None) -> Verdict:
    """Compare everything that leaves, for all records of all cases."""
    total, done, replies, change = sum(len(case.odds) for case in cases), 0, 0, 0.0
    found: list[Difference] = []
    for case in cases:
        for odd, seen in compare_all(house, case):
            done, replies, change = done + 1, replies + seen.replies, max(change, seen.change)
            found += [] if seen.where is None else [Difference(case, odd, seen.where)]
        tell(done, total)
    return _judge(found, total, len(cases), replies, change)


@on_one_core()
def compare_all(house: House, case: Case) -> list[tuple[Odd, Comparison]]:
    """The usual file against the file with each odd record."""
    with tempfile.TemporaryDirectory(prefix="copriv-audit-") as scratch:
        usual = _live(house, case, USUAL, Path(scratch) / "usual")
        return [
            (odd, compare(usual, _live(house, case, odd, Path(scratch) / f"odd-{place}"), fits=odd.fits))
            for place, odd in enumerate(case.odds)
        ]


def compare(first: Life, second: Life, *, fits: bool = True) -> Comparison:
    """Where two lives differ first. A record that does not fit on its line may be refused, by a person, at home."""
    replies = len(first.replies) + len(second.replies)
    if not fits and not second.joined:
        return Comparison(None, 0.0, replies)
    where = next((_where(one, other) for one, other in zip_longest(first.said, second.said) if _differ(one, other)), None)
    change = max((_change(one, other) for one, other in zip(first.exact, second.exact, strict=False)), default=0.0)
    if where is None and change > 1:
        where = "an exact answer moves further than declared"
    return Comparison(where, change, replies)


def _differ(one: object, other: object) -> bool:
    return repr(one) != repr(other)  # also where a number is none


def _where(one: object, other: object) -> str:
    return " or ".join(dict.fromkeys(said.where for said in (one, other) if isinstance(said, Said)))


def _change(one: Exact, other: Exact) -> float:
    """How far apart two exact answers are, in units of what is declared; one that is no number is infinitely far."""
    with np.errstate(over="ignore", invalid="ignore"):
        length = one.norm.of(other.values - one.values)
    return length / one.sensitivity if math.isfinite(length) else math.inf


def _live(house: House, case: Case, odd: Odd, scratch: Path) -> Life:
    scratch.mkdir()
    data = scratch / f"records.{case.suffix}"
    data.write_bytes(write_table(case.suffix, odd, case.place))
    return live(house, scratch / "owner", data, case.study.text(), _full if case.thorough else brief)


def _full(terms: Terms, owner: str, kinds: Sequence[Kind]) -> list[Errand]:
    return thorough(terms, owner, kinds, receipt(0))


def _of(odds: Sequence[Odd], suffix: Suffix) -> tuple[Odd, ...]:
    return tuple(odd for odd in odds if suffix in odd.formats)


def _judge(found: list[Difference], files: int, cases: int, replies: int, change: float) -> Verdict:
    shown = "; ".join(map(str, found[:_MOST_SHOWN]))
    more = f"; and {len(found) - _MOST_SHOWN:,} more" if len(found) > _MOST_SHOWN else ""
    equal = f"nothing but noise tells {files:,} files from their neighbours, in {cases:,} studies and formats; exact answers "
    return Verdict(
        name=NAME,
        certified=math.inf if found else 0.0,
        claimed=0.0,
        statistic=float(len(found)),
        threshold=0.0,
        answers=replies,
        false_alarms=0.0,
        passed=not found,
        words=f"{len(found):,} of {files:,} files are told from their neighbours: {shown}{more}"
        if found
        else f"{equal}moved by at most {change:.3g} of what is declared",
    )
