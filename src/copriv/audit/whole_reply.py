"""The whole reply: does anything besides the noisy values tell two files apart that differ in one record?

Differential privacy is a property of everything that leaves, from the raw file on. So an owner lives twice, with two
files that differ in one record, under a study that a hostile learner may have written. Hello, replies with their
receipts, refusals and lengths, failures, log and the study's statement must be equal, noisy values aside; and the exact
answers behind the noise must lie within the declared sensitivity of each other. A difference is certain, so there is no
chance in the verdict and no false alarm.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, zip_longest
from pathlib import Path
from typing import TypeAlias

import numpy as np

from copriv.audit import encoder_studies, hostile_studies, odd_records, turned_studies
from copriv.audit.errands import Choice, Errand, brief, thorough
from copriv.audit.hostile_studies import Study
from copriv.audit.house import Exact, House, Life, Said, live, receipt
from copriv.audit.raw_table import ALL, FEW, FORMATS, RECORDS, USUAL, Odd, Suffix, write_table
from copriv.audit.result import AuditResult
from copriv.audit.subject import on_one_core
from copriv.protocol.terms import Terms
from copriv.records.resources import Resources
from copriv.vectors import FloatArray

Tell: TypeAlias = Callable[[int, int], None]

NAME = "whole-reply"
_MOST_SHOWN = 3
_REGISTRY = "COPRIV_REGISTRY"
# Neighbours have the same owner, and so the same key: it decides which records are held back.
_KEY = bytes(32)
_NOT_HELD_BACK = 2  # a row
_MEMORY = Path("/dev/shm")  # noqa: S108 - a fresh folder is made in it


@dataclass(frozen=True, slots=True)
class Case:
    """A study, a file format, and the records that replace a usual one in it, each in a file of its own.

    Args:
        study: what the learner has written.
        suffix: of the files.
        odds: the records.
        base: what is there instead in the file that they are compared with; these files are neighbours too.
        place: the row that they replace.
        thorough: whether the owner is asked everything that it has a word for, or only what it answers.
        records: how many rows a file has.
        columns: which columns it has.
        batch_rows: records are read anew for every answer, so many rows at a time; 0 if they are kept in memory.
    """

    study: Study
    suffix: Suffix
    odds: tuple[Odd, ...]
    base: Odd = USUAL
    place: int = 3
    thorough: bool = False
    records: int = RECORDS
    columns: tuple[str, ...] = FEW
    batch_rows: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """Two files told apart: by which record, under which study, and where in what left."""

    case: Case
    odd: Odd
    where: str

    def __str__(self) -> str:
        case = self.case
        return f"{self.odd.name!r} ({case.suffix}, row {case.place + 1}) under {case.study.name!r}: {self.where}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two lives: where they differ first, if anywhere, how far apart their exact answers are, and replies compared."""

    where: str | None
    change: float
    replies: int


def corpus() -> Iterator[Case]:
    """The cases of `copriv audit`: every record under the plain study, and the sharpest ones under all others."""
    studies, odds = hostile_studies, odd_records
    hostile = (*studies.HOSTILE, *encoder_studies.TREES, *encoder_studies.TRAPS, *turned_studies.HOSTILE_AXES)
    for suffix in FORMATS:
        yield Case(studies.PLAIN, suffix, _of(odds.NARROW, suffix))
    asked = (studies.PLAIN, studies.WITH_DELTA, studies.MOMENTS, studies.MENU, studies.MENU_WITH_DELTA)
    for study, suffix in zip(asked, cycle(FORMATS), strict=False):
        yield Case(study, suffix, (*odds.SHARP[:2], odds.SIDES[0]), thorough=True)
    yield from _beside_menus(studies.WITH_MENUS, odds.SIDES, _NOT_HELD_BACK)
    yield from _filled()
    yield from _turned()
    for study, suffix in zip((studies.VALIDATED, studies.VALIDATED_LABELS), cycle(FORMATS), strict=False):
        yield Case(study, suffix, odds.SHARP, thorough=True)
    for place, (study, suffix) in enumerate(zip(encoder_studies.ENCODED, cycle(FORMATS), strict=False)):
        yield Case(study, suffix, (*odds.SHARP, *_of(odds.NARROW, suffix)[place :: len(encoder_studies.ENCODED)]))
    for study in studies.TYPED[:3]:
        yield Case(study, "parquet", odds.TYPED, columns=ALL)
    for study in studies.OTHER_TARGETS:
        yield Case(study, "parquet", odds.SHARP[1:], odds.SHARP[0], columns=ALL)
    for study, suffix in zip((*studies.OTHER_LOSSES, *hostile), cycle(FORMATS), strict=False):
        yield Case(study, suffix, odds.SHARP[1:], odds.SHARP[0])
    for study, suffix in zip(studies.RATES, cycle(FORMATS), strict=False):
        yield Case(study, suffix, _of(odds.NUMBERS, suffix))
    yield Case(studies.PLAIN, "csv", odds.LINES[:5], place=0)
    yield Case(studies.PLAIN, "csv", odds.LINES[:5], place=RECORDS - 1)
    for study, suffix in zip(asked, cycle(FORMATS), strict=False):
        yield Case(study, suffix, (odds.SIDES[0], *odds.SHARP[:2]), batch_rows=7)


def corpus_of_people() -> Iterator[Case]:
    """The cases where a record is a person: whole people are swapped, of any number of rows."""
    studies, odds = hostile_studies, odd_records
    for study, suffix in zip(studies.PEOPLE, cycle(FORMATS), strict=False):
        yield Case(study, suffix, odds.PEOPLE, thorough=study is studies.PEOPLE[0])
    yield from _beside_menus(studies.PEOPLE_WITH_MENUS, odds.SIDES_OF_PEOPLE)
    single = tuple(odd for odd in odds.NARROW if odd not in odds.IDS)
    for suffix in FORMATS:
        yield Case(studies.PEOPLE[0], suffix, _of(single, suffix))
    for study, suffix in zip(studies.PEOPLE, reversed(FORMATS), strict=False):
        yield Case(study, suffix, odds.PEOPLE[3:], odds.PEOPLE[2], place=RECORDS - 1)


def _beside_menus(studies: Sequence[Study], odds: tuple[Odd, ...], place: int = 3) -> Iterator[Case]:
    """Records whose targets lie on either side of 0, which moves the share of positives."""
    for study, suffix in zip(studies, cycle(FORMATS), strict=False):
        yield Case(study, suffix, odds, place=place)


def _filled() -> Iterator[Case]:
    """Gradients that are filled: records of other lengths, and such whose gradients take more or less of the clip."""
    studies, odds = (*hostile_studies.FILLED, *hostile_studies.FILLED_BESIDE), odd_records
    for study, suffix in zip(studies, cycle(FORMATS), strict=False):
        yield Case(study, suffix, (*odds.ROOMS[1:], odds.SHARP[0]), odds.ROOMS[0], place=_NOT_HELD_BACK)
    for study, suffix in zip(hostile_studies.FILLED, cycle(FORMATS), strict=False):
        yield Case(study, suffix, odds.ROOMS[2:4], odds.ROOMS[0], thorough=True)
    yield Case(hostile_studies.FILLED[0], "parquet", odds.ROOMS[2:4], odds.ROOMS[0], batch_rows=7)


def _turned() -> Iterator[Case]:
    """Gradients along axes, filled or not, of the same records."""
    studies, odds = (*turned_studies.TURNED, *turned_studies.TURNED_BESIDE), odd_records.ROOMS
    for study, suffix in zip(studies, cycle(FORMATS), strict=False):
        yield Case(study, suffix, odds[1:3], odds[0], place=_NOT_HELD_BACK)
    for study, suffix in zip(turned_studies.TURNED[1:3], cycle(FORMATS), strict=False):
        yield Case(study, suffix, (odds[1], odd_records.SHARP[0]), odds[0], thorough=True)
    yield Case(turned_studies.TURNED[2], "parquet", odds[2:4], odds[0], batch_rows=7)


def audit_whole_reply(house: House, cases: Sequence[Case], tell: Tell = lambda _done, _total: None) -> AuditResult:
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
    """The base file against the file with each odd record."""
    if case.batch_rows:
        house = replace(house, prepare=partial(house.prepare, resources=Resources(0, None, case.batch_rows)))
    with tempfile.TemporaryDirectory(prefix="copriv-audit-", dir=_scratch()) as scratch:
        base = _live(house, case, case.base, Path(scratch) / "base")
        return [
            (odd, _judge_pair(case, odd, base, _live(house, case, odd, Path(scratch) / f"odd-{place}")))
            for place, odd in enumerate(case.odds)
        ]


def _judge_pair(case: Case, odd: Odd, base: Life, other: Life) -> Comparison:
    """An owner that breaks off an honest study shows nothing, and passes nothing either."""
    if case.study.honest and base.said[-1].where != "statement":
        return Comparison(f"an honest study ends early, at {base.said[-1].where}: {base.said[-1].what}", 0.0, 0)
    return compare(base, other, case.place, fits=odd.fits)


def compare(first: Life, second: Life, place: int, *, fits: bool = True) -> Comparison:
    """Where two lives differ first, if the files differ in one row.

    Beyond what left: a record may only move its own row, and exact answers no further than declared. One that does not
    fit on its line may be refused, by a person, at home.
    """
    replies = len(first.replies) + len(second.replies)
    if not fits and not second.joined:
        return Comparison(None, 0.0, replies)
    where = next(
        (_where(one, other) for one, other in zip_longest(first.said, second.said) if _differ(one, other)), None
    )
    change = max((_change(one, other) for one, other in zip(first.exact, second.exact, strict=False)), default=0.0)
    place = _moved_place(first, second) if first.divided else place
    if where is None and not _same_rows_but(place, first.rows, second.rows):
        where = "a record moves the row of another"
    if where is None and change > 1:
        where = "an exact answer moves further than declared"
    return Comparison(where, change, replies)


def _moved_place(first: Life, second: Life) -> int:
    """The first row that differs, where records are not in the order of the file: some were held back."""
    if first.rows.shape != second.rows.shape:
        return 0
    return int(np.argmax((first.rows != second.rows).any(axis=1)))


def _same_rows_but(place: int, first: FloatArray, second: FloatArray) -> bool:
    others = np.delete(np.arange(first.shape[0]), place) if first.shape[0] > place else slice(None)
    return first.shape == second.shape and first[others].tobytes() == second[others].tobytes()


def _scratch() -> Path | None:
    """Memory, if the system has a folder in it: thousands of short-lived files need not reach a disk."""
    return _MEMORY if os.access(_MEMORY, os.W_OK) else None


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
    data.write_bytes(write_table(case.suffix, odd, case.place, case.records, case.columns))
    errands = _full if case.thorough else brief
    with _nobody_known(scratch / "registry"):
        return live(house, scratch / "owner", data, case.study.text(), errands)


@contextmanager
def _nobody_known(registry: Path) -> Iterator[None]:
    """For one life, a registry of datasets of its own: the neighbour of a file must not look like its next version."""
    registry.mkdir()
    (registry / "key").write_bytes(_KEY)
    before = os.environ.get(_REGISTRY)
    os.environ[_REGISTRY] = str(registry)
    try:
        yield
    finally:
        os.environ.pop(_REGISTRY)
        if before is not None:
            os.environ[_REGISTRY] = before


def _full(terms: Terms, owner: str, choices: Sequence[Choice]) -> list[Errand]:
    return thorough(terms, owner, choices, receipt(0))


def _of(odds: Sequence[Odd], suffix: Suffix) -> tuple[Odd, ...]:
    return tuple(odd for odd in odds if suffix in odd.formats)


def _judge(found: list[Difference], files: int, cases: int, replies: int, change: float) -> AuditResult:
    shown = "; ".join(map(str, found[:_MOST_SHOWN]))
    more = f"; and {len(found) - _MOST_SHOWN:,} more" if len(found) > _MOST_SHOWN else ""
    equal = f"nothing but noise tells {files:,} files from their neighbours, in {cases:,} studies and formats; "
    return AuditResult(
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
        else f"{equal}exact answers move by at most {change:.3g} of what is declared",
    )
